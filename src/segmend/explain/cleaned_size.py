"""What a cleaning leaves of a log, by its keys: computed where all is read, estimated where it is not.

Follows `Cleaner.buildOffsetMap`, `Cleaner.cleanInto` and `MemoryRecords.filterTo`. Reads are bounded: of a
large log, stretches that lie evenly over it are read, and how many keys the rest has is estimated from how
often those that were seen came again (Chao's estimator of how many there are, of which the rest has a share).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp

from segmend.broker.cleaner import FAST_FORWARD, HORIZON_IN_BATCHES, CleanerVerdict
from segmend.formats import txn_index
from segmend.formats.batch import HEADER_SIZE_UP_TO_MAGIC, HEADER_SIZE_V2, MIN_SIZE, PREFIX, RecordBatch
from segmend.formats.damage import Damage
from segmend.formats.offset_index import ENTRY_SIZE
from segmend.formats.record import Record, decode
from segmend.frozen import dataclass, frozen
from segmend.kernel.scan import iter_batches
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Segment
from segmend.logdir.release import Release

READ_AT_MOST = 4 << 20
"""Bytes of one partition that are read."""
STRETCHES = 32
_HORIZON = 1 << 6


@frozen
class Spoiled:
    """A batch over which the cleaner throws: `reason` in segmend's words."""

    file: str
    position: int
    offset: int
    reason: str


@frozen
class CleanedSize:
    """Bytes of the log after it was cleaned: `bytes`, and between `low` and `high` where it is an estimate.

    `read` of `of` bytes were read, with so many `records` and `keys`. `to` is the first offset that is not
    clean then, None if it is not known; `full` says that the offset map was full before all was in it.
    `rewritten` bytes are left of what is rewritten, and their last record is in front of offset `end`.
    """

    bytes: int
    low: int
    high: int
    read: int
    of: int
    records: int
    keys: int
    keyless: int
    to: int | None = None
    full: bool = False
    rewritten: int = 0
    end: int | None = None
    spoiled: Spoiled | None = None

    @property
    def exact(self) -> bool:
        """Whether all was read."""
        return self.read >= self.of


@frozen
class Work:
    """What a cleaning goes by; its map takes `slots` keys."""

    verdict: CleanerVerdict
    release: Release
    now_ms: int
    slots: int
    delete_retention_ms: int


@dataclass(slots=True, kw_only=True)
class _Read:
    """One batch and its records; those of control batches are not taken apart."""

    segment: Segment
    batch: RecordBatch
    records: list[Record]
    aborted: bool


def cleaned_size(loaded: LoadedLog, work: Work) -> CleanedSize:
    """Read what the cleaning would read, as far as `READ_AT_MOST` goes."""
    segments = [each for each in loaded.state.segments if each.base_offset < work.verdict.stop]
    of = sum(each.size for each in segments)
    reading = _Reading(loaded, segments)
    if of <= READ_AT_MOST:
        batches = list(reading.whole())
        return _exact(loaded, work, reading, batches, of)
    return _estimated(loaded, work, reading, list(reading.stretches(of)), of)


class _Reading:
    """Reads batches; the first one that cannot be read is `spoiled`."""

    def __init__(self, loaded: LoadedLog, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self.spoiled: Spoiled | None = None
        self.bytes = 0
        self._aborted = list(_aborted(loaded))
        self._last = {each.last_offset for each in loaded.state.states.values()}

    def whole(self) -> Iterator[_Read]:
        """All of them."""
        for segment in self.segments:
            yield from self._batches(segment, 0, segment.size)
            if self.spoiled is not None:
                return

    def stretches(self, of: int) -> Iterator[_Read]:
        """Some that lie evenly over all bytes."""
        length, ends, begin = READ_AT_MOST // STRETCHES, [], 0
        for segment in self.segments:
            ends.append((begin, segment))
            begin += segment.size
        done: tuple[int, int] = (-1, 0)
        for number in range(STRETCHES):
            wanted = number * of // STRETCHES
            at, segment = max((pair for pair in ends if pair[0] <= wanted), key=lambda pair: pair[0])
            start = _boundary(segment, wanted - at)
            if done[0] == at:
                start = max(start, done[1])
            for each in self._batches(segment, start, min(start + length, segment.size)):
                done = at, each.batch.end
                yield each

    def _batches(self, segment: Segment, start: int, stop: int) -> Iterator[_Read]:
        if segment.log is None or start >= stop:
            return
        at = start
        with segment.log.reader() as reader:
            for batch in iter_batches(reader, start=start, stop=stop, base_offset=segment.base_offset):
                at = batch.end
                self.bytes += batch.size
                data = reader.read(batch.size, batch.position)
                aborted = self._is_aborted(batch)
                read = not aborted or batch.last_offset in self._last
                records, damages = decode(data, batch) if read else ([], ())
                records = [] if batch.is_control else records
                if batch.magic > 2 or damages:
                    self._spoil(segment, batch, damages)
                    return
                yield _Read(segment=segment, batch=batch, records=records, aborted=aborted)
        if at < stop and start == 0:
            reason = "no whole batch begins here"
            place = Spoiled(file=segment.name, position=at, offset=segment.base_offset, reason=reason)
            self.spoiled = self.spoiled or place

    def _spoil(self, segment: Segment, batch: RecordBatch, damages: Sequence[Damage]) -> None:
        reason = damages[0].reason if damages else f"magic {batch.magic}"
        place = Spoiled(file=segment.name, position=batch.position, offset=batch.base_offset, reason=reason)
        self.spoiled = self.spoiled or place

    def _is_aborted(self, batch: RecordBatch) -> bool:
        if not batch.is_transactional or batch.is_control:
            return False
        return any(
            row.producer_id == batch.producer_id and row.first_offset <= batch.base_offset <= row.last_offset
            for row in self._aborted
        )


def first_batch_fault(segment: Segment) -> Spoiled | None:
    """What `FileLogInputStream.nextBatch` throws over in the first header of a segment."""
    if segment.log is None or segment.size < HEADER_SIZE_UP_TO_MAGIC:
        return None
    with segment.log.reader() as reader:
        _, size, _, _ = PREFIX.unpack(reader.read(PREFIX.size, 0))
    if size >= MIN_SIZE:
        return None
    reason = f"Record size {size} is less than the minimum record overhead ({MIN_SIZE})"
    return Spoiled(file=segment.name, position=0, offset=segment.base_offset, reason=reason)


def _aborted(loaded: LoadedLog) -> Iterator[txn_index.AbortedTxn]:
    """The rows of all transaction indexes."""
    for segment in loaded.state.segments:
        file = loaded.state.file(f"{segment.base_offset:020d}{txn_index.SUFFIX}")
        if file is not None:
            with file.reader() as reader:
                yield from txn_index.parse(reader.read(min(reader.size, READ_AT_MOST), 0))[0].entries


def _boundary(segment: Segment, wanted: int) -> int:
    """The last position that the index names at or below one: a batch begins there."""
    if segment.index is None:
        return 0
    with segment.index.reader() as reader:
        low, high = 0, reader.size // ENTRY_SIZE
        while low < high:
            middle = (low + high) // 2
            at = int.from_bytes(reader.read(4, middle * ENTRY_SIZE + 4), "big")
            low, high = (middle + 1, high) if 0 < at <= wanted else (low, middle)
        return int.from_bytes(reader.read(4, (low - 1) * ENTRY_SIZE + 4), "big") if low else 0


def _exact(
    loaded: LoadedLog, work: Work, reading: _Reading, batches: Sequence[_Read], of: int
) -> CleanedSize:
    offsets = _OffsetMap(work)
    for segment in (each for each in reading.segments if each.base_offset >= _floor(reading, work)):
        offsets.add([each for each in batches if each.segment is segment], _next_base(loaded, segment))
        if offsets.full:
            break
    to = offsets.latest + 1
    left = _Left(loaded, work, offsets)
    kept = sum(left.of(each) for each in batches if each.segment.base_offset < to)
    untouched = sum(each.size for each in loaded.state.segments if each.base_offset >= to)
    size = kept + untouched
    return CleanedSize(
        bytes=size, low=size, high=size, read=of if reading.spoiled is None else reading.bytes, of=of,
        records=sum(len(each.records) for each in batches), keys=len(offsets.of), keyless=left.keyless,
        to=to if reading.spoiled is None else None, full=offsets.full, spoiled=reading.spoiled,
        rewritten=kept, end=max((each.batch.last_offset + 1 for each in batches), default=None),
    )  # fmt: skip


def _floor(reading: _Reading, work: Work) -> int:
    first = work.verdict.first_dirty
    return max((each.base_offset for each in reading.segments if each.base_offset <= first), default=0)


def _next_base(loaded: LoadedLog, segment: Segment) -> int:
    bases = [each.base_offset for each in loaded.state.segments]
    return bases[bases.index(segment.base_offset) + 1]


class _OffsetMap:
    """`SkimpyOffsetMap`, filled as `buildOffsetMapForSegment` does."""

    def __init__(self, work: Work) -> None:
        self.of: dict[bytes, int] = {}
        self.latest = -1
        self.full = False
        self._work = work

    def add(self, batches: Sequence[_Read], next_base: int) -> None:
        """The records of one segment; stops where the map is full."""
        first = self._work.verdict.first_dirty
        for each in batches:
            for record in () if each.aborted else each.records:
                if record.key is None or record.offset < first:
                    continue
                if len(self.of) >= self._work.slots:
                    self.full = True
                    return
                self.of[record.key] = self.latest = record.offset
            if each.batch.last_offset >= first:
                self.latest = each.batch.last_offset
        if FAST_FORWARD.of(self._work.release):
            self.latest = next_base - 1


class _Left:
    """What is left of batches."""

    def __init__(self, loaded: LoadedLog, work: Work, offsets: _OffsetMap) -> None:
        self.keyless = 0
        self._offsets = offsets
        self._work = work
        self._last = {each.last_offset for each in loaded.state.states.values()}
        clean = [s for s in loaded.state.segments if s.base_offset < work.verdict.first_dirty]
        self._horizon = _modified(clean[-1]) - work.delete_retention_ms if clean else 0

    def of(self, read: _Read) -> int:
        """Bytes of one batch that stay."""
        batch = read.batch
        if batch.is_control:
            return batch.size
        kept = [] if read.aborted else [each for each in read.records if self._stays(read, each)]
        if len(kept) == len(read.records) and kept:
            return batch.size
        if not kept:
            return HEADER_SIZE_V2 if batch.producer_id >= 0 and batch.last_offset in self._last else 0
        share = sum(each.size for each in kept) / max(sum(each.size for each in read.records), 1)
        head = HEADER_SIZE_V2 if batch.magic >= 2 else 0
        return head + round((batch.size - head) * share)

    def _stays(self, read: _Read, record: Record) -> bool:
        if record.offset > self._offsets.latest:
            return True
        if record.key is None:
            self.keyless += 1
            return False
        if record.offset < self._offsets.of.get(record.key, -1):
            return False
        return record.value is not None or self._keeps_tombstones(read)

    def _keeps_tombstones(self, read: _Read) -> bool:
        batch = read.batch
        if HORIZON_IN_BATCHES.of(self._work.release) and batch.magic >= 2:
            return not batch.attributes & _HORIZON or self._work.now_ms < batch.base_timestamp
        return _modified(read.segment) > self._horizon


def _modified(segment: Segment) -> int:
    return 0 if segment.log is None else segment.log.stat().mtime_ns // 1_000_000


def _estimated(
    loaded: LoadedLog, work: Work, reading: _Reading, batches: Sequence[_Read], of: int
) -> CleanedSize:
    read = max(reading.bytes, 1)
    times = Counter(r.key for each in batches if not each.aborted for r in each.records if r.key is not None)
    keyless = sum(r.key is None for each in batches for r in each.records)
    seen, once = sum(times.values()), sum(count == 1 for count in times.values())
    twice = sum(count == 2 for count in times.values())
    scale = max(of / read, 1.0)
    lost = sum(each.batch.size for each in batches if each.aborted) / read
    again = len(times) - once
    untouched = sum(each.size for each in loaded.state.segments if each.base_offset >= work.verdict.stop)
    sizes = []
    every = len(times) + once * (once - 1) / (2 * (twice + 1))
    likely = every * (1 - exp(-seen * scale / every)) if every else 0.0
    most = again + once * scale
    for keys in (len(times), min(max(likely, len(times)), most), most):
        share = min(keys / (seen * scale), 1.0) if seen else 1.0
        sizes.append(round(untouched + of * (1 - lost) * share))
    low, middle, high = sizes
    return CleanedSize(
        bytes=middle, low=low, high=high, read=read, of=of, keyless=keyless, spoiled=reading.spoiled,
        records=sum(len(each.records) for each in batches), keys=len(times),
        to=work.verdict.stop if work.verdict.stop - work.verdict.first_dirty < work.slots else None,
    )  # fmt: skip
