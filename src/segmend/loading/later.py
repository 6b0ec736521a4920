"""What the first minutes after the start will do: retention, and the deletion of what waits for it."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.retention import (
    DELETE_DELAY_SECONDS,
    FIRST_LOOK_SECONDS,
    Limits,
    Retained,
    breaches,
)
from segmend.formats import offset_index, time_index
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Segment, lost_from
from segmend.loading.values import Extent, Later
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import last_entry
from segmend.logdir.tree import PartitionDir


def by_retention(
    loaded: LoadedLog, after: Extent, limits: Limits, *, high_watermark: int, now_ms: int
) -> Iterator[Later]:
    """The segments that the first look of retention deletes, 30 seconds after the start.

    Records are counted by offsets: to count them exactly, all that is deleted would be read.
    """
    state = loaded.state
    segments = state.segments
    if _all_stay(loaded, after, limits, now_ms):
        return
    kept = retained(loaded, after, limits, now_ms)
    found = breaches(
        kept, limits, log_start=after.log_start_offset or 0, high_watermark=high_watermark, now_ms=now_ms
    )
    gone = 0
    for breach in found:
        doomed = segments[gone : gone + breach.count]
        gone += breach.count
        ends = kept[gone - 1].end_offset
        yield Later(
            dir=state.partition.log_dir.path, file=state.partition.name, topic=state.partition.topic,
            partition=state.partition.partition, what="segments-deleted", why=breach.limit,
            limit=breach.limit, seconds=FIRST_LOOK_SECONDS, segments=breach.count,
            records_lost=ends - doomed[0].base_offset, bytes_lost=sum(each.size for each in doomed),
            broker_says=breach.broker_says,
        )  # fmt: skip


def _all_stay(loaded: LoadedLog, after: Extent, limits: Limits, now_ms: int) -> bool:
    """Whether the oldest segment stays, and so all do: most partitions of most brokers."""
    segments = loaded.state.segments
    if limits.delete and limits.retention_bytes >= 0:
        return False
    if len(segments) > 1 and segments[1].base_offset <= (after.log_start_offset or 0):
        return False
    if not limits.delete or limits.retention_ms < 0:
        return True
    return now_ms - _largest_timestamp(loaded, segments[0])[0] <= limits.retention_ms


def retained(
    loaded: LoadedLog,
    after: Extent,
    limits: Limits,
    now_ms: int,
    *,
    every: bool = False,
    running: bool = False,
) -> list[Retained]:
    """The segments in order; timestamps are read as far as time retention would look, or of `every` one.

    `running`: the log was not closed; its active segment is judged by its end, not by the zeros of its index.
    """
    segments = loaded.state.segments
    ends = [each.base_offset for each in segments[1:]] + [after.log_end_offset or 0]
    looking = every or (limits.delete and limits.retention_ms >= 0)
    found = []
    for segment, end in zip(segments, ends, strict=True):
        stamp, by_mtime = now_ms, False
        if looking:
            unclosed = running and segment is segments[-1]
            stamp, by_mtime = _newest(loaded, segment) if unclosed else _largest_timestamp(loaded, segment)
        looking = every or (looking and now_ms - stamp > limits.retention_ms)
        found.append(
            Retained(
                base_offset=segment.base_offset, end_offset=end, size=segment.size,
                largest_timestamp=stamp, by_mtime=by_mtime,
            )
        )  # fmt: skip
    return found


def _largest_timestamp(loaded: LoadedLog, segment: Segment) -> tuple[int, bool]:
    """`LogSegment.largestTimestamp`: the last entry of the time index as it stands, else the mtime."""
    if segment.recovered and segment.log is not None and segment.size:
        return lost_from(segment, 0).last_timestamp if segment.newest is None else segment.newest, False
    index = _time_index(loaded, segment)
    if index is not None:
        data = index.last_unit(time_index.ENTRY_SIZE)
        if data:
            return int.from_bytes(data[:8], "big", signed=True), False
    return _modified(segment)


def _newest(loaded: LoadedLog, segment: Segment) -> tuple[int, bool]:
    """What a running broker knows of its active segment: the newest batch, even if no index has it yet."""
    indexed, start = -1, 0
    if (times := _time_index(loaded, segment)) is not None:
        last = last_entry(times, time_index.ENTRY_SIZE)
        indexed = int.from_bytes(last.data[:8], "big", signed=True) if last else 0
    if (last := last_entry(segment.index, offset_index.ENTRY_SIZE)) is not None:
        start = int.from_bytes(last.data[4:], "big", signed=True)
    tail = lost_from(segment, start if 0 <= start < segment.size else 0).last_timestamp
    newest = max(indexed, tail)
    return (newest, False) if newest > 0 else _modified(segment)


def _time_index(loaded: LoadedLog, segment: Segment) -> FileEntry | None:
    return loaded.state.file(f"{segment.base_offset:020d}{time_index.SUFFIX}")


def _modified(segment: Segment) -> tuple[int, bool]:
    return (-1 if segment.log is None else segment.log.stat().mtime_ns // 1_000_000), True


def by_deletion(partition: PartitionDir) -> Later:
    """A `-delete` directory goes after `file.delete.delay.ms`."""
    size = partition.size
    return Later(
        dir=partition.log_dir.path, file=partition.name, topic=partition.topic, partition=partition.partition,
        what="directory-deleted", why="the topic was deleted, or the replica moved", bytes_lost=size,
        segments=len(partition.layout.logs), seconds=DELETE_DELAY_SECONDS,
        broker_says=f"Deleted log for partition {partition.topic}-{partition.partition} in {partition.path}.",
    )  # fmt: skip
