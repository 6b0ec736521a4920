"""Entries of the last segment's indexes about batches that its log does not have.

A broker appends to the log first: after its death alone no index is ahead. Either the end of the log is gone
(the machine lost power, a copy is older than the indexes beside it), or an index is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from segmend.formats import txn_index
from segmend.frozen import frozen
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import last_entry
from segmend.logdir.log_segment import LogSegment

_OFFSETS, _TIMES = Struct(">ii"), Struct(">qi")


@frozen
class Beyond:
    """Up to which offset the indexes go, and which: several are not wrong by the same accident."""

    offset: int
    files: tuple[str, ...]


def beyond_end(segment: LogSegment, size: int, end: int) -> Beyond | None:
    """What is told of batches behind `size` bytes, from offset `end` on; raises `Unreadable`.

    An entry that does not go on from the one before is wrong by itself, and tells nothing.
    """
    told = [*_told(segment, size, end)]
    if not told:
        return None
    return Beyond(offset=max(offset for _, offset in told), files=tuple(name for name, _ in told))


def _told(segment: LogSegment, size: int, end: int) -> Iterator[tuple[str, int]]:
    base = segment.base_offset
    for entry, columns, positions in ((segment.index, _OFFSETS, True), (segment.timeindex, _TIMES, False)):
        pair = _last_two(entry, columns)
        if entry is None or not pair:
            continue
        first, second = pair[-1]
        offset = base + (first if positions else second)
        in_order = len(pair) == 1 or (pair[0][0] < first and pair[0][1] < second)
        if in_order and offset >= end and (not positions or second >= size):
            yield entry.name, offset
    last = last_entry(segment.txnindex, txn_index.ENTRY_SIZE)
    if last is not None and segment.txnindex is not None:
        aborted = txn_index.parse(last.data)[0].entries[0]
        if aborted.version == txn_index.VERSION and aborted.last_offset >= end:
            yield segment.txnindex.name, aborted.last_offset


def _last_two(entry: FileEntry | None, columns: Struct) -> list[tuple[int, int]]:
    """The last entries before the zeros, as (offset, position) or (timestamp, offset)."""
    last = last_entry(entry, columns.size)
    if entry is None or last is None:
        return []
    with entry.reader() as reader:
        first = max(last.row - 1, 0)
        data = reader.read((last.row + 1 - first) * columns.size, first * columns.size)
    return [*columns.iter_unpack(data)]
