"""What the checksum of a batch proves where a scan found none.

Of a v2 batch bytes 0 to 16 (base offset, size, epoch, magic) are not covered by it, of older ones the offset
and the size. So bytes that it fits are a whole batch, whatever is in those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from segmend.formats.batch import (
    HEADER_SIZE_V1,
    HEADER_SIZE_V2,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    RecordBatch,
    compute_crc,
    read_header,
)
from segmend.kernel.types import CHAIN_KINDS, TAIL_KINDS, Problem, Reader, SegmentScan

# Bytes of one batch that are read for a proof.
_LIMIT: Final = 64 << 20
# Headers behind a damaged batch at the end that are followed.
_HEADERS: Final = 16
_DOUBTS: Final = CHAIN_KINDS | {"header-field", "control-record", "offset-before-base", "offset-backwards"}
_SIZE: Final = slice(8, 12)
_CRC, _LEGACY_CRC = slice(17, 21), slice(12, 16)


def batch_between(reader: Reader, position: int, end: int) -> RecordBatch | None:
    """The batch that the bytes from `position` to `end` are, its size and magic as they should be."""
    size = end - position
    if not HEADER_SIZE_V1 <= size <= _LIMIT:
        return None
    data = bytearray(size)
    if reader.read_into(memoryview(data), position) != size:
        return None
    data[_SIZE] = (size - 12).to_bytes(4, "big")
    if size >= HEADER_SIZE_V2 and compute_crc(data, 2) == int.from_bytes(data[_CRC], "big"):
        data[MAGIC_POSITION] = 2
    elif data[MAGIC_POSITION] > 1 or compute_crc(data, 0) != int.from_bytes(data[_LEGACY_CRC], "big"):
        return None
    return read_header(data, 0, position)


def broken_runs(scan: SegmentScan, kinds: Collection[str]) -> list[list[Problem]]:
    """Breaks of the chain of batches; those that touch are one: a hole may begin inside a batch."""
    runs: list[list[Problem]] = []
    for problem in (each for each in scan.problems if each.kind in kinds):
        if runs and runs[-1][-1].end >= problem.position:
            runs[-1].append(problem)
        else:
            runs.append([problem])
    return runs


def batch_at_end(reader: Reader, scan: SegmentScan) -> RecordBatch | None:
    """The batch that fills the log up to its end, where the scan found something torn, or no batch."""
    run = next(reversed(broken_runs(scan, CHAIN_KINDS)), None)
    if run is None or run[-1].end < reader.size:
        return None
    places = dict.fromkeys((run[0].position, run[-1].position, *_headers_from(reader, run[-1].position)))
    batches = filter(None, (batch_between(reader, place, reader.size) for place in places))
    return next((batch for batch in batches if not _is_as_written(reader, batch)), None)


def _is_as_written(reader: Reader, batch: RecordBatch) -> bool:
    """Whether size and magic are right: then it is something else that is wrong with it, or nothing."""
    head = bytearray(MAGIC_POSITION + 1)
    reader.read_into(memoryview(head), batch.position)
    return int.from_bytes(head[_SIZE], "big") == batch.size - LOG_OVERHEAD and head[-1] == batch.magic


def _headers_from(reader: Reader, position: int) -> Iterator[int]:
    """Where batches behind one that is damaged begin, if their size fields are right; no more than a few."""
    head = bytearray(_SIZE.stop)
    for _ in range(_HEADERS):
        if reader.read_into(memoryview(head), position) != len(head):
            return
        size = int.from_bytes(head[_SIZE], "big", signed=True)
        if size < HEADER_SIZE_V1 - LOG_OVERHEAD:
            return
        position += LOG_OVERHEAD + size
        yield position


def first_doubt(scan: SegmentScan, *, is_last: bool) -> Problem | None:
    """The first damage of a log that may speak falsely against an index, or a snapshot.

    A torn end is none where a kill leaves one: in the last segment.
    """
    doubts = _DOUBTS - TAIL_KINDS if is_last else _DOUBTS
    return next((problem for problem in scan.problems if problem.kind in doubts), None)
