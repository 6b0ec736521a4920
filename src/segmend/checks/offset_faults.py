"""Which fault of the catalogue a batch out of order is. Not a check.

The base offset is not covered by the CRC, so a batch may be sound and yet stand at a wrong
offset. Its neighbours tell whether its offset was hurt (L13, L14), whether it is a second
copy (L16), a stale write of an older history (L26), or a segment that grew too wide (L23).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import Problem, SegmentScan

from .evidence import MOST_BATCHES, ORDER_KINDS, batch_at, problems
from .segment_view import SegmentView

# Each place costs a walk over the headers before it.
_LOOKED_AT: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFault:
    """A sound batch at a wrong offset; `expected` is the base offset that would fit, if known."""

    code: str
    batch: RecordBatch
    expected: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """The batch of a problem and its neighbours; `copied` if the same batch stands earlier in the file."""

    older: RecordBatch | None
    before: RecordBatch | None
    this: RecordBatch
    after: RecordBatch | None
    copied: bool

    @property
    def expected(self) -> int | None:
        """The offset after the batch before."""
        return self.before.last_offset + 1 if self.before else None


def offset_faults(view: SegmentView, scan: SegmentScan, *codes: str) -> Iterator[OffsetFault]:
    """The segment's offset faults of these codes, in order of position."""
    seen: set[tuple[str, int]] = set()
    for problem in problems(scan, *ORDER_KINDS)[:_LOOKED_AT]:
        fault = _judge(view, scan, problem)
        # A batch too high is told twice: by itself and by the one after it. A wide segment is one fault.
        key = (fault.code, 0 if fault.code == "L23" else fault.batch.position) if fault else ("", 0)
        if fault and key not in seen:
            seen.add(key)
            if fault.code in codes:
                yield fault


def _judge(view: SegmentView, scan: SegmentScan, problem: Problem) -> OffsetFault | None:
    around = _look_around(view, scan, problem)
    if around is None:
        return None
    if problem.kind == "offset-before-base":
        return OffsetFault(code="L13", batch=around.this, expected=around.expected or view.base_offset)
    if problem.kind == "offset-overflow":
        return _judge_overflow(view, around)
    return _judge_backwards(view, around)


def _look_around(view: SegmentView, scan: SegmentScan, problem: Problem) -> _Around | None:
    this = batch_at(view, problem.position)
    if this is None:
        return None
    kept: deque[RecordBatch] = deque(maxlen=2)
    copied = False
    walk = iter_batches(view.reader, stop=problem.position, resync=True, base_offset=view.base_offset)
    for batch in islice(walk, MOST_BATCHES):
        kept.append(batch)
        same = (batch.base_offset, batch.crc, batch.size) == (this.base_offset, this.crc, this.size)
        copied = copied or same
    before, older = (kept[-1] if kept else None), (kept[0] if len(kept) == 2 else None)
    last = scan.tail.position if scan.tail else scan.end
    after = batch_at(view, problem.end) if problem.end < last else None
    return _Around(older=older, before=before, this=this, after=after, copied=copied)


def _judge_overflow(view: SegmentView, around: _Around) -> OffsetFault:
    this, after = around.this, around.after
    expected = view.base_offset if around.expected is None else around.expected
    hurt = after.base_offset <= this.last_offset if after else one_bit(this.base_offset, expected)
    return OffsetFault(code="L13" if hurt or this.base_offset < 0 else "L23", batch=this, expected=expected)


def _judge_backwards(view: SegmentView, around: _Around) -> OffsetFault:
    older, before, this, after = around.older, around.before, around.this, around.after
    floor = older.last_offset + 1 if older else view.base_offset
    if before and before.base_offset > floor and floor <= this.base_offset and not around.copied:
        return OffsetFault(code="L14", batch=before, expected=floor)
    if before and after and after.base_offset > before.last_offset:
        return OffsetFault(code="L16" if around.copied else "L14", batch=this, expected=around.expected)
    again = before is not None and (before.crc, before.base_offset) == (this.crc, this.base_offset)
    return OffsetFault(code="L16" if again else "L26", batch=this, expected=around.expected)


def one_bit(found: int, expected: int) -> bool:
    """Whether two offsets differ in exactly one bit."""
    return ((found ^ expected) & (2**64 - 1)).bit_count() == 1
