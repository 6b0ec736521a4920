"""What the checksum of a v2 batch proves where a scan found none.

Bytes 0 to 16 (base offset, size, epoch, magic) are not covered by it. So bytes that it fits are a whole
batch, whatever its size field and its magic byte say.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from segmend.formats.batch import HEADER_SIZE_V2, MAGIC_POSITION, RecordBatch, compute_crc, read_header
from segmend.kernel.types import CHAIN_KINDS, Problem, Reader, SegmentScan

# Bytes of one batch that are read for a proof.
_LIMIT: Final = 64 << 20
_SIZE: Final = slice(8, 12)
_CRC: Final = slice(17, 21)


def batch_between(reader: Reader, position: int, end: int) -> RecordBatch | None:
    """The batch that the bytes from `position` to `end` are, its size and magic as they should be."""
    size = end - position
    if not HEADER_SIZE_V2 <= size <= _LIMIT:
        return None
    data = bytearray(size)
    whole = reader.read_into(memoryview(data), position) == size
    if not whole or compute_crc(data, 2) != int.from_bytes(data[_CRC], "big"):
        return None
    data[_SIZE], data[MAGIC_POSITION] = (size - 12).to_bytes(4, "big"), 2
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
