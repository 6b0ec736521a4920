"""Which logs a read takes, and which offsets of each: replicas, Spark's own options, transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from segmend.cluster.elsewhere import NotRead
from segmend.errors import UsageError
from segmend.fleet.listing import Place
from segmend.fleet.option_values import EARLIEST, LATEST, NONE_NAMED, TopicOffsets
from segmend.fleet.options import ReadOptions
from segmend.fleet.ranges import ReplicaDir, WantedRange
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen, replace
from segmend.grouping import grouped
from segmend.kernel.scan import ScanTask, scan_log
from segmend.logdir.file_system import Unreadable
from segmend.logdir.last_stable_offset import last_stable_offset
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.seek import ByTime, is_older, offset_by_time
from segmend.logdir.tail import Tail, tail
from segmend.merge.listed import listed_doubts
from segmend.merge.rule import refuse_another_topic
from segmend.merge.runs import cut_off

Found = tuple[Place, PartitionDir]
Key = tuple[str, int]


@frozen
class WantedLog:
    """A replica to be read, what is wanted of it, and where the partition has other replicas."""

    place: Place
    partition: PartitionDir
    wanted: WantedRange
    end: Tail | None = None
    """Of its last segment; None without one, and where it cannot be read."""
    copies: tuple[Found, ...] = ()
    """Other replicas, if of each partition one is read; `reaches` is how far the farthest of all goes."""
    reaches: int = 0
    deleted: int = 0
    """Below this offset records were deleted on purpose, as another replica's checkpoint says."""
    upto: int = LONG_MAX
    """The last offset that is asked for, whether or not it is stable."""

    @property
    def others(self) -> tuple[ReplicaDir, ...]:
        """The other replicas, as they go to a task."""
        return tuple(ReplicaDir(place=place, dir_name=copy.name) for place, copy in self.copies)


def wanted_logs(everything: Sequence[Found], options: ReadOptions) -> list[WantedLog]:
    """The logs to be read, of each partition one with `replicas=best`.

    UsageError where Spark's own options name partitions that are not there, or leave some out, and, as in a
    rescue, where one is of a topic that was deleted and made anew: by their ends nobody knows which is newer.
    """
    groups = grouped(everything, lambda placed: (placed[0].cluster_id or "", *placed[1].key))
    # As in Spark nobody looks at them where a time wins.
    begins, assigned = options.starting_offsets, options.assign
    if not options.begins_by_time and (begins is None or LATEST in dict(begins).values()):
        raise UsageError("option startingOffsets: a batch read cannot start at the latest offset")
    if not options.begins_by_time:
        _all_named("startingOffsets", begins or (), groups, assigned)
    elif options.starting_timestamp is None:
        _all_named("startingOffsetsByTimestamp", options.starting_times, groups, assigned)
    if not options.ends_by_time:
        _all_named("endingOffsets", options.ending_offsets or (), groups, assigned)
    elif options.ending_timestamp is None:
        _all_named("endingOffsetsByTimestamp", options.ending_times, groups, assigned)
    if options.starting_timestamp is None and options.ending_timestamp is None:
        _in_order(options.starting_times, options.ending_times)
    logs: list[WantedLog] = []
    for replicas in groups.values():
        if options.consumes and options.replicas == "best":
            refuse_another_topic([partition for _, partition in replicas] if len(replicas) > 1 else [])
            ends = [_tail(partition) for _, partition in replicas]
            advances = [_advance(partition, end) for (_, partition), end in zip(replicas, ends, strict=True)]
            at = advances.index(max(advances))
            best, deleted = replicas[at], _deleted(replicas[at][1], ends[at], replicas)
            log = _wanted_log(*best, options, deleted)
            others = tuple(each for each in replicas if each is not best)
            reaches = max(end for _, end, _ in advances)
            logs.append(replace(log, end=ends[at], copies=others, reaches=reaches))
        else:
            for place, partition in replicas:
                end = _tail(partition) if options.consumes else None
                reaches = _advance(partition, end)[1]
                log = _wanted_log(place, partition, options)
                logs.append(replace(log, end=end, reaches=reaches))
    return logs


def lacking(log: WantedLog, options: ReadOptions, of: int) -> Iterator[str]:
    """In words: what the files beside a log know to have been before its first segment, or behind its last.

    And offsets that are asked for by Spark's names and are not there, over which Spark throws
    (`failOnDataLoss`), of a read `of` so many partitions. Damage between them is told by who reads it.
    """
    partition, wanted = log.partition, log.wanted
    beside, key, loaded = partition.log_dir, partition.key, partition.leader_epochs.value
    lines = [(each.epoch, each.start_offset) for each in loaded.entries] if loaded else []
    for each in cut_off(partition, lines, beside.log_start_offsets.get(key)):
        if each.last_offset is not None and each.last_offset >= wanted.low:
            yield (
                f"{partition.path}: has nothing from offset {each.first_offset} to {each.last_offset}, where "
                "its leader-epoch-checkpoint begins"
            )
    start, stop = _asked(key, options)
    first = max(place_start(partition, aged=options.aged), 0 if options.aged else log.deleted)
    if start is not None and start < first:
        yield f"{partition.path}: begins at offset {first}, behind the startingOffsets {start}"
    end = log.end
    if (end is None and partition.segments) or (end and end.unread_bytes):
        return
    last, mark = end.next_offset if end else 0, beside.high_watermarks.get(key, 0)
    if last < mark and last <= log.upto:
        yield f"{partition.path}: ends at offset {last}, below its high watermark {mark}"
    if stop is None and options.min_partitions > of:
        # To divide it Spark looks up where it ends, and leaves out what begins behind
        # (`KafkaOffsetReaderAdmin.getOffsetRangesFromUnresolvedOffsets`).
        start = None
    for name, asked in (("startingOffsets", start), ("endingOffsets", stop)):
        if asked is not None and last < asked:
            yield f"{partition.path}: ends at offset {last}, before the {name} {asked}"


def doubts(logs: Sequence[WantedLog], elsewhere: NotRead) -> tuple[Sequence[str], Sequence[str]]:
    """In words: what names of files tell of these logs of a partition, and what may be beyond them.

    Both as a rescue of it has them, if what is behind their end is asked for; `elsewhere` is as of
    `Surroundings`, and may be said of very many.
    """
    copies = [each for log in logs for each in ((log.place, log.partition), *log.copies)]
    replicas = [partition for _, partition in copies]
    end = max(log.reaches for log in logs)
    if max(log.upto for log in logs) < end:
        return (), ()
    first = min(place_start(each) for each in replicas)
    holders = {each.log_dir.path: each.log_dir.node_id for each in replicas}
    return [*listed_doubts(replicas, first, end)], elsewhere.beyond(holders, end).doubts


def _asked(key: tuple[str, int], options: ReadOptions) -> tuple[int | None, int | None]:
    """The offsets that are named; none where nothing is between (`KafkaOffsetRangeCalculator.getRanges`)."""
    start, stop = _asked_start(key, options), _asked_end(key, options)
    return (None, None) if start == stop else (start, stop)


def reach(log: WantedLog, options: ReadOptions) -> tuple[int, int]:
    """Where a stream of the log begins, and the offset behind the last that there is now.

    Batches behind damage in the active segment count: who reads up to them tells of it. Raises `Unreadable`.
    """
    partition, asked = log.partition, _asked_start(log.partition.key, options)
    first = max(log.wanted.low, place_start(partition)) if asked is None else asked
    if not partition.segments:
        return first, first
    active = partition.segments[-1]
    tail_end = log.end or tail(active)
    end = tail_end.next_offset
    if tail_end.unread_bytes and active.log is not None:
        with active.log.reader() as reader:
            behind = max(0, reader.size - tail_end.unread_bytes)
            rest = scan_log(reader, ScanTask(base_offset=active.base_offset, start=behind, crc=False))
        end = end if rest.last_offset is None else max(end, rest.last_offset + 1)
    return first, min(end, log.wanted.high + 1)


def _tail(partition: PartitionDir) -> Tail | None:
    try:
        return tail(partition.segments[-1]) if partition.segments else None
    except Unreadable:
        return None


def _advance(partition: PartitionDir, end: Tail | None) -> tuple[int, int, int]:
    """What makes a replica the best by its ends: the newest epoch, the farthest end, the earliest start."""
    if not partition.segments:
        return -2, 0, 0
    start = place_start(partition)
    if end is None:
        return -2, partition.base_offsets[-1], -start
    return _last_epoch(partition, end.leader_epoch), end.next_offset, -start


def _deleted(best: PartitionDir, tail_of_best: Tail | None, replicas: Sequence[Found]) -> int:
    """The highest log start offset in a checkpoint of these, which DeleteRecords may have set.

    Not of one above all that is there, as in a rescue.
    """
    starts = [each.log_dir.log_start_offsets.get(each.key, 0) for _, each in replicas if each is not best]
    end = 0 if tail_of_best is None else tail_of_best.next_offset
    return max((each for each in starts if each <= end), default=0)


def _last_epoch(partition: PartitionDir, of_tail: int) -> int:
    """Of the last batch; of an empty active segment the checkpoint tells it."""
    epochs = partition.leader_epochs.value
    known = epochs.entries[-1].epoch if epochs and epochs.entries else -1
    return of_tail if of_tail >= 0 else known


def place_start(partition: PartitionDir, *, aged: bool = False) -> int:
    first = partition.base_offsets[0] if partition.base_offsets else 0
    return first if aged else max(first, partition.log_dir.log_start_offsets.get(partition.key, 0))


def _wanted_log(
    place: Place,
    partition: PartitionDir,
    options: ReadOptions,
    deleted: int = 0,
) -> WantedLog:
    low, high = options.low or 0, LONG_MAX if options.high is None else options.high
    if options.consumes:
        own = partition.log_dir.log_start_offsets.get(partition.key, 0)
        low = low if options.aged else max(low, own, deleted)
        start, end = _start(partition, options), _end(partition, options)
        if start > end:  # KafkaSourceProvider.checkStartOffsetNotGreaterThanEndOffset
            raise UsageError(f"{partition.name} would begin at {start}, behind where it is to end: {end}")
        low, high = max(low, start), min(high, end - 1)
    upto = high
    if options.isolation == "read_committed":
        stable = last_stable_offset(partition)
        high = high if stable is None else min(high, stable - 1)
    wanted = WantedRange(low=low, high=high, since=options.since, until=options.until)
    return WantedLog(place=place, partition=partition, wanted=wanted, deleted=deleted, upto=upto)


def _start(partition: PartitionDir, options: ReadOptions) -> int:
    time = options.start_time(partition.key)
    if time is not None:
        offset = _offset_at(partition, time)
        if time == LATEST or (offset is None and options.unmatched_start == "latest"):
            return tail(partition.segments[-1]).next_offset if partition.segments else 0
        if offset is None:
            every = options.starting_timestamp is not None
            name = "startingTimestamp" if every else "startingOffsetsByTimestamp"
            words = f"has no record of {time} or later, as a broker looks for it; `since` takes what there is"
            raise UsageError(f"option {name}: {partition.name} {words}")
        return offset
    return _asked_start(partition.key, options) or 0


def _asked_start(key: tuple[str, int], options: ReadOptions) -> int | None:
    """The offset that is named; None if it is the earliest, or a time is given."""
    given = dict(options.starting_offsets or ()).get(key, EARLIEST)
    return None if given == EARLIEST or options.begins_by_time else given


def _end(partition: PartitionDir, options: ReadOptions) -> int:
    time = options.end_time(partition.key)
    if time is not None:
        offset = _offset_at(partition, time)
        return LONG_MAX if offset is None else offset
    asked = _asked_end(partition.key, options)
    return LONG_MAX if asked is None else asked


def _asked_end(key: tuple[str, int], options: ReadOptions) -> int | None:
    given = dict(options.ending_offsets or ()).get(key, LATEST)
    return None if given == LATEST or options.ends_by_time else given


def _offset_at(partition: PartitionDir, time: int) -> int | None:
    """The first offset with this time (ms) or a later one (`UnifiedLog.searchOffsetInLocalLog`).

    Of what stands in its place (`UnifiedLog.fetchOffsetByTimestamp`) None is the end of the log.
    """
    low = place_start(partition)
    if time in (EARLIEST, LATEST):
        return low if time == EARLIEST else None
    for segment in partition.segments:
        following = segment.next_base_offset
        if following is None or following > low:
            sought = _offset_in(segment, time, low)
            if sought.reached:
                return sought.offset
    return None


def _offset_in(segment: LogSegment, time: int, low: int) -> ByTime:
    nothing = ByTime(None, reached=False)
    if segment.log is None:
        return nothing
    try:
        with segment.log.reader() as reader:
            if not segment.is_active and is_older(segment.log, reader, time):
                return nothing
            return offset_by_time(segment.log, reader, time, low=low)
    except Unreadable:
        return nothing


def _in_order(starting: TopicOffsets, ending: TopicOffsets) -> None:
    """As in Spark times are compared before the offsets that they stand for."""
    ends = dict(ending)
    for (topic, partition), begin in starting:
        if begin > ends.get((topic, partition), begin):
            raise UsageError(
                f"option startingOffsetsByTimestamp: {topic}-{partition} would begin at {begin}, behind the "
                f"endingOffsetsByTimestamp {ends[topic, partition]}"
            )


def _all_named(
    option: str, given: TopicOffsets, groups: Iterable[tuple[str, str, int]], assigned: AbstractSet[Key]
) -> None:
    """As in Spark: offsets are given for every partition that is read, and for no other.

    One that is assigned and not there `ReadOptions.nowhere` tells: a stream may go on without it.
    """
    if not given:
        return
    there = {(topic, partition) for _, topic, partition in groups}
    named = {key for key, _ in given} - {key for key, _ in NONE_NAMED} - (assigned - there)
    for words, keys in (("does not name", there - named), ("names, which is not there,", named - there)):
        if keys:
            topic, partition = min(keys)
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            raise UsageError(f"option {option} {words} {topic}-{partition}{more}")
