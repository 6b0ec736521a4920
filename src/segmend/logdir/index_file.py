"""An index file of which most may be preallocated zeros (10 MiB after a kill): its ends, and its bytes.

Entries grow and zeros follow them, so halving finds the last entry in few short reads, behind a longer one
of the beginning: an active segment has few entries, and in an object store each read is a request.
"""

from __future__ import annotations

from typing import NamedTuple

from segmend.formats import offset_index
from segmend.formats import time_index as times
from segmend.formats.byte_columns import nonzero_size
from segmend.logdir.file_system import OpenFile
from segmend.logdir.files import FileEntry

LIMIT_BYTES = 64 << 20
"""A larger index is not read into memory: `segment.index.bytes` is an int, but a broker rolls
the segment long before; these are 8 million entries."""

# A smaller index is read whole, whatever its tail.
_PREALLOCATED_BYTES = 256 << 10
_FIRST_BYTES = 64 << 10
_PIECE = 256 << 10


class LastEntry(NamedTuple):
    """The last entry that is not zero fill: its number from 0, and its bytes."""

    row: int
    data: bytes


class Ends(NamedTuple):
    """The first and the last entry as they stand, zeros or not (empty without one), of `entries`.

    `rest` are the bytes at the end of the file that make no entry.
    """

    first: bytes
    last: bytes
    entries: int
    rest: int


def last_entry(index: FileEntry | None, entry_size: int) -> LastEntry | None:
    """The last entry before the preallocated zeros; None without one. Raises `Unreadable`."""
    if index is None:
        return None
    with index.reader() as reader:
        row = _used_entries(reader, entry_size) - 1
        return None if row < 0 else LastEntry(row, reader.read(entry_size, row * entry_size))


def is_bare(index: FileEntry | None, time_index: FileEntry | None) -> bool:
    """Whether both are there and neither has an entry, as the cleaner leaves them beside an empty log.

    Of a segment that was rolled the time index has one. Raises `Unreadable`.
    """
    return index is not None and time_index is not None and not has_entries(index, time_index)


def has_entries(index: FileEntry | None, time_index: FileEntry | None) -> bool:
    """Whether either of both is there and has one. Raises `Unreadable`."""
    entries = (index, offset_index.ENTRY_SIZE), (time_index, times.ENTRY_SIZE)
    return any(last_entry(each, size) is not None for each, size in entries)


def ends(index: FileEntry, entry_size: int) -> Ends:
    """What brokers look at that judge an index by its ends; raises `Unreadable`."""
    with index.reader() as reader:
        count, rest = divmod(reader.size, entry_size)
        if count == 0:
            return Ends(b"", b"", 0, rest)
        first = reader.read(entry_size)
        last = first if count == 1 else reader.read(entry_size, (count - 1) * entry_size)
        return Ends(first, last, count, rest)


def read_index(index: FileEntry, entry_size: int, *, exact: bool) -> tuple[bytes, int]:
    """The bytes of an index and the number of zero entries left out at its end.

    One zero entry and what makes no whole entry stay, so that a tail still shows. `exact` finds
    zeros in the middle as well, by reading the whole tail. Of more than `LIMIT_BYTES` the first are read.
    """
    with index.reader() as reader:
        if reader.size < _PREALLOCATED_BYTES:
            return reader.read(LIMIT_BYTES), 0
        whole, rest = divmod(reader.size, entry_size)
        used = (_used_entries_exactly if exact else _used_entries)(reader, entry_size)
        left_out = max(whole - used - 1, 0)
        if not left_out or used * entry_size >= LIMIT_BYTES:
            return reader.read(LIMIT_BYTES), 0
        return reader.read((used + 1) * entry_size) + reader.read(rest, whole * entry_size), left_out


def _used_entries(reader: OpenFile, entry_size: int) -> int:
    """Entries before the zero tail."""
    low, high = 0, reader.size // entry_size
    if high and any(reader.read(entry_size, (high - 1) * entry_size)):
        return high
    first = reader.read(min(_FIRST_BYTES // entry_size, high) * entry_size)
    used = -(-nonzero_size(memoryview(first)) // entry_size)
    if used * entry_size < len(first):
        return used
    low = used
    while low < high:
        middle = (low + high) // 2
        if any(reader.read(entry_size, middle * entry_size)):
            low = middle + 1
        else:
            high = middle
    return low


def _used_entries_exactly(reader: OpenFile, entry_size: int) -> int:
    """The same by reading the whole tail, for an index may also have zeros in its middle; holes are zeros."""
    for begin, end in reversed([*reader.extents()]):
        used = _used_bytes(reader, begin, end)
        if used > begin:
            return min(-(-used // entry_size), reader.size // entry_size)
    return 0


def _used_bytes(reader: OpenFile, begin: int, end: int) -> int:
    """Where the zeros at the end of these bytes begin: mostly the last of them tell, else all in order."""
    last, used = max(end - _PIECE, begin), begin
    for start in (last, *range(begin, last, _PIECE)):
        count = nonzero_size(memoryview(reader.read(min(_PIECE, end - start), start)))
        used = start + count if count else used
        if used > last:
            break
    return used
