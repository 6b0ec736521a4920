"""What the names in the directories of a partition's replicas leave in doubt, before a log is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.doubts import of_a_log_aside, of_what_is_told
from segmend.merge.runs import believed, logs_aside, told_beside, unread_logs
from segmend.node.older import DOUBTFUL_MARK


def listed_doubts(replicas: Sequence[PartitionDir], first: int, end: int) -> Iterator[str]:
    """In words, as a merge has them; the replicas begin at offset `first`, and none goes beyond `end`.

    A log that has a byte counts as whole, for who reads it tells of what is damaged in it.
    """
    for replica in replicas:
        running = replica.log_dir.broker_running()
        start = replica.log_dir.log_start_offsets.get(replica.key, 0)
        yield from unread_logs(replica)
        mark, odd_mark = believed(replica, replica.log_dir.high_watermarks.get(replica.key), end)
        if odd_mark is not None:
            yield DOUBTFUL_MARK.format(replica.path, end, odd_mark - 1)
        if mark is not None and mark > end:
            yield f"{replica.path}: its high watermark is {mark}, and no replica here goes beyond {end}"
        # One without a byte ends where its last log begins, however far others go.
        ends = end if any(_with_a_byte(replica)) else max(replica.base_offsets, default=0)
        for low, high, file in () if running else told_beside(replica, ends):
            beyond = high >= end or low < first
            if start <= high and (beyond or not _any_has(replicas, low)):
                yield of_what_is_told(replica.log_dir.path, replica.name, file, low)
        for base, _, waits, name in logs_aside(replica):
            waiting = waits and base >= start and not _any_has(replicas, base)
            if waiting or (base >= end and not any(map(any, map(_with_a_byte, replicas)))):
                yield of_a_log_aside(replica.path, name, base)


def _any_has(replicas: Sequence[PartitionDir], offset: int) -> bool:
    """Whether a log with a byte in it may have this offset."""
    logs = (each for replica in replicas for each in _with_a_byte(replica))
    return any(
        each.base_offset <= offset and (each.next_base_offset is None or offset < each.next_base_offset)
        for each in logs
    )


def _with_a_byte(replica: PartitionDir) -> Iterator[LogSegment]:
    return (each for each in replica.segments if each.log is not None and each.log.known_size != 0)
