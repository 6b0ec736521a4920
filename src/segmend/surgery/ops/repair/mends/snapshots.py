"""Producer snapshots, replayed from the log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding
from segmend.formats.names import file_prefix
from segmend.formats.producer_snapshot import SUFFIX
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.ops.repair.undamaged import require_undamaged
from segmend.surgery.recipes import Rebuild

CODES = frozenset(("P01", "P02", "P03", "P06"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    """The snapshot at the offset of the finding: that of the file, or the log end offset.

    `BeyondRepair` if a log before it is damaged. A start without the snapshot does better then: it reads
    the headers of damaged batches, too.
    """
    partition = scene.partition(finding)
    offset = finding.offset or 0
    before = scene.snapshot_before(partition, offset - 1)
    require_undamaged(partition, before or 0, offset)
    name = f"{file_prefix(offset)}{SUFFIX}"
    yield Rebuild.within(partition, name, "producer-snapshot", offset=offset, snapshot=before)
