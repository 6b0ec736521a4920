"""One replica read into runs: one pass over its logs, headers and checksums, whatever they hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from segmend.formats import legacy, offset_index, time_index
from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import INT_MAX, LONG_MAX
from segmend.formats.names import file_prefix, parse_file_name
from segmend.formats.offset_checkpoint import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
)
from segmend.frozen import replace
from segmend.kernel.types import DECODE_LIMIT, BatchRange, Problem
from segmend.logdir.file_system import Unreadable, or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import last_entry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.indexed import Denials, is_indexed
from segmend.merge.leaps import LEAP
from segmend.merge.odd_epochs import in_order, without_denied
from segmend.merge.open_run import OpenRun
from segmend.merge.packed import Packed, joined
from segmend.merge.proven_epochs import Lines, proven_epoch
from segmend.merge.rows import iter_rows, read_rows
from segmend.merge.values import NO_EPOCH, Damaged, Replica, Run
from segmend.merge.walk import LONELY, Walk, damage_at
from segmend.node.older import mark_is_older
from segmend.threads import Jobs, slices

MANY: Final = 1 << 16
"""The same of a topic that is not compacted: as many as a run each costs little memory."""


def begin_runs(partition: PartitionDir, *, compacted: bool | None, jobs: Jobs) -> Callable[[], Replica]:
    """Have `jobs` read its logs; gives what waits for what it says as one of several replicas.

    Damage and refusals are part of the answer. Of a topic that is not `compacted` (None: nobody says) no
    number of gaps shows that it was.
    """
    loaded = partition.leader_epochs.value
    lines = tuple((entry.epoch, entry.start_offset) for entry in loaded.entries) if loaded else ()
    lonely = LONELY if compacted is not False else MANY
    segments = partition.segments
    sizes = [0 if each.log is None else each.log.known_size for each in segments]
    parts: list[Callable[[], _Reading]] = []
    for first, behind in slices(sizes):
        part = _Reading(segments[first:behind], lines, lonely, _reached(parts, len(parts)))
        parts.append(jobs.submit(sum(sizes[first:behind]), part.read))
    return lambda: _replica(partition, lines, [part() for part in parts])


def _reached(parts: Sequence[Callable[[], _Reading]], count: int) -> Callable[[], int]:
    """Waits for the newest epoch of the first `count` parts."""
    return lambda: max((part().epoch for part in islice(parts, count)), default=NO_EPOCH)


def _replica(
    partition: PartitionDir, lines: tuple[tuple[int, int], ...], parts: Sequence[_Reading]
) -> Replica:
    log_dir, key = partition.log_dir, partition.key
    reading = _Reading((), lines)
    if partition.unreadable is not None:
        reading.unreadable.append(str(partition.unreadable))
    for part in parts:
        reading.add(part)
    reading.unreadable += unread_logs(partition)
    runs, odd = in_order(reading.runs)
    runs, denied = without_denied(runs, lines)
    reading.damaged.extend((*odd, *denied))
    cleaned = max(log_dir.cleaner_offsets.get(key, 0), 0)
    watermark = log_dir.high_watermarks.get(key)
    if not cleaned and not reading.removed_below:
        reading.damaged.extend(reading.leaping(runs, watermark, partition))
    start = log_dir.log_start_offsets.get(key)
    claimed = (each.last_offset for each in reading.damaged if each.last_offset is not None)
    ends = chain((run.last_offset for run in runs[-1:]), claimed)
    end = max(start or 0, *partition.base_offsets[-1:], 1 + max(ends, default=-1))
    cleaned = min(cleaned, end)
    watermark, odd_mark = believed(partition, watermark, end)
    thinned = max(cleaned, reading.removed_below)
    gaps = tuple(_gaps(reading.damaged, runs, partition))
    if thinned and gaps:
        # The cleaner writes its checkpoint last: a broker that was killed may have cleaned further.
        thinned = max(thinned, gaps[-1][1] + 1)
    runs = _with_put_back(runs, reading.damaged, lines, partition)
    damaged = joined(Packed(Damaged, cut_off(partition, lines, start)), reading.damaged)
    damaged.extend(
        damage_at(max(a, thinned), b, name, 0, 0, "missing") for a, b, name in gaps if b >= thinned
    )
    return Replica(
        broker=log_dir.node_id,
        dir=log_dir.path,
        name=partition.name,
        topic=partition.topic,
        partition=partition.partition,
        topic_id=partition.topic_id,
        cluster_id=log_dir.cluster,
        log_start_offset=max([start or 0, *partition.base_offsets[:1]]),
        log_end_offset=end,
        deleted_below=start,
        high_watermark=watermark,
        epochs=lines,
        runs=runs,
        damaged=damaged,
        cleaned=cleaned,
        thinned=thinned,
        proven=max(cleaned, reading.proven_below),
        gaps=tuple((a, min(b, thinned - 1)) for a, b, _ in gaps if a < thinned),
        unreadable=tuple(reading.unreadable),
        unread_beside=tuple(_unread_beside(partition)),
        odd_mark=odd_mark,
        told=() if log_dir.broker_running() else tuple(told_beside(partition, end)),
        aside=tuple(logs_aside(partition)),
    )


def believed(partition: PartitionDir, watermark: int | None, end: int) -> tuple[int | None, int | None]:
    """The high watermark as far as it is of this log, and one that may be of another one."""
    if watermark is None or watermark <= end:
        return watermark, None
    if partition.log_dir.broker_running():
        # It was read after the log, or is of a topic of this name before: none is beyond it.
        return end, None
    if or_none(mark_is_older, partition, None) is False:
        return watermark, None
    return None, watermark


def told_beside(partition: PartitionDir, end: int) -> Iterator[tuple[int, int, str]]:
    """Offsets of which another file tells: one of a log that is not here, or is empty.

    Who deletes a segment renames its log first, then its indexes; who cuts a log deletes the snapshots above
    its new end. A cleaner that takes all of a segment leaves indexes without an entry.
    """
    layout, bases = partition.layout, partition.base_offsets
    orphans = {parse_file_name(name).base_offset: name for name in reversed(layout.orphans)}
    for base, name in orphans.items():
        if base is None:
            continue
        gone = f"{file_prefix(base)}.log.deleted" in layout.deleted
        if gone and f"{name}.deleted" not in layout.deleted:
            continue
        if not bases or base < bases[0]:
            yield base, bases[0] - 1 if bases else base, name
        elif base >= end:
            yield base, base, name
        else:
            yield from _told_between(LogSegment(partition, base))
    for segment in partition.segments:
        if segment.log is not None and not segment.log.known_size:
            yield from _told_between(segment)
    yield from _told_above(partition, end)


def _told_above(partition: PartitionDir, end: int) -> Iterator[tuple[int, int, str]]:
    """By producer snapshots, and by the recovery point, which never lies beyond the end of its log."""
    for offset, file in partition.snapshots[-1:]:
        if offset > end:
            yield end, offset - 1, file.name
    recovery_point = partition.log_dir.recovery_points.get(partition.key, 0)
    if recovery_point > end:
        yield end, recovery_point - 1, RECOVERY_POINT


def _told_between(segment: LogSegment) -> Iterator[tuple[int, int, str]]:
    """Up to the next log, if an index of this one, which has no byte, has an entry."""
    sizes = (segment.index, offset_index.ENTRY_SIZE), (segment.timeindex, time_index.ENTRY_SIZE)
    following = bisect_right(segment.partition.base_offsets, segment.base_offset)
    for base in segment.partition.base_offsets[following : following + 1]:
        for index, size in sizes:
            if index is not None and or_none(last_entry, index, size) is not None:
                yield segment.base_offset, base - 1, index.name
                return


def logs_aside(partition: PartitionDir) -> Iterator[tuple[int, int, bool, str]]:
    """Logs that are no segments: a cleaner's (`.swap`, `.cleaned`), and what was to be deleted.

    The third of each tells that it waits for a start that puts it in the place of what is deleted by then. A
    running broker's cleaner is at work.
    """
    bases, running = partition.base_offsets, partition.log_dir.broker_running()
    for name in sorted(partition.entries):
        parsed = parse_file_name(name)
        base, waits = parsed.base_offset, parsed.state in ("swap", "cleaned")
        if parsed.kind != "log" or base is None or not (parsed.state == "deleted" or (waits and not running)):
            continue
        if partition.entry(name).known_size:
            behind = bisect_right(bases, base)
            last = bases[behind] - 1 if behind < len(bases) else LONG_MAX
            yield base, last, waits and base not in bases, name


def unread_logs(partition: PartitionDir) -> Iterator[str]:
    names = sorted((*(name for _, name in partition.layout.shadowed), *partition.layout.unparsable))
    yield from (
        f"{partition.path}/{name}: no broker reads this name" for name in names if name.endswith(".log")
    )
    links = (name for name in sorted(partition.layout.dangling) if name.endswith(".log"))
    yield from (f"{partition.path}/{name}: a link to nothing, or no file" for name in links)


def _unread_beside(partition: PartitionDir) -> Iterator[str]:
    names = (LOG_START_OFFSET, HIGH_WATERMARK, CLEANER_OFFSET)
    checkpoints = (partition.log_dir.offset_checkpoint(name).unreadable for name in names)
    yield from map(str, filter(None, (partition.leader_epochs.unreadable, *checkpoints)))


def _with_put_back(
    runs: Packed[Run], damaged: Iterable[Damaged], lines: Lines, partition: PartitionDir
) -> Packed[Run]:
    put_back = [*filter(None, (_put_back(each, runs, lines, partition) for each in damaged))]
    return Packed(Run, sorted([*runs, *put_back], key=lambda run: run.first_offset)) if put_back else runs


def _put_back(each: Damaged, runs: Packed[Run], lines: Lines, partition: PartitionDir) -> Run | None:
    """A batch whose epoch cannot be, under the one that is proven; its bytes stay damage."""
    epoch = proven_epoch(each, runs, lines)
    if epoch is None:
        return None
    segment = next((one for one in partition.segments if one.log and one.log.name == each.file), None)
    if segment is None or segment.log is None:
        return None
    try:
        rows = [*iter_rows(segment.log, base_offset=segment.base_offset, start=each.position, stop=each.end)]
    except Unreadable:
        return None
    batch = rows[0].batch if len(rows) == 1 and rows[0].sound else None
    if batch is None or (batch.base_offset, batch.last_offset) != (each.first_offset, each.last_offset):
        return None
    if batch.magic < 2 or batch.partition_leader_epoch == epoch:
        return None
    run = OpenRun(batch.base_offset, epoch, batch.position, batch.magic)
    run.add(batch, batch.base_offset, batch.records_count)
    return replace(run.run(each.file, segment.base_offset), written=batch.partition_leader_epoch)


class _Reading:
    """What segments in a row say, in one pass; `before` gives the epoch that was reached before them."""

    def __init__(
        self,
        segments: Sequence[LogSegment],
        lines: Lines,
        lonely: int = LONELY,
        before: Callable[[], int] = lambda: NO_EPOCH,
    ) -> None:
        self._segments, self._lines, self._lonely, self._before = segments, lines, lonely, before
        self.runs = Packed(Run)
        self.damaged = Packed(Damaged)
        self.unreadable: list[str] = []
        self.removed_below = self.proven_below = 0
        self.epoch = NO_EPOCH
        """The newest that several batches have: a single one may be a flipped bit."""
        self.leaps: dict[tuple[str, int], tuple[int, int | None]] = {}

    def read(self) -> _Reading:
        for segment in self._segments:
            self._segment(segment)
        return self

    def add(self, more: _Reading) -> None:
        self.runs, self.damaged = joined(self.runs, more.runs), joined(self.damaged, more.damaged)
        self.unreadable += more.unreadable
        self.removed_below = max(self.removed_below, more.removed_below)
        self.proven_below = max(self.proven_below, more.proven_below)
        self.leaps |= more.leaps

    def leaping(self, runs: Packed[Run], watermark: int | None, partition: PartitionDir) -> Iterator[Damaged]:
        """Where nothing was compacted: offsets follow one another, and who left some out may be misplaced.

        Not so one that ends where the high watermark says that the log did, or that an index has.
        """
        for run in runs if self.leaps else ():
            leap = self.leaps.get((run.file, run.first_position))
            if leap is not None and run.last_offset + 1 != watermark:
                segment = next(each for each in partition.segments if each.base_offset == run.segment)
                if not is_indexed(segment, run, leap):
                    yield damage_at(*leap, run.file, run.first_position, run.end_position, LEAP)

    def _segment(self, segment: LogSegment) -> None:
        log = segment.log
        if log is None:
            return
        walk = self._walked(segment, log)
        if (most := walk.fewer_above) is not None:
            walk = self._walked(segment, log, most=most)
        if denied := walk.denials.found:
            walk = self._walked(segment, log, most=INT_MAX if most is None else most, denied=denied)
        self.damaged = joined(self.damaged, walk.damaged)
        self.removed_below = max(self.removed_below, walk.removed_below)
        self.proven_below = max(self.proven_below, walk.proven_below)
        self.leaps |= {(log.name, position): span for position, span in walk.leaps.items()}
        several = zip(walk.runs.column("epoch"), walk.runs.column("batches"), strict=True)
        self.epoch = max(
            self.epoch, max((epoch for epoch, batches in several if batches > 1), default=NO_EPOCH)
        )
        self.runs = joined(self.runs, walk.runs)

    def _walked(
        self,
        segment: LogSegment,
        log: FileEntry,
        *,
        most: int = INT_MAX,
        denied: frozenset[int] = frozenset(),
    ) -> Walk:
        base, following = segment.base_offset, segment.next_base_offset
        walk = Walk(
            log.name, base, following, lambda batch: _inside(log, batch),
            lambda: max(self.epoch, self._before()), most, self._lines, self._lonely,
            Denials(segment), denied,
        )  # fmt: skip
        problems: list[Problem] = []
        size = 0
        try:
            with log.reader() as reader:
                size = reader.size
                for row in read_rows(reader, BatchRange(base_offset=base), problems, walk.follow):
                    walk.take(row)
        except Unreadable as error:
            self.unreadable.append(str(error))
            walk.give_up(None if following is None else following - 1, size)
        walk.finish(problems, size)
        return walk


def _inside(log: FileEntry, batch: RecordBatch) -> tuple[int, int] | None:
    """The first and last offset in a compressed wrapper; None if that cannot be read."""
    try:
        with log.reader() as reader:
            data = reader.read(min(batch.size, DECODE_LIMIT), batch.position)
    except Unreadable:
        return None
    return legacy.inner_span(data, batch, limit=DECODE_LIMIT)


def _gaps(
    damaged: Packed[Damaged], runs: Packed[Run], partition: PartitionDir
) -> Iterator[tuple[int, int, str]]:
    """Offsets between two files of which there is no byte, and the file before."""
    ends = dict(zip(runs.column("segment"), runs.column("last_offset"), strict=True))
    gaps: dict[tuple[int, int | None], tuple[int, int, str]] = {}
    for segment in partition.segments:
        following = segment.next_base_offset
        first = ends.get(segment.base_offset, segment.base_offset - 1) + 1
        if following is not None and first < following:
            gaps[first, following - 1] = first, following - 1, segment.name
    for each in damaged if gaps else ():
        gaps.pop((each.first_offset, each.last_offset), None)
    yield from gaps.values()


def cut_off(
    partition: PartitionDir, lines: Sequence[tuple[int, int]], start: int | None
) -> Iterator[Damaged]:
    """Offsets before the first file that no broker deleted.

    Who deletes the beginning of a log moves the first line of leader-epoch-checkpoint up to where it then
    begins (LeaderEpochFileCache.truncateFromStart). With remote storage log-start-offset-checkpoint tells
    where it begins there.
    """
    bases = partition.base_offsets
    tiered = start is not None and bases and start < bases[0]
    begun = lines[0][1] if lines and bases and not tiered else None
    if begun is not None and 0 <= begun < bases[0] and not _being_deleted(partition, begun):
        yield damage_at(begun, bases[0] - 1, f"{file_prefix(bases[0])}.log", 0, 0, "missing")


def _being_deleted(partition: PartitionDir, start: int) -> bool:
    """Whether its broker deletes the log from there on: it moves that line up, on the disk, later (3.8+)."""
    first = partition.base_offsets[0]
    named = (parse_file_name(name) for name in partition.layout.deleted if name.endswith(".log.deleted"))
    deleted = any(each.base_offset is not None and start <= each.base_offset < first for each in named)
    return deleted or bool(partition.log_dir.broker_running())
