"""A run of sound batches while it grows, one batch after the other or many at once."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from segmend.formats.batch import CODEC_MASK, DELETE_HORIZON, MAX_CODEC, SMALLEST_RECORD, RecordBatch
from segmend.formats.java_number import LONG_MAX
from segmend.kernel.batch_rows import WIDTH
from segmend.kernel.native_runs import RUNS, Follow
from segmend.merge.values import Batch, Mark, Run

ROW: Final = Struct(f"{WIDTH}q")
MARK_BITS: Final = 0x3FF
"""A batch whose checksum ends in these bits as zeros makes a mark: about every thousandth one."""
_MASK: Final = (1 << 64) - 1


class OpenRun:
    """A run that may go on."""

    __slots__ = ("_batches", "_digest", "_first", "_last", "_magic", "_marks", "_records",
                 "end", "epoch", "start")  # fmt: skip

    def __init__(self, first: int, epoch: int, position: int, magic: int) -> None:
        self._first, self.epoch, self.start, self._magic = first, epoch, position, magic
        self._last = self._batches = self._records = self._digest = 0
        self.end = position
        self._marks: list[Mark] = []

    def add(self, batch: RecordBatch, first: int, records: int) -> None:
        self._digest += digest_of(Batch(first, batch.last_offset, self.epoch, batch.size, batch.crc))
        self._batches += 1
        self._records += records
        self._last, self.end = batch.last_offset, batch.end
        if not batch.crc & MARK_BITS:
            self._marks.append(self._mark())

    def follow(
        self, held: RecordBatch, rows: bytes, at: int, next_base: int | None
    ) -> tuple[int, RecordBatch]:
        """Add `held` and the rows that follow without a gap, but for the last; how many, and that one."""
        below = LONG_MAX if next_base is None else next_base
        count = (self._follow if RUNS is None else self._follow_quickly)(held, rows, at, below)
        last = at + (count - 1) * ROW.size
        return count, RecordBatch._make(ROW.unpack_from(rows, last)[:-1]) if count else held

    def _follow(self, held: RecordBatch, rows: bytes, at: int, below: int) -> int:
        first, last, size, crc, end = held.base_offset, held.last_offset, held.size, held.crc, held.end
        epoch, count = self.epoch, 0
        for numbers in ROW.iter_unpack(memoryview(rows)[at:]):
            until = numbers[3]
            if not (
                numbers[0] == end and numbers[2] == last + 1 and numbers[4] == epoch and numbers[15] == 1
                and numbers[14] == until - last and last < until < below and numbers[5] >= 2
                and not numbers[7] & DELETE_HORIZON
                and (numbers[14] * SMALLEST_RECORD < numbers[1] or numbers[7] & CODEC_MASK)
                and numbers[7] & CODEC_MASK <= MAX_CODEC
            ):  # fmt: skip
                break
            self._digest += hash((first, last, epoch, size, crc)) & _MASK
            self._batches += 1
            self._records += last - first + 1
            self._last, self.end = last, end
            if not crc & MARK_BITS:
                self._marks.append(self._mark())
            first, last, size, crc = numbers[2], until, numbers[1], numbers[6]
            end += size
            count += 1
        return count

    def _follow_quickly(self, held: RecordBatch, rows: bytes, at: int, below: int) -> int:
        """The same by the compiled kernel, from mark to mark."""
        now = Follow(
            first=held.base_offset, last=held.last_offset, size=held.size, crc=held.crc, position=held.end,
            epoch=self.epoch, below=below, digest=self._digest, batches=self._batches,
            records=self._records, run_last=self._last, end=self.end,
        )  # fmt: skip
        begin, behind = at // ROW.size, len(rows) // ROW.size
        row, now.marked = begin, 1
        while now.marked:
            row += RUNS.segmend_follow(now.place, rows, row, behind)
            self._digest, self._batches, self._records = now.digest, now.batches, now.records
            self._last, self.end = now.run_last, now.end
            if now.marked:
                self._marks.append(self._mark())
        taken: int = row - begin
        return taken

    @property
    def goes_on(self) -> bool:
        """Whether it has more than one batch."""
        return self._batches > 1

    def _mark(self) -> Mark:
        return Mark(self._last + 1, self.end, self._batches, self._records, self._digest & _MASK)

    def run(self, file: str, segment: int) -> Run:
        return Run(
            first_offset=self._first, last_offset=self._last, epoch=self.epoch, segment=segment, file=file,
            first_position=self.start, end_position=self.end, batches=self._batches,
            records=self._records, digest=self._digest & _MASK, magic=self._magic, marks=tuple(self._marks),
        )  # fmt: skip


def passing_below(low: int, start: int) -> Callable[[bytes, int], int]:
    """A function that takes of rows those that end below `low`, one behind the other from `start` on."""
    end = start

    def follow(rows: bytes, at: int) -> int:
        nonlocal end
        count = 0
        for numbers in ROW.iter_unpack(memoryview(rows)[at:]):
            if numbers[0] != end or numbers[3] >= low:
                break
            end, count = numbers[0] + numbers[1], count + 1
        return count

    return follow


def digest_of(batch: Batch) -> int:
    """The hash of a batch; Python gives tuples of numbers the same one in every process."""
    return hash(batch) & _MASK
