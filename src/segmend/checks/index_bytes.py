"""Reads index files of which most may be preallocated zeros: 10 MiB each after a kill."""

from __future__ import annotations

from segmend.formats import offset_index
from segmend.formats.byte_columns import nonzero_size
from segmend.logdir.file_system import OpenFile
from segmend.logdir.files import FileEntry

# An index larger than this is not read into memory: `segment.index.bytes` is an int, but
# a broker rolls the segment long before; 64 MiB hold 8 million entries.
INDEX_LIMIT_BYTES = 64 << 20

# A smaller index is read whole, whatever its tail.
PREALLOCATED_BYTES = 256 << 10

_ZEROS = bytes(256 << 10)


def last_position(index: FileEntry | None) -> int:
    """The file position in the last index entry that is not preallocated zeros; 0 if there is none."""
    if index is None:
        return 0
    size = offset_index.ENTRY_SIZE
    with index.reader() as reader:
        used = _used_entries(reader, size)
        entry = reader.read(size, (used - 1) * size) if used else bytes(size)
    return int.from_bytes(entry[4:], "big", signed=True)


def _used_entries(reader: OpenFile, entry_size: int) -> int:
    """Entries before the zero tail.

    Entries grow and zeros follow them, so halving finds the last in some twenty reads even
    of the 10 MiB that a killed broker leaves.
    """
    low, high = 0, reader.size // entry_size
    if high and any(reader.read(entry_size, (high - 1) * entry_size)):
        return high
    while low < high:
        middle = (low + high) // 2
        if any(reader.read(entry_size, middle * entry_size)):
            low = middle + 1
        else:
            high = middle
    return low


def _used_entries_exactly(reader: OpenFile, entry_size: int) -> int:
    """The same by reading the whole tail, for an index may also have zeros in its middle."""
    block = bytearray(len(_ZEROS))
    end = reader.size
    while end > 0:
        start = max(end - len(block), 0)
        part = memoryview(block)[: end - start]
        reader.read_into(part, start)
        if part.tobytes() != _ZEROS[: end - start]:
            break
        end = start
    first = max(end - len(block), 0)
    used = first + nonzero_size(reader.read(end - first, first))
    return min(-(-used // entry_size), reader.size // entry_size)


def read_index(entry: FileEntry, entry_size: int, *, exact: bool) -> tuple[bytes, int]:
    """The bytes of an index and the number of zero entries left out at its end.

    One zero entry and what makes no whole entry stay, so that a tail still shows.
    """
    with entry.reader() as reader:
        if reader.size < PREALLOCATED_BYTES:
            return reader.read(INDEX_LIMIT_BYTES), 0
        whole, rest = divmod(reader.size, entry_size)
        used = (_used_entries_exactly if exact else _used_entries)(reader, entry_size)
        left_out = max(whole - used - 1, 0)
        if not left_out:
            return reader.read(INDEX_LIMIT_BYTES), 0
        return reader.read((used + 1) * entry_size) + reader.read(rest, whole * entry_size), left_out
