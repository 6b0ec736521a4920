"""Index entries by the words of `LogSegment`, for the tests: plain, and with a start in between."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct

from segmend.formats.batch import RecordBatch
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import BytesReader

OFFSET_ENTRY, TIME_ENTRY = Struct(">ii"), Struct(">qi")

Entry = tuple[int, int]


def batches_of(log: Path) -> list[RecordBatch]:
    """The batches of a healthy log."""
    return list(iter_batches(BytesReader(log.read_bytes()), base_offset=int(log.stem)))


def offset_entries(data: bytes) -> list[Entry]:
    """(relative offset, position)."""
    return [(offset, position) for offset, position in OFFSET_ENTRY.iter_unpack(data)]


def time_entries(data: bytes) -> list[Entry]:
    """(timestamp, relative offset)."""
    return [(timestamp, offset) for timestamp, offset in TIME_ENTRY.iter_unpack(data)]


def positions(batches: Sequence[RecordBatch], interval: int, starts: Sequence[int]) -> list[int]:
    """Positions that get an entry when the counter of bytes begins anew before the batches `starts`."""
    found, since = [], 0
    for number, batch in enumerate(batches):
        if number in starts:
            since = 0
        if since > interval:
            found.append(batch.position)
            since = 0
        since += batch.size
    return found


def ways_with_a_start(batches: Sequence[RecordBatch], interval: int) -> Iterator[list[int]]:
    """`positions` for a broker that began to append once, at each possible batch, or twice."""
    for first in range(len(batches) + 1):
        yield positions(batches, interval, [first])
    for first in range(len(batches)):
        for second in range(first + 1, len(batches)):
            yield positions(batches, interval, [first, second])
