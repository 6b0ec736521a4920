"""leader-epoch-checkpoint, from the epochs in the batch headers."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding
from segmend.formats.epoch_checkpoint import FILE_NAME
from segmend.formats.offset_checkpoint import LOG_START_OFFSET
from segmend.logdir.tail import whole_end_offset
from segmend.node.tiered import may_be_tiered
from segmend.surgery.derive.log_starts import is_lost, told_by_epochs
from segmend.surgery.ops.repair.mends.checkpoints import rewritten
from segmend.surgery.ops.repair.scene import BeyondRepair, Scene
from segmend.surgery.recipes import Rebuild

CODES = frozenset(("E01", "E02", "E03", "E04", "E05", "E07"))


def jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    """The file of the partition; `BeyondRepair` where its batches do not tell all epochs.

    E07 says that epochs and log start contradict each other: if the start is lost, the epochs are right.
    """
    partition = scene.partition(finding)
    first = min(partition.layout.logs, default=0)
    if partition.kind == "future":
        raise BeyondRepair(
            "without it the move begins anew, and nothing is lost; with it this replica takes the place of "
            "the current one, whatever it lacks"
        )
    if finding.code == "E07" and is_lost(partition) and told_by_epochs(partition) is not None:
        yield from rewritten(partition.log_dir, LOG_START_OFFSET, scene)
        return
    if may_be_tiered(partition, scene.image):
        raise BeyondRepair(
            f"the epochs before offset {first} are in remote storage only, which is read by them; copy the "
            "file of another replica"
        )
    start = partition.log_dir.log_start_offsets.get(partition.key, first)
    if not first <= start <= whole_end_offset(partition):  # C08, C06
        start = first
    yield Rebuild.within(partition, FILE_NAME, "leader-epochs", start=start)
