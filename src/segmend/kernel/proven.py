"""What the checksum of a batch proves where a scan found none.

Of a v2 batch bytes 0 to 16 (base offset, size, epoch, magic) are not covered by it, of older ones the offset
and the size. So bytes that it fits are a whole batch, whatever is in those.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from segmend.formats.batch import (
    HEADER_SIZE_V1,
    HEADER_SIZE_V2,
    MAGIC_POSITION,
    RecordBatch,
    compute_crc,
    read_header,
)
from segmend.kernel.types import CHAIN_KINDS, Problem, Reader, SegmentScan

# Bytes of one batch that are read for a proof.
_LIMIT: Final = 64 << 20
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
    places = dict.fromkeys((run[0].position, run[-1].position))
    return next(filter(None, (batch_between(reader, place, reader.size) for place in places)), None)
