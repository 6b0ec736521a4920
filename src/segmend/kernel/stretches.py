"""What the batches of every so many offsets come to: equal where replicas agree, whatever their segments.

The hash takes what must agree: both offsets, the leader epoch and the stored checksum. A sum and not a
sequence, so that a stretch may cross segments.
"""

from __future__ import annotations

from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import LONG_MAX
from segmend.kernel.records import signed64

_MASK: Final = (1 << 64) - 1


class Stretches:
    """Of one pass over a log: filled by who walks it. `rows` are lists of number, batches, first, end, sum.

    A stretch has a row each time that batches of it follow others; `bounded` if there were more than the
    compiled kernel keeps. `has_holes`: a batch has fewer records than offsets.
    """

    __slots__ = ("bounded", "has_holes", "offsets", "rows")

    def __init__(self, offsets: int) -> None:
        self.offsets = offsets
        self.rows: list[list[int]] = []
        self.has_holes = self.bounded = False

    def add(self, batch: RecordBatch) -> None:
        base, last = batch.base_offset, min(signed64(batch.last_offset), LONG_MAX - 1)
        self.has_holes |= batch.magic >= 2 and 0 <= batch.records_count < signed64(last - base + 1)
        number, end = base // self.offsets, last + 1
        if not self.rows or self.rows[-1][0] != number:
            self.rows.append([number, 0, base, end, 0])
        row = self.rows[-1]
        epoch = batch.partition_leader_epoch if batch.magic >= 2 else -1
        row[1:] = [
            row[1] + 1,
            min(row[2], base),
            max(row[3], end),
            signed64(row[4] + _hash(base, last, epoch, batch.crc)),
        ]


def _hash(*values: int) -> int:
    """Of 64 bits: splitmix64 over the values."""
    state = 0
    for value in values:
        state = ((state ^ value & _MASK) + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state
