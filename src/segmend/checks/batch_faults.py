"""Which fault a break in the chain of batches is. Not a check.

The kernel says where no sound batch could be read and where the next one begins. Bytes 0
to 16 of a v2 batch (offset, size, epoch, magic) are not covered by its CRC, so the CRC can
prove what only its size or its magic byte is wrong; what nothing proves is a hole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.frozen import frozen
from segmend.kernel.proven import batch_at_end, batch_between, broken_runs
from segmend.kernel.types import CHAIN_KINDS, TAIL_KINDS, Problem, SegmentScan

from .evidence import batch_at, headers_before, size_field
from .segment_view import SegmentView

BROKEN_KINDS: Final = CHAIN_KINDS - TAIL_KINDS
# Places looked at with the CRC in hand; a log with more than that is not one bit flip.
_PROVEN: Final = 64
# Of these, places for which the headers before are walked again.
_WALKED: Final = 4


@frozen
class Break:
    """Bytes `position` to `end` that are no sound batch; `code` is that of its finding.

    `offset` is the base offset of the first broken batch, or what would come next there;
    `size` is its size field where that is what is wrong; `magic` likewise.
    """

    code: str
    position: int
    end: int
    offset: int | None
    size: int | None = None
    magic: int | None = None
    stored: int | None = None
    computed: int | None = None


def breaks(view: SegmentView, scan: SegmentScan, *codes: str) -> Iterator[Break]:
    """The segment's breaks of these codes, in order of position; those of the metadata log are K07."""
    if not scan.problems or view.context.partition.kind == "cluster-metadata":
        return
    classified = view.once("breaks", lambda: _classified(view, scan))
    yield from (each for each in classified if each.code in codes)


def _classified(view: SegmentView, scan: SegmentScan) -> list[Break]:
    whole = whole_at_end(view)
    before = view.reader.size if whole is None else whole.position
    broken = (run for run in broken_runs(scan, BROKEN_KINDS) if run[0].position < before)
    runs = [part for run in broken for part in _parts(view, run)]
    breaks = [_classify(view, run, min(run[-1].end, before), number) for number, run in enumerate(runs)]
    return breaks if whole is None else [*breaks, _wrong_field(view, whole)]


def _parts(view: SegmentView, run: list[Problem]) -> Iterator[list[Problem]]:
    """A run without the batches it begins with that the CRC proves, each of which comes by itself."""
    proven = 0
    for problem in run[:-1][:_PROVEN]:
        if (
            problem.kind == "crc-mismatch"
            or batch_between(view.reader, problem.position, problem.end) is None
        ):
            break
        yield [problem]
        proven += 1
    yield run[proven:]


def whole_at_end(view: SegmentView) -> RecordBatch | None:
    """The batch that fills the log to its end, as its CRC proves, though another size or magic is in it."""
    return view.once("whole at end", lambda: _whole_at_end(view, view.scan))


def _whole_at_end(view: SegmentView, scan: SegmentScan) -> RecordBatch | None:
    batch = batch_at_end(view.reader, scan)
    if batch is None and scan.tail is not None and not scan.crc_checked:
        for before in headers_before(view, scan.tail.position, 1):
            batch = batch_between(view.reader, before.position, view.reader.size)
    return batch


def _classify(view: SegmentView, region: list[Problem], end: int, number: int) -> Break:
    start = region[0]
    if len(region) > 1 and all(problem.kind == "crc-mismatch" for problem in region):
        return _bad_crc(view, start, start.end)
    if number < _PROVEN:
        proven = _proven(view, start, end, walk=number < _WALKED)
        if proven is not None:
            return proven
    if len(region) == 1 and start.kind == "crc-mismatch" and _is_whole(view, start):
        return _bad_crc(view, start, end)
    return Break(code="L04", position=start.position, end=end, offset=start.offset)


def _proven(view: SegmentView, problem: Problem, end: int, *, walk: bool) -> Break | None:
    """A break in which one field outside the CRC is wrong and the CRC proves the rest right."""
    if (batch := batch_between(view.reader, problem.position, end)) is not None:
        return _wrong_field(view, batch)
    if walk and problem.kind != "crc-mismatch" and not view.scan.crc_checked:
        return _swallowed(view, problem, end)
    return None


def _wrong_field(view: SegmentView, batch: RecordBatch) -> Break:
    """The fault of a batch whose size field, or whose magic byte, is another one than the CRC proves."""
    position, offset = batch.position, batch.base_offset
    size, magic = size_field(view, position), _magic(view, position)
    if size != batch.size - 12:
        code = "L09" if size < 14 else "L08" if position + 12 + size > view.reader.size else "L10"
        return Break(code=code, position=position, end=batch.end, offset=offset, size=size)
    return Break(
        code="L12" if magic < 2 else "L11", position=position, end=batch.end, offset=offset, magic=magic
    )


def _swallowed(view: SegmentView, problem: Problem, end: int) -> Break | None:
    """The batch before the break whose size field is wrong, so that the walk went on in its middle.

    Only a scan without CRCs sees it like this.
    """
    before = headers_before(view, problem.position, 1)
    if before and batch_between(view.reader, before[0].position, end) is not None:
        batch = before[0]
        return Break(
            code="L10", position=batch.position, end=end, offset=batch.base_offset, size=batch.size - 12
        )
    return None


def _magic(view: SegmentView, position: int) -> int:
    return int.from_bytes(view.reader.read(1, position + 16), "big", signed=True)


def _is_whole(view: SegmentView, problem: Problem) -> bool:
    """Whether the batch with the bad CRC ends where the next one begins."""
    batch = batch_at(view, problem.position)
    return batch is not None and batch.end == problem.end


def _bad_crc(view: SegmentView, problem: Problem, end: int) -> Break:
    facts = problem.facts
    stored, computed = facts.get("stored"), facts.get("computed")
    return Break(
        code=_crc_code(view),
        position=problem.position,
        end=end,
        offset=problem.offset,
        stored=stored if isinstance(stored, int) else None,
        computed=computed if isinstance(computed, int) else None,
    )


def _crc_code(view: SegmentView) -> str:
    if view.segment.index is None:
        return "L06"
    return "L07" if view.is_active else "L05"
