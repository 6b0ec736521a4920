"""Whether logs may speak against derived files: only where no batch of them is damaged.

Index entries of a damaged batch look wrong, and come to be right when the batch is mended. A marker
that cannot be read ends nothing, so a replay over it gives transactions that go on for ever, and a
transaction index in which committed records count as aborted. What is there then is the better
witness, and nothing at all is better than that.
"""

from __future__ import annotations

from segmend.kernel.proven import first_doubt
from segmend.logdir.tree import PartitionDir
from segmend.surgery.derive.sources import log_of, scanned, segment_of
from segmend.surgery.ops.repair.scene import BeyondRepair


def require_undamaged(partition: PartitionDir, start: int, stop: int) -> None:
    """Raise `BeyondRepair` if a segment with offsets in [start, stop) is damaged; also `Unreadable`."""
    bases = sorted(partition.layout.logs)
    for base, following in zip(bases, [*bases[1:], None], strict=True):
        if base < stop and (following is None or following > start):
            _require_whole(partition, base, is_last=following is None)


def _require_whole(partition: PartitionDir, base: int, *, is_last: bool) -> None:
    segment = segment_of(partition, base)
    problem = first_doubt(scanned(segment), is_last=is_last)
    if problem is not None:
        raise BeyondRepair(
            f"{log_of(segment).path} is damaged at byte {problem.position}, so its word may be wrong; "
            "mend the log first (segmend plan repair --deep, --from REPLICA_DIR or --blank), then "
            "plan again"
        )
