"""A byte range of one segment: the unit in which `batches` and `records` are read."""

from __future__ import annotations

from segmend.fleet.listing import Place
from segmend.fleet.pack import FILE_COST
from segmend.fleet.split import cuts
from segmend.frozen import frozen
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import Reader
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import LogSegment

INDEX_LIMIT = 64 << 20


@frozen
class Range:
    """Bytes [start, end) of a segment. `later` are the following cuts of the same file.

    `low` is the first offset that is wanted (the log start offset, or an option).
    """

    place: Place
    dir_name: str
    topic: str
    partition: int
    base_offset: int
    start: int
    end: int
    later: tuple[int, ...]
    low: int

    @property
    def weight(self) -> int:
        """Bytes to read, and the cost of the file."""
        return self.end - self.start + FILE_COST

    def file(self, suffix: str) -> FileEntry:
        """One of the segment's files, which need not be there."""
        folder = f"{self.place.path}/{self.dir_name}"
        return FileEntry(self.place.files, folder, f"{self.base_offset:020d}{suffix}")


def ranges_of(segment: LogSegment, place: Place, *, target: int, low: int) -> list[Range]:
    """The ranges of a segment; none when its log is not there or cannot be read."""
    if segment.log is None:
        return []
    try:
        size = segment.log.size
        index = segment.index.read(INDEX_LIMIT) if segment.index and size > target else None
    except Unreadable:
        return []
    found = cuts(size, index, target)
    starts = [start for start, _ in found]
    return [
        Range(
            place=place,
            dir_name=segment.partition.name,
            topic=segment.partition.topic,
            partition=segment.partition.partition,
            base_offset=segment.base_offset,
            start=start,
            end=end,
            later=tuple(starts[number + 1 :]),
            low=low,
        )
        for number, (start, end) in enumerate(found)
    ]


def verified(piece: Range, reader: Reader) -> tuple[int, int]:
    """The bytes that are really this range's: its index may be the very thing that is damaged.

    A cut holds if a sound batch of this segment begins there. Both neighbours ask the same
    question: where the answer is no, the right one reads nothing and the left one reads on.
    """
    if piece.start and not _is_boundary(reader, piece.start, piece.base_offset):
        return piece.start, piece.start
    end = next((cut for cut in piece.later if _is_boundary(reader, cut, piece.base_offset)), reader.size)
    return piece.start, end


def _is_boundary(reader: Reader, position: int, base_offset: int) -> bool:
    batch = next(iter_batches(reader, start=position, stop=position + 1, crc=True), None)
    return batch is not None and batch.base_offset >= base_offset
