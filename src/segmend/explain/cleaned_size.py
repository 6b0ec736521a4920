"""What a cleaning leaves of a log, by its keys: computed where all is read, estimated where it is not.

Follows `Cleaner.buildOffsetMap`, `Cleaner.cleanInto` and `MemoryRecords.filterTo`. Reads are bounded: of a
large log, stretches that lie evenly over it are read, and how many keys the rest has is estimated from how
often those that were seen came again (Chao's estimator of how many there are, of which the rest has a share).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp

from segmend.broker.cleaner import FAST_FORWARD, HORIZON_IN_BATCHES, CleanerVerdict
from segmend.formats.batch import DELETE_HORIZON, HEADER_SIZE_V2
from segmend.formats.record import Record
from segmend.frozen import frozen
from segmend.loading.cleaner_reads import READ_AT_MOST, CleanerReading, ReadBatch, Spoiled
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Segment
from segmend.logdir.release import Release


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
        return self.read >= self.of


@frozen
class CleaningWork:
    """What a cleaning goes by; its map takes `slots` keys."""

    verdict: CleanerVerdict
    release: Release
    now_ms: int
    slots: int
    delete_retention_ms: int


def cleaned_size(loaded: LoadedLog, work: CleaningWork) -> CleanedSize:
    """Read what the cleaning would read, as far as `READ_AT_MOST` goes."""
    segments = [each for each in loaded.state.segments if each.base_offset < work.verdict.stop]
    of = sum(each.size for each in segments)
    reading = CleanerReading(loaded, segments)
    if of <= READ_AT_MOST:
        batches = list(reading.whole())
        return _exact(loaded, work, reading, batches, of)
    return _estimated(loaded, work, reading, list(reading.stretches(of)), of)


def _exact(
    loaded: LoadedLog, work: CleaningWork, reading: CleanerReading, batches: Sequence[ReadBatch], of: int
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


def _floor(reading: CleanerReading, work: CleaningWork) -> int:
    first = work.verdict.first_dirty
    return max((each.base_offset for each in reading.segments if each.base_offset <= first), default=0)


def _next_base(loaded: LoadedLog, segment: Segment) -> int:
    bases = [each.base_offset for each in loaded.state.segments]
    return bases[bases.index(segment.base_offset) + 1]


class _OffsetMap:
    """`SkimpyOffsetMap`, filled as `buildOffsetMapForSegment` does."""

    def __init__(self, work: CleaningWork) -> None:
        self.of: dict[bytes, int] = {}
        self.latest = -1
        self.full = False
        self._work = work

    def add(self, batches: Sequence[ReadBatch], next_base: int) -> None:
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
    def __init__(self, loaded: LoadedLog, work: CleaningWork, offsets: _OffsetMap) -> None:
        self.keyless = 0
        self._offsets = offsets
        self._work = work
        self._last = {each.last_offset for each in loaded.state.states.values()}
        clean = [s for s in loaded.state.segments if s.base_offset < work.verdict.first_dirty]
        self._horizon = _modified(clean[-1]) - work.delete_retention_ms if clean else 0

    def of(self, read: ReadBatch) -> int:
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

    def _stays(self, read: ReadBatch, record: Record) -> bool:
        if record.offset > self._offsets.latest:
            return True
        if record.key is None:
            self.keyless += 1
            return False
        if record.offset < self._offsets.of.get(record.key, -1):
            return False
        return record.value is not None or self._keeps_tombstones(read)

    def _keeps_tombstones(self, read: ReadBatch) -> bool:
        batch = read.batch
        if HORIZON_IN_BATCHES.of(self._work.release) and batch.magic >= 2:
            return not batch.attributes & DELETE_HORIZON or self._work.now_ms < batch.base_timestamp
        return _modified(read.segment) > self._horizon


def _modified(segment: Segment) -> int:
    return 0 if segment.log is None else segment.log.stat().mtime_ns // 1_000_000


def _estimated(
    loaded: LoadedLog, work: CleaningWork, reading: CleanerReading, batches: Sequence[ReadBatch], of: int
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
