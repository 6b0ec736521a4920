"""A byte range of one segment: the unit in which `batches` and `records` are read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from segmend.fleet.listing import Place
from segmend.fleet.pack import FILE_COST
from segmend.formats import offset_index
from segmend.formats.java_number import LONG_MAX
from segmend.formats.names import file_prefix
from segmend.frozen import frozen
from segmend.kernel.columns import WantedRecords
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import Reader
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.seek import end_of, is_older, position_by_time, position_of

INDEX_LIMIT = 64 << 20
_PROBE = 64 << 10


def cuts(size: int, index: bytes | None, target: int, *, start: int = 0) -> list[tuple[int, int]]:
    """The ranges (start, end) that cover bytes [start, size), each of about `target` bytes.

    One range when the segment is small enough, or when no index tells where to cut: each of its entries
    points at the first byte of a batch. It may be damaged: whoever reads a range looks at its ends first.
    """
    positions = offset_index.parse(index)[0].positions if index and size > target else ()
    points = [start]
    while points[-1] + target < size:
        at = bisect_left(positions, points[-1] + target)
        if at == len(positions) or not points[-1] < positions[at] < size:
            break
        points.append(positions[at])
    return list(zip(points, [*points[1:], size], strict=True))


@frozen
class WantedRange:
    """Offsets and times (ms) that are wanted of a partition, both ends included."""

    low: int = 0
    high: int = LONG_MAX
    since: int | None = None
    until: int | None = None

    def __and__(self, other: WantedRange) -> WantedRange:
        """What both want; the times are those of the first."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return WantedRange(low=low, high=high, since=self.since, until=self.until)

    def records(self, columns: Iterable[str]) -> WantedRecords:
        """So many columns of these records, as the kernel is told."""
        return WantedRecords.between(self.low, self.high, self.since, self.until, columns)


@frozen
class ReplicaDir:
    """A directory that holds a replica of the partition."""

    place: Place
    dir_name: str

    def opened(self) -> PartitionDir | None:
        """Its model, None if it is gone."""
        log_dir = self.place.opened()
        return None if log_dir is None else log_dir.partition(self.dir_name)


@frozen
class ByteRange:
    """Bytes [start, end) of a segment, of those [begin, stop) in which what is wanted lies.

    `begin` is a batch for sure, `stop` is one or None for the end of the file, whatever it will be
    then. `later` are the following cuts of the same file. `next_base` is the base offset of the
    segment behind it. `compacted` says whether its topic is, None where nothing tells.
    """

    place: Place
    dir_name: str
    topic: str
    partition: int
    base_offset: int
    start: int
    end: int
    later: tuple[int, ...]
    begin: int
    stop: int | None
    next_base: int | None
    wanted: WantedRange
    others: tuple[ReplicaDir, ...] = ()
    compacted: bool | None = None

    @property
    def weight(self) -> int:
        """Bytes to read, and the cost of the file."""
        return self.end - self.start + FILE_COST

    @property
    def order(self) -> tuple[str, int, int, int]:
        """In which order the ranges of a task are read: that of offsets within a partition."""
        return self.topic, self.partition, self.base_offset, self.start

    @property
    def log_name(self) -> str:
        """The log, relative to its log dir."""
        return f"{self.dir_name}/{file_prefix(self.base_offset)}.log"

    def file(self, suffix: str) -> FileEntry:
        """One of the segment's files, which need not be there."""
        folder = f"{self.place.path}/{self.dir_name}"
        return FileEntry(self.place.files, folder, f"{file_prefix(self.base_offset)}{suffix}")


def ranges_of(
    segment: LogSegment,
    place: Place,
    *,
    target: int,
    wanted: WantedRange,
    others: tuple[ReplicaDir, ...] = (),
    compacted: bool | None = None,
) -> list[ByteRange]:
    """The ranges of a segment that hold what is wanted; none when its log is not there.

    A log that cannot be read is one range, so that its reader says so.
    """
    following = segment.next_base_offset
    if segment.log is None or wanted.high < segment.base_offset:
        return []
    if following is not None and following <= wanted.low:
        return []
    try:
        begin, end, stop = _limits(segment.log, segment, wanted)
        index = segment.index.read(INDEX_LIMIT) if segment.index and end - begin > target else None
    except Unreadable:
        begin, end, stop, index = 0, 0, None, None
    if begin == end and (end or stop is not None):
        return []
    pieces = cuts(end, index, target, start=begin)
    starts = [start for start, _ in pieces]
    return [
        ByteRange(
            place=place,
            dir_name=segment.partition.name,
            topic=segment.partition.topic,
            partition=segment.partition.partition,
            base_offset=segment.base_offset,
            start=start,
            end=until,
            later=tuple(starts[number + 1 :]),
            begin=begin,
            stop=stop,
            next_base=following,
            wanted=wanted,
            others=others,
            compacted=compacted,
        )
        for number, (start, until) in enumerate(pieces)
    ]


def _limits(log: FileEntry, segment: LogSegment, wanted: WantedRange) -> tuple[int, int, int | None]:
    """(where to begin, where to end, the same or None for the end of the file)."""
    with log.reader() as reader:
        begin = position_of(log, reader, wanted.low) if wanted.low > segment.base_offset else 0
        if wanted.since is not None:
            if _is_older(log, reader, segment, wanted.since):
                return 0, 0, 0
            begin = max(begin, position_by_time(log, reader, wanted.since))
        following = segment.next_base_offset
        if following is not None and following <= wanted.high:
            return begin, reader.size, None
        end = end_of(log, reader, wanted.high)
        return begin, max(begin, end), None if end == reader.size else max(begin, end)


def _is_older(log: FileEntry, reader: OpenFile, segment: LogSegment, since: int) -> bool:
    """Whether a sealed segment has nothing from `since` on, by a time index that its log bears out."""
    return not segment.is_active and is_older(log, reader, since)


def verified(piece: ByteRange, reader: Reader) -> tuple[int, int]:
    """The bytes that are really this range's: its index may be the very thing that is damaged.

    A cut holds if a sound batch of this segment begins there. Both neighbours ask the same
    question: where the answer is no, the right one reads nothing and the left one reads on.
    """
    if piece.start != piece.begin and not _is_boundary(reader, piece.start, piece.base_offset):
        return piece.start, piece.start
    stop = reader.size if piece.stop is None else piece.stop
    return piece.start, next(
        (cut for cut in piece.later if _is_boundary(reader, cut, piece.base_offset)), stop
    )


def reads_to_the_end(piece: ByteRange, reader: Reader, stop: int) -> bool:
    """Whether a range that is read up to byte `stop` (see `verified`) ends where its file does."""
    return piece.stop is None and stop == reader.size


def _is_boundary(reader: Reader, position: int, base_offset: int) -> bool:
    probe = iter_batches(reader, start=position, stop=position + 1, crc=True, window=_PROBE)
    batch = next(probe, None)
    return batch is not None and batch.base_offset >= base_offset
