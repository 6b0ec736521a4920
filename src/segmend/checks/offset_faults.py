"""Which fault a batch out of order is. Not a check.

The base offset is not covered by the CRC, so a batch may be sound and yet stand at a wrong
offset. Its neighbours tell whether its offset was hurt (L13, L14), whether it is a second
copy (L16), a stale write of an older history (L26), or a segment that grew too wide (L23).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen, replace
from segmend.kernel.holes import ORDER_KINDS
from segmend.kernel.types import Problem, SegmentScan

from .evidence import batch_at, problems
from .offset_runs import HeaderWalk, goes_too_far
from .segment_view import SegmentView

_LOOKED_AT: Final = 8


@frozen
class OffsetFault:
    """A sound batch at a wrong offset; `expected` is the base offset that would fit, if known.

    `proven` if the batches on both sides say so, or it differs from it in one bit at the end of the log.
    """

    code: str
    batch: RecordBatch
    expected: int | None
    proven: bool = False


@frozen
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
    if not scan.problems and ("L15" not in codes or not goes_too_far(view)):
        return
    faults = view.once("offset faults", lambda: list(_faults(view, scan)))
    yield from (fault for fault in faults if fault.code in codes)


def _faults(view: SegmentView, scan: SegmentScan) -> Iterator[OffsetFault]:
    looked_at = problems(scan, *ORDER_KINDS)[:_LOOKED_AT]
    if not looked_at and not goes_too_far(view):
        return
    walked = HeaderWalk(view)
    walk = iter(walked)
    places = list(zip(looked_at, _look_around(view, scan, looked_at, walk), strict=True))
    proven = walked.wrong_offsets(walk)
    for wrong in proven:
        inside = 0 <= wrong.batch.base_offset - view.base_offset <= INT_MAX
        too_high = wrong.until == scan.end and wrong.batch.base_offset > wrong.expected
        code = "L13" if not inside else "L15" if too_high else "L14"
        yield OffsetFault(code=code, batch=wrong.batch, expected=wrong.expected, proven=True)
    seen: set[tuple[str, int]] = set()
    for problem, around in places:
        if around is None or any(run.begins <= problem.position <= run.until for run in proven):
            continue
        fault = _judge(view, problem, around)
        # A batch too high is told twice: by itself and by the one after it. A wide segment is one fault.
        key = fault.code, 0 if fault.code == "L23" else fault.batch.position
        if key not in seen:
            seen.add(key)
            able = walked.may_be(fault.batch, fault.expected)
            yield replace(fault, proven=able and _is_proven(fault, around))


def _is_proven(fault: OffsetFault, around: _Around) -> bool:
    """Whether the next batch goes on where this one would end; at the end, whether one bit is wrong."""
    batch, expected = fault.batch, fault.expected
    if expected is None or expected == batch.base_offset:
        return False
    after = around.this if batch is around.before else around.after
    if after is None:
        return one_bit(batch.base_offset, expected)
    return after.base_offset == expected + batch.last_offset - batch.base_offset + 1


def _judge(view: SegmentView, problem: Problem, around: _Around) -> OffsetFault:
    if problem.kind == "offset-before-base":
        return OffsetFault(code="L13", batch=around.this, expected=around.expected or view.base_offset)
    if problem.kind == "offset-overflow":
        return _judge_overflow(view, around)
    return _judge_backwards(view, around)


def _look_around(
    view: SegmentView, scan: SegmentScan, places: list[Problem], walk: Iterator[RecordBatch]
) -> Iterator[_Around | None]:
    """The neighbours of each place, in one walk over the headers up to the last of them."""
    headers = chain(walk, (None,))
    older = before = None
    following = next(headers)
    seen: set[tuple[int, int, int]] = set()
    last = scan.tail.position if scan.tail else scan.end
    for problem in places:
        while following is not None and following.position < problem.position:
            older, before = before, following
            seen.add(_identity(following))
            following = next(headers)
        this = batch_at(view, problem.position)
        after = batch_at(view, problem.end) if problem.end < last else None
        copied = this is not None and _identity(this) in seen
        yield this and _Around(older=older, before=before, this=this, after=after, copied=copied)


def _identity(batch: RecordBatch) -> tuple[int, int, int]:
    return batch.base_offset, batch.crc, batch.size


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


def one_bit(actual: int, expected: int) -> bool:
    return ((actual ^ expected) & (2**64 - 1)).bit_count() == 1
