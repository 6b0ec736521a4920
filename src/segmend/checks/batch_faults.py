"""Which fault a break in the chain of batches is. Not a check.

The kernel says where no sound batch could be read and where the next one begins. Bytes 0
to 16 of a v2 batch (offset, size, epoch, magic) are not covered by its CRC, so the CRC can
prove what only its size or its magic byte is wrong; what nothing proves is a hole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.frozen import frozen
from segmend.kernel.types import CHAIN_KINDS, TAIL_KINDS, Problem, SegmentScan

from .evidence import batch_at, headers_before, size_field, sound_with_size
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
    regions = _regions(scan)
    classified = view.once("breaks", lambda: [_classify(view, each, n) for n, each in enumerate(regions)])
    yield from (each for each in classified if each.code in codes)


def _regions(scan: SegmentScan) -> list[list[Problem]]:
    """Breaks that touch are one: a hole may begin inside a batch with a good header."""
    regions: list[list[Problem]] = []
    for problem in scan.problems:
        if problem.kind not in BROKEN_KINDS:
            continue
        if regions and regions[-1][-1].end >= problem.position:
            regions[-1].append(problem)
        else:
            regions.append([problem])
    return regions


def _classify(view: SegmentView, region: list[Problem], number: int) -> Break:
    start, end = region[0], region[-1].end
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
    position = problem.position
    if sound_with_size(view, position, end):
        size, magic = size_field(view, position), _magic(view, position)
        if size != end - position - 12:
            past_end = position + 12 + size > view.reader.size
            code = "L09" if size < 14 else "L08" if past_end else "L10"
            return Break(code=code, position=position, end=end, offset=problem.offset, size=size)
        code = "L12" if magic < 2 else "L11"
        return Break(code=code, position=position, end=end, offset=problem.offset, magic=magic)
    if walk and problem.kind != "crc-mismatch" and not view.scan.crc_checked:
        return _swallowed(view, problem, end)
    return None


def _swallowed(view: SegmentView, problem: Problem, end: int) -> Break | None:
    """The batch before the break whose size field is wrong, so that the walk went on in its middle.

    Only a scan without CRCs sees it like this.
    """
    before = headers_before(view, problem.position, 1)
    if before and sound_with_size(view, before[0].position, end):
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
