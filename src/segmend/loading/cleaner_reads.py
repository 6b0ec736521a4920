"""What the log cleaner reads of a log, and the first batch over which it throws.

Follows `Cleaner.buildOffsetMap`, `Cleaner.cleanInto` and, for the first batch of each dirty segment,
`LogCleanerManager.maxCompactionDelay`. A log over which it throws is set aside: it cleans it no more, and
deletes nothing of it by retention (`LogCleanerManager.deletableLogs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.cleaner import STATS_READ, Cleanable, CleanerView, first_dirty
from segmend.formats import txn_index
from segmend.formats.batch import HEADER_SIZE_UP_TO_MAGIC, MIN_SIZE, PREFIX, RecordBatch
from segmend.formats.damage import Damage
from segmend.formats.names import file_prefix
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


@frozen
class Spoiled:
    """A batch over which the cleaner throws: `reason` in segmend's words."""

    file: str
    position: int
    offset: int
    reason: str


@dataclass(slots=True, kw_only=True)
class ReadBatch:
    """One batch and its records; those of control batches are not taken apart."""

    segment: Segment
    batch: RecordBatch
    records: list[Record]
    aborted: bool


def stats_fault(
    loaded: LoadedLog, log_start: int, log_end: int, checkpoint: int | None, release: Release
) -> Spoiled | None:
    """The first dirty segment whose first batch has no size, which is read before anything is cleaned."""
    if not STATS_READ.of(release):
        return None
    segments = loaded.state.segments
    view = CleanerView(
        segments=[Cleanable(base_offset=s.base_offset, size=s.size, largest_timestamp=0) for s in segments],
        log_start=log_start, log_end=log_end, high_watermark=log_end, checkpoint=checkpoint,
    )  # fmt: skip
    dirty = {each.base_offset for each in view.sealed_from(first_dirty(view, release)[0])}
    faults = (first_batch_fault(each) for each in segments if each.base_offset in dirty)
    return next((fault for fault in faults if fault is not None), None)


def thrown_over(loaded: LoadedLog) -> Spoiled | None:
    """What a cleaning of all but the active segment would throw over, of a log that is not large."""
    sealed = loaded.state.segments[:-1]
    if sum(each.size for each in sealed) > READ_AT_MOST:
        return None
    reading = CleanerReading(loaded, sealed)
    for _ in reading.whole():
        pass
    return reading.spoiled


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


class CleanerReading:
    """Reads batches; the first one that cannot be read is `spoiled`."""

    def __init__(self, loaded: LoadedLog, segments: Sequence[Segment]) -> None:
        self.segments = segments
        self.spoiled: Spoiled | None = None
        self.bytes = 0
        self._aborted = list(_aborted(loaded))
        self._last = {each.last_offset for each in loaded.state.states.values()}

    def whole(self) -> Iterator[ReadBatch]:
        for segment in self.segments:
            yield from self._batches(segment, 0, segment.size)
            if self.spoiled is not None:
                return

    def stretches(self, of: int) -> Iterator[ReadBatch]:
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

    def _batches(self, segment: Segment, start: int, stop: int) -> Iterator[ReadBatch]:
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
                yield ReadBatch(segment=segment, batch=batch, records=records, aborted=aborted)
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


def _aborted(loaded: LoadedLog) -> Iterator[txn_index.AbortedTxn]:
    """The rows of all transaction indexes."""
    for segment in loaded.state.segments:
        file = loaded.state.file(f"{file_prefix(segment.base_offset)}{txn_index.SUFFIX}")
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
