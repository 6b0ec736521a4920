"""Transaction indexes, from the batches and the producers before them."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding
from segmend.logdir.witnesses import snapshot_before
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.ops.repair.undamaged import require_undamaged
from segmend.surgery.recipes import Rebuild

CODES = frozenset(("I17", "I18", "I19", "I20", "I21"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    """The transaction index of the segment; `BeyondRepair` if a log that tells of it is damaged."""
    partition = scene.partition(finding)
    name = finding.name
    base = int(name.partition(".")[0])
    snapshot = snapshot_before(partition, base, scene.damaged)
    require_undamaged(finding, partition, scene)
    yield Rebuild.within(partition, name, "transaction-index", base_offset=base, snapshot=snapshot)
