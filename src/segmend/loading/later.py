"""What the first minutes after the start will do: retention, and the deletion of what waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.cleaner import SETS_ASIDE
from segmend.broker.cleanup_policy import POLICY
from segmend.broker.deletions import REPLICA_DELETED
from segmend.broker.retention import (
    DELETE_DELAY_SECONDS,
    GOES_UNCOPIED_BELOW_START,
    Amount,
    Breach,
    Clock,
    Limits,
    Retained,
    RetentionLimit,
    RetentionLook,
    amount,
    breaches,
    looks,
    rules_of,
)
from segmend.broker.sanity import TIME_INDEX
from segmend.formats import offset_index, time_index
from segmend.formats.names import file_prefix
from segmend.frozen import replace
from segmend.loading.cleaner_reads import Spoiled, stats_fault, thrown_over
from segmend.loading.high_watermark import Watermark
from segmend.loading.limits import Retention
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Segment, lost_from, newest_from, newest_of_few
from segmend.loading.values import COMPACTED, Extent, Later
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import last_entry
from segmend.logdir.partition_dir import PartitionDir


def limits_of(loaded: LoadedLog, after: Extent, retention: Retention, checkpoint: int | None) -> Limits:
    """The limits of a loaded log; those of one that the cleaner sets aside at its first look keep it all.

    `checkpoint` is the cleaner's.
    """
    limits, release = retention.limits, loaded.state.settings.release
    if not limits.compact or not limits.looked_at or not rules_of(limits, release):
        return limits
    start, end = after.log_start_offset or 0, after.log_end_offset or 0
    if stats_fault(loaded, start, end, checkpoint, release) is None:
        return limits
    return replace(limits, looked_at=False, set_aside=True)


def by_retention(
    loaded: LoadedLog,
    after: Extent,
    retention: Retention,
    mark: Watermark,
    checkpoint: int | None,
    *,
    now_ms: int,
) -> Iterator[Later]:
    """The segments that the first looks of retention delete, 30 seconds after the start.

    Records are counted by offsets: to count them exactly, all that is deleted would be read. What goes
    only if the high watermark moves is told without a time.
    """
    stay, oldest = _all_stay(loaded, after, retention.limits, now_ms)
    if stay:
        return
    limits = limits_of(loaded, after, retention, checkpoint)
    reads = limits.compact and limits.looked_at and SETS_ASIDE.of(loaded.state.settings.release)
    thrown = thrown_over(loaded) if reads else None
    kept = retained(loaded, after, limits, now_ms, oldest=oldest)
    look = look_of(loaded, after, limits, mark, now_ms)
    gone, start = 0, look.log_start
    for number, deleted in enumerate(looks(kept, limits, look)):
        seconds = (retention.first_look_ms + number * retention.check_interval_ms) // 1000
        for breach in deleted:
            going = kept[gone : gone + breach.count]
            undue = _is_undue(breach, loaded, gone, going, limits, now_ms)
            gone += breach.count
            why = _why(breach, going, limits, thrown)
            yield _later(loaded, breach, amount(going, start), seconds, why, undue=undue)
    waiting = 0
    for breach in breaches(kept, limits, look.at_best) if look.at_best != look else ():
        first = max(gone, waiting)
        going = kept[first : waiting + breach.count]
        waiting += breach.count
        if going:
            why = f"{breach.limit}{_ONCE_COPIED[limits.remote]}"
            undue = not limits.remote and _is_undue(breach, loaded, first, going, limits, now_ms)
            doomed = amount(going, start)
            yield _later(loaded, breach, doomed, None, why, stays=limits.remote, undue=undue)


def _why(breach: Breach, going: Sequence[Retained], limits: Limits, thrown: Spoiled | None) -> str:
    """The cleaner writes new time indexes, from the records: what it rewrites first may be young again.

    Where it throws over a batch before it comes to delete, it sets the log aside.
    """
    if thrown is not None:
        return f"{breach.limit}{_UNLESS_THROWN.format(thrown)}"
    if limits.compact and breach.limit == RetentionLimit.TIME and any(map(_is_untold, going)):
        return f"{breach.limit}{_UNLESS_CLEANED}"
    return breach.limit


def _is_undue(
    breach: Breach, loaded: LoadedLog, first: int, going: Sequence[Retained], limits: Limits, now_ms: int
) -> bool:
    """Whether a segment from the `first` on goes by a time index or file time older than its last records.

    Before 0.10.1 the time of the file is the rule.
    """
    if breach.limit != RetentionLimit.TIME or not TIME_INDEX.of(loaded.state.settings.release):
        return False
    segments = loaded.state.segments[first : first + len(going)]
    return any(
        each.clock in (Clock.TIME_INDEX, Clock.MTIME)
        and now_ms - _newest_at_end(segment) <= limits.retention_ms
        for segment, each in zip(segments, going, strict=True)
    )


def _is_untold(each: Retained) -> bool:
    return each.largest_timestamp == 0 or each.by_mtime


_FIRST_CLEANING = (
    f"{POLICY} has compact, and the cleaner was not here before: of each key the newest record stays, "
    "without a key none; segmend explain compaction"
)
_UNLESS_CLEANED = ", unless the log cleaner rewrites it before, and its records are younger than that"
_UNLESS_THROWN = (
    ", unless the log cleaner takes the log before: it throws over {0.file} at byte {0.position} "
    "({0.reason}), and leaves the log alone"
)
UNLESS_DEAD = (
    ", unless the log cleaner takes {0} before: it throws over {1.file} at byte {1.position} ({1.reason}), "
    "dies, and deletes and compacts nothing any more"
)
"""Of every log that it looks at, before it set such a log aside."""
_ONCE_COPIED = {
    False: ", once the high watermark reaches the end",
    True: ", once copied to remote storage, where the records stay",
}


def _later(
    loaded: LoadedLog,
    breach: Breach,
    doomed: Amount,
    seconds: int | None,
    why: str,
    *,
    stays: bool = False,
    undue: bool = False,
) -> Later:
    """`stays`: the records do, in remote storage."""
    partition = loaded.state.partition
    return Later(
        dir=partition.log_dir.path, file=partition.name, topic=partition.topic,
        partition=partition.partition, what="segments-deleted", why=why, limit=breach.limit,
        seconds=seconds, segments=doomed.segments, bytes_lost=doomed.bytes,
        records_lost=0 if stays else doomed.records, undue=undue,
        broker_says=breach.broker_says,
    )  # fmt: skip


def by_first_cleaning(loaded: LoadedLog) -> Iterator[Later]:
    """A log that the cleaner takes for the first time: how much of it goes, only its records tell.

    All but the newest segment may be cleaned, once the high watermark is behind it; nothing of a log over
    which the cleaner throws.
    """
    partition, closed = loaded.state.partition, loaded.state.segments[:-1]
    if sum(each.size for each in closed) and thrown_over(loaded) is None:
        yield Later(
            dir=partition.log_dir.path, file=partition.name, topic=partition.topic,
            partition=partition.partition, what=COMPACTED, why=_FIRST_CLEANING, seconds=None,
            segments=len(closed),
        )  # fmt: skip


def look_of(loaded: LoadedLog, after: Extent, limits: Limits, mark: Watermark, now_ms: int) -> RetentionLook:
    """What a look at this log goes by; what remote storage has is not on this disk."""
    start, release = after.log_start_offset or 0, loaded.state.settings.release
    sure = mark.offset
    if limits.remote:
        sure = min(start, sure) if GOES_UNCOPIED_BELOW_START.of(release) else -1
    return RetentionLook(
        log_start=start, high_watermark=sure, now_ms=now_ms, release=release, reach=mark.reach,
    )  # fmt: skip


def _all_stay(
    loaded: LoadedLog, after: Extent, limits: Limits, now_ms: int
) -> tuple[bool, tuple[int, Clock] | None]:
    """Whether the oldest segment stays, and so all do: most partitions of most brokers; and how old it is,
    if that was to be read."""
    segments, rules = loaded.state.segments, rules_of(limits, loaded.state.settings.release)
    if RetentionLimit.SIZE in rules:
        return False, None
    if len(segments) > 1 and segments[1].base_offset <= (after.log_start_offset or 0):
        return False, None
    if RetentionLimit.TIME not in rules:
        return True, None
    oldest = _largest_timestamp(loaded, segments[0], now_ms)
    return now_ms - oldest[0] <= limits.retention_ms, oldest


def retained(
    loaded: LoadedLog,
    after: Extent,
    limits: Limits,
    now_ms: int,
    *,
    every: bool = False,
    running: bool = False,
    oldest: tuple[int, Clock] | None = None,
) -> list[Retained]:
    """The segments in order; timestamps are read as far as time retention may look, or of `every` one.

    `oldest` is that of the first, where it is known. `running`: the log was not closed; its active segment
    is judged by its end, not by the zeros of its index.
    """
    segments = loaded.state.segments
    ends = [each.base_offset for each in segments[1:]] + [after.log_end_offset or 0]
    rules = rules_of(limits, loaded.state.settings.release)
    looking, kept = every or RetentionLimit.TIME in rules, []
    for segment, end in zip(segments, ends, strict=True):
        stamp, clock = now_ms, Clock.NONE
        if looking:
            unclosed = running and segment is segments[-1]
            read = _newest if unclosed else _largest_timestamp
            stamp, clock = oldest or read(loaded, segment, now_ms)
            oldest = None
            goes = now_ms - stamp > limits.retention_ms or end <= (after.log_start_offset or 0)
            looking = every or goes or RetentionLimit.SIZE in rules
        kept.append(
            Retained(
                base_offset=segment.base_offset, end_offset=end, size=segment.size,
                largest_timestamp=stamp, clock=clock,
            )
        )  # fmt: skip
    return kept


def _largest_timestamp(loaded: LoadedLog, segment: Segment, now_ms: int) -> tuple[int, Clock]:
    """`LogSegment.largestTimestamp`: the last entry of the time index as it stands, else the mtime."""
    if not TIME_INDEX.of(loaded.state.settings.release):
        return _modified(segment, now_ms)
    if segment.recovered and segment.log is not None and segment.size:
        stamp = lost_from(segment, 0).last_timestamp if segment.newest is None else segment.newest
        return (stamp, Clock.RECORD) if stamp >= 0 else _modified(segment, now_ms)
    index = _time_index(loaded, segment)
    if index is not None and not segment.recovered:
        data = index.last_bytes(time_index.ENTRY_SIZE, time_index.ENTRY_SIZE)
        stamp = int.from_bytes(data[:8], "big", signed=True) if data else -1
        if stamp >= 0:
            return stamp, Clock.TIME_INDEX
    return _modified(segment, now_ms)


def _newest(loaded: LoadedLog, segment: Segment, now_ms: int) -> tuple[int, Clock]:
    """What a running broker knows of its active segment: the newest batch, even if no index has it yet."""
    indexed = -1
    if (times := _time_index(loaded, segment)) is not None:
        last = last_entry(times, time_index.ENTRY_SIZE)
        indexed = int.from_bytes(last.data[:8], "big", signed=True) if last else -1
    newest = max(indexed, _newest_at_end(segment))
    if newest < 0 or not TIME_INDEX.of(loaded.state.settings.release):
        return _modified(segment, now_ms)
    return newest, Clock.TIME_INDEX if newest == indexed else Clock.RECORD


def _newest_at_end(segment: Segment) -> int:
    """The largest timestamp behind the last entry of the offset index: of a few batches, if that is sound.

    A small log is read whole, and its index not opened.
    """
    newest = newest_of_few(segment)
    if newest is not None:
        return newest
    index, data = segment.index, b""
    if index is not None:
        data = index.last_bytes(offset_index.ENTRY_SIZE, offset_index.ENTRY_SIZE)
        if data and not any(data):  # preallocated
            last = last_entry(index, offset_index.ENTRY_SIZE)
            data = b"" if last is None else last.data
    start = int.from_bytes(data[4:], "big", signed=True)
    return newest_from(segment, start if 0 <= start < segment.size else 0)


def _time_index(loaded: LoadedLog, segment: Segment) -> FileEntry | None:
    return loaded.state.file(f"{file_prefix(segment.base_offset)}{time_index.SUFFIX}")


def _modified(segment: Segment, now_ms: int) -> tuple[int, Clock]:
    """What is created or cut now is modified now."""
    if segment.log is None:
        return now_ms, Clock.MTIME
    stat = segment.log.stat()
    return (now_ms if segment.size < stat.size else stat.mtime_ns // 1_000_000), Clock.MTIME


def by_deletion(partition: PartitionDir) -> Later:
    """A `-delete` directory goes after `file.delete.delay.ms`."""
    size = partition.size
    return Later(
        dir=partition.log_dir.path, file=partition.name, topic=partition.topic, partition=partition.partition,
        what="directory-deleted", why="the topic was deleted, or the replica moved", bytes_lost=size,
        segments=len(partition.layout.logs), seconds=DELETE_DELAY_SECONDS,
        broker_says=REPLICA_DELETED.format(
            partition=f"{partition.topic}-{partition.partition}", path=partition.path
        ),
    )  # fmt: skip
