"""Whether what derived files are made of can be trusted: snapshots that load, logs without damaged batches.

Index entries of a damaged batch look wrong, and come to be right when the batch is mended. A marker
that cannot be read ends nothing, so a replay over it gives transactions that go on for ever, and a
transaction index in which committed records count as aborted. What is there then is the better
witness, and nothing at all is better than that.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from segmend.formats import producer_snapshot
from segmend.kernel.proven import first_doubt
from segmend.kernel.types import Problem
from segmend.logdir.files import FileEntry
from segmend.logdir.loaded import load
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.scans import first_part, whole_scan

SNAPSHOT_LIMIT: Final = 64 << 20


def is_loadable(snapshot: FileEntry) -> bool:
    """Whether a broker can load this producer snapshot."""
    return load(snapshot, producer_snapshot.parse, SNAPSHOT_LIMIT).healthy


def snapshot_before(partition: PartitionDir, offset: int, damaged: Collection[str]) -> int | None:
    """The newest producer snapshot at or before `offset` that is sound; None without one.

    `damaged` are the paths of what is known to be wrong.
    """
    for at, entry in reversed(partition.snapshots):
        if at <= offset and entry.path not in damaged and is_loadable(entry):
            return at
    return None


def damaged_log(
    partition: PartitionDir, start: int, stop: int, *, tails: bool = False
) -> tuple[LogSegment, Problem] | None:
    """The first log with offsets in [start, stop) that has a damaged batch, and which; or `Unreadable`.

    `tails`: a torn end is damage in the last one, too.
    """
    bases = sorted(partition.layout.logs)
    for base, following in zip(bases, [*bases[1:], None], strict=True):
        if base < stop and (following is None or following > start):
            segment = LogSegment(partition, base)
            if segment.log is None:
                continue
            is_last = following is None and not tails
            scan = first_part(segment.log, base_offset=base)  # which a start reads, too
            problem = first_doubt(scan, is_last=is_last)
            if problem is None and scan.sound is not None:
                problem = first_doubt(whole_scan(segment.log, base_offset=base), is_last=is_last)
            if problem is not None:
                return segment, problem
    return None
