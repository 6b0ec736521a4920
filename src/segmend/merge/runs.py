"""One replica read into runs: one pass over its logs, headers and checksums, whatever they hold."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from segmend.formats import legacy
from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import INT_MAX
from segmend.formats.names import file_prefix, parse_file_name
from segmend.frozen import replace
from segmend.kernel.types import DECODE_LIMIT, TAIL_KINDS, BatchRange, Problem
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import LogSegment, PartitionDir
from segmend.merge.odd_epochs import in_order, without_denied
from segmend.merge.open_run import OpenRun
from segmend.merge.proven_epochs import Lines, proven_epoch
from segmend.merge.rows import Row, iter_rows, read_rows
from segmend.merge.values import NO_EPOCH, Damaged, Replica, Run
from segmend.threads import Jobs, slices

LONELY: Final = 8
"""So many batches of a file with a gap behind them are runs of their own: one may be misplaced. More are
compaction."""
MANY: Final = 1 << 16
"""The same of a topic that is not compacted: as many as a run each costs little memory."""
# Bytes behind the last batch that no broker takes for one; what they may have been, nothing tells.
_QUIET: Final = frozenset({"header-fragment", "zero-tail"})


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
    reading.unreadable += (f"{file.path}: no broker reads this name" for file in partition.shadowed)
    runs, odd = in_order(tuple(reading.runs))
    runs, denied = without_denied(runs, lines)
    reading.damaged += (*odd, *denied)
    cleaned = max(log_dir.cleaner_offsets.get(key, 0), 0)
    watermark = log_dir.high_watermarks.get(key)
    if not cleaned and not reading.removed_below:
        runs = reading.without_leaps(runs, watermark)
    identity = log_dir.meta_properties.value
    start = log_dir.log_start_offsets.get(key)
    claimed = (each.last_offset for each in reading.damaged if each.last_offset is not None)
    ends = (*(run.last_offset for run in runs[-1:]), *claimed)
    end = max([0, *partition.base_offsets[-1:], start or 0, *(last + 1 for last in ends)])
    first = partition.base_offsets[0] if partition.base_offsets else 0
    cleaned = min(cleaned, end)
    if watermark is not None and watermark > end and log_dir.broker_running():
        watermark = end  # It was read after the log, or is of a topic of this name before: none is beyond it.
    thinned = max(cleaned, reading.removed_below)
    gaps = tuple(_gaps(reading.damaged, runs, partition))
    if thinned and gaps:
        # The cleaner writes its checkpoint last: a broker that was killed may have cleaned further.
        thinned = max(thinned, gaps[-1][1] + 1)
    put_back = (_put_back(each, runs, lines, partition) for each in reading.damaged)
    runs = tuple(sorted([*runs, *filter(None, put_back)], key=lambda run: run.first_offset))
    return Replica(
        broker=None if identity is None else identity.node_id,
        dir=log_dir.path,
        name=partition.name,
        topic=partition.topic,
        partition=partition.partition,
        topic_id=partition.topic_id,
        cluster_id=None if identity is None else identity.cluster_id,
        log_start_offset=max(first, start or 0),
        log_end_offset=end,
        deleted_below=start,
        high_watermark=watermark,
        epochs=lines,
        runs=runs,
        damaged=(
            *cut_off(partition, lines, start),
            *reading.damaged,
            *(_damage(max(a, thinned), b, name, 0, 0, "missing") for a, b, name in gaps if b >= thinned),
        ),
        cleaned=cleaned,
        thinned=thinned,
        proven=max(cleaned, reading.proven_below),
        gaps=tuple((a, min(b, thinned - 1)) for a, b, _ in gaps if a < thinned),
        unreadable=tuple(reading.unreadable),
    )


def _put_back(each: Damaged, runs: Sequence[Run], lines: Lines, partition: PartitionDir) -> Run | None:
    """A batch whose epoch cannot be, under the one that is proven; its bytes stay damage."""
    epoch = proven_epoch(each, runs, lines)
    segment = next((one for one in partition.segments if one.log and one.log.name == each.file), None)
    if epoch is None or segment is None or segment.log is None:
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
        self.runs: list[Run] = []
        self.damaged: list[Damaged] = []
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
        """What further segments say."""
        self.runs += more.runs
        self.damaged += more.damaged
        self.unreadable += more.unreadable
        self.removed_below = max(self.removed_below, more.removed_below)
        self.proven_below = max(self.proven_below, more.proven_below)
        self.leaps |= more.leaps

    def without_leaps(self, runs: Sequence[Run], watermark: int | None) -> tuple[Run, ...]:
        """Where nothing was compacted: offsets follow one another, and who left some out is misplaced.

        Not so one that ends where the high watermark says that the log did.
        """
        kept = []
        for run in runs:
            place = run.first_position, run.end_position
            leap = self.leaps.get((run.file, run.first_position))
            if leap is None or run.last_offset + 1 == watermark:
                kept.append(run)
            else:
                self.damaged.append(_damage(*leap, run.file, *place, "misplaced"))
        return tuple(kept)

    def _segment(self, segment: LogSegment) -> None:
        log = segment.log
        if log is None:
            return
        walk = self._walked(segment, log)
        if (most := walk.fewer_above) is not None:
            walk = self._walked(segment, log, most=most)
        self.damaged += walk.damaged
        self.removed_below = max(self.removed_below, walk.removed_below)
        self.proven_below = max(self.proven_below, walk.proven_below)
        self.leaps |= {(log.name, position): span for position, span in walk.leaps.items()}
        self.epoch = max([self.epoch, *(run.epoch for run in walk.runs if run.batches > 1)])
        self.runs += walk.runs

    def _walked(self, segment: LogSegment, log: FileEntry, *, most: int = INT_MAX) -> Walk:
        base, following = segment.base_offset, segment.next_base_offset
        walk = Walk(
            log.name, base, following, lambda batch: _first_inside(log, batch),
            lambda: max(self.epoch, self._before()), most, self._lines, self._lonely,
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


def _first_inside(log: FileEntry, batch: RecordBatch) -> int | None:
    """The offset of the first message of a compressed wrapper; None if that cannot be read."""
    try:
        with log.reader() as reader:
            data = reader.read(min(batch.size, DECODE_LIMIT), batch.position)
    except Unreadable:
        return None
    return legacy.base_offset(data, batch, limit=DECODE_LIMIT)


class Walk:
    """Batches of one file put into runs; each is held back until the next one shows whether it fits."""

    def __init__(
        self,
        file: str,
        base: int,
        next_base: int | None,
        inside: Callable[[RecordBatch], int | None] = lambda batch: batch.last_offset,
        before: Callable[[], int] = lambda: NO_EPOCH,
        most: int = INT_MAX,
        lines: Lines = (),
        lonely: int = LONELY,
    ) -> None:
        """`before` gives the epoch of the file before; no batch with one above `most` is believed.

        `lines` are those of leader-epoch-checkpoint. More than `lonely` gaps are compaction."""
        self._starts = dict(lines)
        self.runs: list[Run] = []
        self.damaged: list[Damaged] = []
        self.removed_below = self.proven_below = 0
        self._lonely, self._alone, self._few = 0, False, lonely
        self._disputed = False
        """Of the batch held back and the one before it both could not be right: it is a run of its own."""
        self.leaps: dict[int, tuple[int, int | None]] = {}
        """Batches, by position, that leave offsets out without a batch beside them that agrees, and the
        offsets that may be theirs: compaction leaves such gaps, and so does one bit, for no checksum covers
        a base offset. It is the last one of a file, before which offsets are left out; or one behind damage,
        after which they are."""
        self._file, self._base, self._next_base = file, base, next_base
        self._inside = inside
        self._last, self._epoch, self._before, self._most = base - 1, NO_EPOCH, before, most
        self._gone_back: Counter[int] = Counter()
        """How many batches had to be doubted because their epoch is older than one before, by epoch."""
        self._held: RecordBatch | None = None
        self._open: OpenRun | None = None
        self._due: int | None = None
        """Where the run that is open may have begun, if damage before it leaves that to its first batch."""
        self._unsound: list[tuple[int, int, str, int | None]] = []

    def take(self, row: Row) -> None:
        """The next batch of the file."""
        batch = row.batch
        if not row.sound:
            self._doubt(batch, "crc-mismatch")
        elif (why := batch.beyond_reading) is not None:
            self._doubt(batch, why)  # no consumer reads it, nor what is behind
        elif not self._possible(batch):
            self._gone_back[batch.partition_leader_epoch] += (
                batch.magic >= 2 and batch.base_offset > self._last
            )
            self._doubt(batch, "misplaced")
        elif self._held is None or self._follows(self._held, batch):
            self._accept(behind=batch.base_offset)
            self._held = batch
        elif self._is_odd_one(self._held, batch):
            self._doubt(self._held, "misplaced")
            self._held, self._disputed = batch, True
        else:
            self._doubt(batch, "misplaced")

    def follow(self, rows: bytes, at: int) -> int:
        """Of the next batches (rows from byte `at`) those that go on as the run does; gives how many.

        As if `take` got one after the other: only quicker, for nearly all batches are such.
        """
        held, run = self._held, self._open
        if (
            held is None
            or run is None
            or self._alone
            or held.magic < 2
            or (held.position, held.partition_leader_epoch) != (run.end, run.epoch)
            or held.base_offset != self._last + 1
            or held.base_offset == self._starts.get(run.epoch)
            or held.records_count != held.last_offset - self._last
            or held.has_delete_horizon
        ):
            return 0
        count, self._held = run.follow(held, rows, at, self._next_base)
        if count:
            self._last = self._held.base_offset - 1
        return count

    def _possible(self, batch: RecordBatch) -> bool:
        before_next = self._next_base is None or batch.last_offset < self._next_base
        return (
            batch.base_offset > self._last
            and batch.last_offset >= batch.base_offset
            and before_next
            and (self._epoch <= batch.partition_leader_epoch <= self._most or batch.magic < 2)
        )

    @property
    def fewer_above(self) -> int | None:
        """The epoch above which a few batches made more others doubtful; None if none did.

        Epochs never go back: where some flipped side by side, the many that follow are right.
        """
        most = max(+self._gone_back, default=None)
        if most is None:
            return None
        above = [run for run in self.runs if run.epoch > most]
        count = sum(run.batches for run in above)
        # Each alone, and none of them in the checkpoint beside it, which does have what came behind.
        strange = most in self._starts and all(
            run.batches == 1 and run.epoch not in self._starts for run in above
        )
        return most if 0 < count <= LONELY and (strange or count < self._gone_back.total()) else None

    @staticmethod
    def _follows(before: RecordBatch, batch: RecordBatch) -> bool:
        later = batch.partition_leader_epoch >= before.partition_leader_epoch or batch.magic < 2
        return batch.base_offset > before.last_offset and later

    def _is_odd_one(self, held: RecordBatch, batch: RecordBatch) -> bool:
        """Of two that cannot both be right: whether it is the earlier one."""
        if batch.base_offset <= held.last_offset:
            return held.base_offset != self._last + 1
        return batch.partition_leader_epoch >= max(self._epoch, self._before())

    def _doubt(self, batch: RecordBatch, kind: str) -> None:
        claimed = batch.last_offset if kind != "misplaced" else None
        self._unsound.append((batch.position, batch.end, kind, claimed))

    def _accept(self, *, last: bool = False, behind: int | None = None) -> None:
        batch, self._held = self._held, None
        if batch is None:
            return
        first = batch.base_offset
        if batch.magic < 2 and batch.codec:  # a wrapper tells its last offset only
            first = min(self._first_of(batch), batch.last_offset)
        epoch = batch.partition_leader_epoch
        span = batch.last_offset - first + 1
        # A cleaner took records of it, or wrote into it when its tombstones may go.
        if batch.magic >= 2 and (batch.records_count < span or batch.has_delete_horizon):
            self.removed_below = self.proven_below = batch.last_offset + 1
        run = self._open
        alone = self._alone
        self._alone = (
            behind is not None and behind > batch.last_offset + 1 and self._lonely < self._few
            and not self.proven_below
        )  # fmt: skip
        self._lonely += self._alone
        self._alone, self._disputed = self._alone or self._disputed, False
        # What is before the line of its epoch may have flipped: it is a run of its own.
        goes_on = run is not None and run.end == batch.position and run.epoch == epoch
        if run is None or not goes_on or first == self._starts.get(epoch):
            anchored = batch.position == (run.end if run else 0)
            run = self._begun(batch, first, None if anchored else self._last + 1)
        elif first > self._last + 1 and last and batch.last_offset + 1 != self._next_base:
            ends = None if self._next_base is None else self._next_base - 1
            self.leaps[batch.position] = self._last + 1, ends
            run = self._begun(batch, first, None)
        elif first > self._last + 1 and self._due is not None and not run.goes_on:
            self.leaps[run.start] = self._due, first - 1
            run = self._begun(batch, first, None)
        else:
            if first > self._last + 1:
                self.removed_below = max(self.removed_below, first)
                if not alone:
                    self.proven_below = max(self.proven_below, first)
            if alone or self._alone:
                run = self._begun(batch, first, None)
        run.add(batch, first, batch.records_count if batch.magic >= 2 else span)
        self._last, self._epoch = batch.last_offset, max(epoch, self._epoch)

    def _begun(self, batch: RecordBatch, first: int, due: int | None) -> OpenRun:
        self._close()
        self._due = due
        self._open = OpenRun(first, batch.partition_leader_epoch, batch.position, batch.magic)
        return self._open

    def _first_of(self, batch: RecordBatch) -> int:
        """As its messages say; where they cannot be read it goes on behind the batch before."""
        inner = self._inside(batch)
        return self._last + 1 if inner is None else max(inner, self._last + 1)

    def _close(self) -> None:
        if self._open is not None:
            self.runs.append(self._open.run(self._file, self._base))
            self._open = None

    def give_up(self, last: int | None, size: int) -> None:
        """The system refused the rest."""
        self._accept()
        at = self._open.end if self._open else 0
        self.damaged.append(_damage(self._last + 1, last, self._file, at, max(size, at), "unreadable"))

    def finish(self, problems: list[Problem], size: int) -> None:
        """The end of the file: name the damage in it, between the sound batches beside it."""
        self._accept(last=True)
        self._close()
        damages = [*self._unsound, *(_located(each, size) for each in problems)]
        ends = [run.end_position for run in self.runs]
        for position, end, kind, claimed in sorted(damages):
            at = bisect_right(ends, position)
            first = self.runs[at - 1].last_offset + 1 if at else self._base
            last: int | None = None
            if at < len(self.runs):
                last = self.runs[at].first_offset - 1
            elif self._next_base is not None:
                last = self._next_base - 1
            elif kind in _QUIET:
                continue
            elif claimed is not None and first <= claimed < first + (1 << 24):
                last = claimed
            self.damaged.append(_damage(first, last, self._file, position, end, kind))


def _located(problem: Problem, size: int) -> tuple[int, int, str, int | None]:
    end = size if problem.kind in TAIL_KINDS else problem.end
    return problem.position, end, problem.kind, None


def _damage(first: int, last: int | None, file: str, position: int, end: int, kind: str) -> Damaged:
    return Damaged(first_offset=first, last_offset=last, file=file, position=position, end=end, kind=kind)


def _gaps(
    damaged: list[Damaged], runs: tuple[Run, ...], partition: PartitionDir
) -> Iterator[tuple[int, int, str]]:
    """Offsets between two files of which there is no byte, and the file before."""
    told = {(each.first_offset, each.last_offset) for each in damaged}
    ends: dict[int, int] = {}
    for run in runs:
        ends[run.segment] = run.last_offset
    for segment in partition.segments:
        following = segment.next_base_offset
        first = ends.get(segment.base_offset, segment.base_offset - 1) + 1
        if following is not None and first < following and (first, following - 1) not in told:
            yield first, following - 1, segment.name


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
        yield _damage(begun, bases[0] - 1, f"{file_prefix(bases[0])}.log", 0, 0, "missing")


def _being_deleted(partition: PartitionDir, start: int) -> bool:
    """Whether its broker deletes the log from there on: it moves that line up, on the disk, later (3.8+)."""
    first = partition.base_offsets[0]
    named = (parse_file_name(name) for name in partition.layout.deleted if name.endswith(".log.deleted"))
    deleted = any(each.base_offset is not None and start <= each.base_offset < first for each in named)
    return deleted or bool(partition.log_dir.broker_running())
