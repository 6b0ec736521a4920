"""One segment as the load leaves it, and where a broker thinks that it ends.

The bytes stay on disk; a segment knows how many of them are left. Follows
`LogSegment.readNextOffset`, `LogSegment.translateOffset` and `AbstractIndex.indexSlotRangeFor`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from struct import Struct
from typing import Final

from segmend.broker.failures import NOT_A_NUMBER, fatal
from segmend.broker.recovery import TOO_SMALL, size_wraps
from segmend.broker.search import SEARCH, Search
from segmend.broker.serving import UNKNOWN_CODEC
from segmend.formats import legacy
from segmend.formats.batch import HEADER_SIZE_V2, LOG_OVERHEAD, MAX_CODEC, PREFIX, RecordBatch, read_header
from segmend.formats.java_number import parse_long, wrap_int, wrap_long
from segmend.formats.names import file_prefix
from segmend.formats.offset_index import ENTRY_SIZE
from segmend.formats.txn_index import AbortedTxn
from segmend.frozen import dataclass, frozen
from segmend.kernel.scan import ScanTask, iter_batches, next_offset_from, scan_log
from segmend.kernel.types import DECODE_LIMIT, Reader, SegmentScan
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release
from segmend.logdir.replaced import Log, not_in_swaps, records_of
from segmend.logdir.scans import plain_scan
from segmend.logdir.second_looks import look_again

_ENTRY = Struct(">ii")
_WARM: Final = 1024
"""Entries at the end of an index that are searched first (KAFKA-6432)."""
INVISIBLE: Final = 17
"""Bytes at the end of a log that are too few for a header, so that no broker looks at them."""


class Prefix:
    """The first `size` bytes of a file, as a `Reader`."""

    __slots__ = ("_reader", "size")

    def __init__(self, reader: Reader, size: int) -> None:
        self._reader = reader
        self.size = min(size, reader.size)

    def read_into(self, buffer: memoryview, position: int) -> int:
        """As the file's own, ending early."""
        return self._reader.read_into(buffer[: max(self.size - position, 0)], position)

    def extents(self) -> Iterator[tuple[int, int]]:
        """Of the part."""
        return ((start, min(end, self.size)) for start, end in self._reader.extents())


@dataclass(slots=True, kw_only=True)
class Segment:
    """`log` is None for one the broker creates. `size` is what is left of it in bytes.

    `index` is the offset index on disk; None if there is none, or it was rebuilt. `next_offset`
    is set once the load has walked the segment (recovery does), `sure` if it found nothing wrong,
    `in_order` if what is left was, `newest` being its largest timestamp. `aborted` are the rows of the
    index of aborted transactions that a recovery writes. `end_on_disk` is the
    offset after all that was there before.
    """

    base_offset: int
    log: FileEntry | None
    size: int
    index: FileEntry | None = None
    next_offset: int | None = None
    recovered: bool = False
    sure: bool = False
    in_order: bool = False
    newest: int | None = None
    aborted: tuple[AbortedTxn, ...] = ()
    end_on_disk: int | None = None

    @property
    def name(self) -> str:
        return f"{file_prefix(self.base_offset)}.log"


def segment_of(log: FileEntry | None, base: int, index: FileEntry | None = None) -> Segment:
    """One as it is on disk."""
    return Segment(base_offset=base, log=log, size=log.size if log else 0, index=index)


@frozen
class End:
    """Where `readNextOffset` ended. `sure` if all bytes to the end are batches in order."""

    next_offset: int
    position: int
    sure: bool
    found: bool


class _Index:
    """Entries of an offset index, read as they are asked for; the end of it at once."""

    def __init__(self, entry: FileEntry | None) -> None:
        self._reader = None if entry is None else entry.reader()
        self.count = 0 if self._reader is None else self._reader.size // ENTRY_SIZE
        self._first = max(self.count - _WARM - 1, 0)
        size = (self.count - self._first) * ENTRY_SIZE
        self._warm = self._reader.read(size, self._first * ENTRY_SIZE) if self._reader else b""

    def entry(self, row: int) -> tuple[int, int]:
        """(relative offset, position)."""
        at = (row - self._first) * ENTRY_SIZE
        if at >= 0:
            data = self._warm[at : at + ENTRY_SIZE]
        else:
            data = self._reader.read(ENTRY_SIZE, row * ENTRY_SIZE) if self._reader else b""
        return _ENTRY.unpack(data) if len(data) == ENTRY_SIZE else (0, 0)

    def lookup(self, relative: int) -> int:
        """`OffsetIndex.lookup`: the position of the largest entry not above, by the broker's own search."""
        if self.count == 0:
            return 0
        first_hot = max(0, self.count - 1 - _WARM)
        if self.entry(first_hot)[0] < relative:
            return self.entry(self._search(relative, first_hot, self.count - 1))[1]
        if self.entry(0)[0] > relative:
            return 0
        return self.entry(self._search(relative, 0, first_hot))[1]

    def _search(self, relative: int, low: int, high: int) -> int:
        while low < high:
            middle = (low + high + 1) // 2
            middle_one = self.entry(middle)[0]
            if middle_one == relative:
                return middle
            low, high = (low, middle - 1) if middle_one > relative else (middle, high)
        return low

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()


def offset_of(name: str) -> int:
    """`LocalLog.offsetFromFile`; raises `LoadFailure` for a name that begins with no number."""
    text = name.partition(".")[0]
    offset = parse_long(text)
    if offset is None:
        raise fatal("NumberFormatException", NOT_A_NUMBER.format(text), name)
    return offset


def position_of(segment: Segment, offset: int) -> int:
    """Where a broker begins to look for an offset: the position its index names, 0 without one."""
    with closing(_Index(segment.index)) as index:
        return max(index.lookup(offset - segment.base_offset), 0)


def end_of(segment: Segment, release: Release) -> End:
    """`LogSegment.readNextOffset`; raises `LoadFailure` where it throws."""
    if segment.next_offset is not None or segment.log is None:
        known = segment.base_offset if segment.next_offset is None else segment.next_offset
        return End(next_offset=known, position=segment.size, sure=True, found=True)
    with closing(_Index(segment.index)) as index:
        relative = index.entry(index.count - 1)[0] if index.count else 0
        start = max(index.lookup(relative), 0)
    with look_again(segment.log) as reader:
        return _walk(segment, Prefix(reader, segment.size), start, segment.base_offset + relative, release)


def _walk(segment: Segment, reader: Prefix, start: int, target: int, release: Release) -> End:
    next_offset, position, highest = segment.base_offset, start, -1
    sure, by_last, by_base, is_last = True, False, False, False
    for batch in iter_batches(reader, start=start) if start < reader.size else ():
        is_last = batch.last_offset >= target
        by_last = by_last or is_last
        if not by_base and (_says_first(batch) or SEARCH.of(release) == Search.BASE_OFFSET):
            by_base = first_in(batch, reader) >= target
        if position == start and not segment.base_offset <= batch.base_offset <= max(target, 0):
            sure = start == 0
        next_offset, position = wrap_long(batch.last_offset + 1), batch.end
        sure = sure and batch.last_offset > highest
        highest = max(highest, batch.last_offset)
    check_end(segment, reader, position, release)
    by_base = by_base or is_last
    # The release is asked only where it makes a difference: then it need not be known elsewhere.
    reached = by_base if by_base != by_last and SEARCH.of(release) == Search.BASE_OFFSET else by_last
    whole = reached or (start == 0 and position == start)
    return End(
        next_offset=next_offset if reached else segment.base_offset,
        position=position,
        sure=sure and whole and position == reader.size,
        found=reached,
    )


def searched(reader: Prefix, start: int, how: Search) -> Iterator[RecordBatch]:
    """The batches at which a search looks; raises `LoadFailure` where it throws over one."""
    for batch in iter_batches(reader, start=start) if start < reader.size else ():
        if how == Search.BASE_OFFSET:
            first_in(batch, reader)
        yield batch


def first_in(batch: RecordBatch, reader: Prefix) -> int:
    """`RecordBatch.baseOffset`: a compressed one of magic 0 or 1, or below, is decompressed for it.

    Raises `LoadFailure` for one that cannot be: the load catches none of what is thrown then.
    """
    if _says_first(batch):
        return batch.base_offset
    data = bytearray(batch.size)
    got = reader.read_into(memoryview(data), batch.position)
    offset = legacy.base_offset(bytes(data[:got]), batch, limit=DECODE_LIMIT)
    if offset is None:
        unknown = UNKNOWN_CODEC.format(batch.codec)
        says = unknown if batch.codec > MAX_CODEC else f"no first record in the batch at {batch.position}"
        raise fatal("RuntimeException", says)
    return offset


def _says_first(batch: RecordBatch) -> bool:
    """Whether the header tells the offset of the first record."""
    return batch.magic >= 2 or batch.codec == 0


def check_end(segment: Segment, reader: Prefix, position: int, release: Release) -> None:
    """Raise what `FileLogInputStream` throws where the batches end at `position`."""
    if reader.size - position <= INVISIBLE:
        return
    check_size(segment, reader, position, release)
    end = next_offset_from(reader, position, segment.base_offset)
    if end.failure == "size-too-small":
        words = TOO_SMALL.of(release).format(size=end.found_size, file=segment.name)
        raise fatal("CorruptRecordException", words, segment.name)
    if end.failure is not None:
        raise fatal(
            "KafkaException", f"Failed to load record batch at position {end.position} from {segment.name}",
            segment.name,
        )  # fmt: skip


def check_size(segment: Segment, reader: Prefix, position: int, release: Release) -> None:
    """Raise what old releases throw over a size field near 2^31."""
    head = bytearray(PREFIX.size)
    if reader.read_into(memoryview(head), position) < PREFIX.size:
        return
    size = PREFIX.unpack(head)[1]
    if size_wraps(release, position, size):
        words = f"capacity < 0: ({wrap_int(size + LOG_OVERHEAD)} < 0)"
        raise fatal("IllegalArgumentException", words, segment.name)


def scan_from(segment: Segment, log: FileEntry, start: int) -> SegmentScan:
    """The scan of what is left of a segment from byte `start`, checksums not looked at."""
    if start == 0 and segment.size == log.stat().size:
        return plain_scan(log, base_offset=segment.base_offset)
    with look_again(log) as reader:
        prefix = Prefix(reader, segment.size)
        return scan_log(prefix, ScanTask(base_offset=segment.base_offset, start=start, crc=False))


_FEW_BYTES: Final = 16 << 10
"""Behind the last entry of an index: sound headers of a few batches are read before a scan has begun."""


@frozen
class Lost:
    """Records that go: their number (without control records), bytes, and times in ms."""

    records: int = 0
    bytes: int = 0
    first_timestamp: int = -1
    last_timestamp: int = -1

    def __add__(self, other: Lost) -> Lost:
        stamps = [t for t in (self.first_timestamp, other.first_timestamp) if t >= 0]
        return Lost(
            records=self.records + other.records,
            bytes=self.bytes + other.bytes,
            first_timestamp=min(stamps, default=-1),
            last_timestamp=max(self.last_timestamp, other.last_timestamp),
        )


def lost_from(segment: Segment, start: int) -> Lost:
    """What goes when the log is cut at byte `start`."""
    return Lost() if segment.log is None else lost_in(segment, scan_from(segment, segment.log, start))


def newest_from(segment: Segment, start: int) -> int:
    """The largest timestamp of what is left from byte `start` (ms; -1 without any)."""
    newest = newest_of_few(segment, start)
    return lost_from(segment, start).last_timestamp if newest is None else newest


def newest_of_few(segment: Segment, start: int = 0) -> int | None:
    """The same of a few sound batches, whose headers alone are looked at; None of others."""
    log, size = segment.log, segment.size - start
    if log is None or size > _FEW_BYTES or segment.size != log.size:
        return None
    return _newest_in(log.last_bytes(size), segment.base_offset)


def _newest_in(data: bytes, base_offset: int) -> int | None:
    """The largest timestamp of batches of magic 2 that lie one behind the other, their offsets rising.

    None of other bytes, and of none.
    """
    at, newest, last = 0, None, base_offset - 1
    while at + HEADER_SIZE_V2 <= len(data):
        batch = read_header(data, at, at)
        if batch.magic != 2 or batch.size < HEADER_SIZE_V2 or batch.base_offset <= last:
            return None
        last, at = batch.base_offset, batch.end
        newest = max(-1 if newest is None else newest, batch.max_timestamp)
    return newest if at == len(data) else None


def lost_in(segment: Segment, scan: SegmentScan) -> Lost:
    """What was scanned goes, to the end of the segment."""
    return Lost(
        records=max(scan.records - scan.control.control_batches, 0),
        bytes=max(segment.size - scan.start, 0),
        first_timestamp=scan.min_timestamp,
        last_timestamp=scan.max_timestamp,
    )


def replaced(
    swaps: Sequence[Segment], originals: Sequence[Segment], gone: Sequence[Segment]
) -> dict[int, Lost]:
    """What goes where swap files take the place of the segments `gone`, by base offset."""
    lost: dict[int, Lost] = {}
    files = [Log(each.base_offset, each.log, each.log.size if each.log else 0) for each in swaps]
    logs, left = ([Log(each.base_offset, each.log, each.size) for each in some] for some in (originals, gone))
    for log, batch in not_in_swaps(files, logs, left):
        lost[log.base_offset] = lost.get(log.base_offset, Lost()) + Lost(
            records=records_of(batch),
            bytes=batch.size,
            first_timestamp=batch.max_timestamp if batch.has_delete_horizon else batch.base_timestamp,
            last_timestamp=batch.max_timestamp,
        )
    return lost


def start_of_offset(segment: Segment, offset: int) -> int:
    """The position of the first batch that ends at or after `offset`, by a walk from the beginning."""
    if segment.log is None:
        return 0
    with look_again(segment.log) as reader:
        return _start_of_offset(segment, reader, offset)


def _start_of_offset(segment: Segment, reader: Reader, offset: int) -> int:
    position = 0
    for batch in iter_batches(Prefix(reader, segment.size), resync=True, base_offset=segment.base_offset):
        if batch.last_offset >= offset:
            return batch.position
        position = batch.end
    return position


def true_end(segment: Segment, end: End | None) -> int:
    """The offset after the last batch that can be found on disk, whatever the index says."""
    if segment.log is None:
        return segment.base_offset
    if end is not None and end.sure:
        return end.next_offset
    return end_in(scan_from(segment, segment.log, 0))


def end_in(scan: SegmentScan) -> int:
    """The offset after all batches that were found."""
    if scan.last_offset is None:
        return scan.base_offset
    if "offset-overflow" in dict(scan.problem_counts):
        return scan.next_offset
    return max(scan.next_offset, scan.last_offset + 1)
