"""What the next start would do to the segments of a replica that is read, or changed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from math import inf

from segmend.errors import SegmendError
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir


def refuse_unfinished(partition: PartitionDir | None) -> None:
    """A compaction that a start would finish replaces segments under our hands."""
    if partition is None:
        return
    odd = [*partition.layout.swap, *(name for _, name in partition.layout.shadowed)]
    if odd:
        raise SegmendError(
            f"{partition.path}/{odd[0]}: a broker that starts would make another log of this; "
            f"start it once, or see what to do with it: segmend check {shlex.quote(partition.path)}"
        )


def unflushed_from(log_dir: LogDir, key: tuple[str, int], bases: Sequence[int]) -> float:
    """The base offset of the first segment that an unclean start recovers; infinite if none is."""
    if not bases or log_dir.is_clean:
        return inf
    point = log_dir.recovery_points.get(key, 0)
    return max((base for base in bases if base <= point), default=bases[0])
