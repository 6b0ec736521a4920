"""Producer snapshots, replayed from the log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import BY_LISTING
from segmend.findings import Finding
from segmend.formats.java_number import parse_long
from segmend.formats.names import file_prefix
from segmend.formats.producer_snapshot import SUFFIX
from segmend.logdir.witnesses import snapshot_before
from segmend.surgery.ops.repair.scene import BeyondRepair, Scene
from segmend.surgery.ops.repair.undamaged import require_undamaged
from segmend.surgery.recipes import Rebuild

CODES = frozenset(("P01", "P02", "P03", "P06"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    """The snapshot at the offset of the finding: that of the file, or the log end offset.

    `BeyondRepair` if a log before it is damaged. A start without the snapshot does better then: it reads
    the headers of damaged batches, too. Beside another of its offset none is made: a broker might read that.
    """
    partition = scene.partition(finding)
    offset = finding.offset or 0
    before = snapshot_before(partition, offset - 1, scene.damaged)
    require_undamaged(finding, partition, scene)
    name = f"{file_prefix(offset)}{SUFFIX}"
    other = next((each for each in sorted(partition.entries) if _is_of(offset, each)), name)
    if other != name and name not in partition.entries:
        both = BY_LISTING.format(f"{name} and {other}")
        raise BeyondRepair(f"{both}; move {other} out first")
    yield Rebuild.within(partition, name, "producer-snapshot", offset=offset, snapshot=before)


def _is_of(offset: int, name: str) -> bool:
    """Whether brokers take a file for a snapshot of this offset: by the number before the first dot."""
    return name.endswith(SUFFIX) and parse_long(name.partition(".")[0]) == offset
