"""The merged log as segments: those of the replica keep their names, and what it has sound its place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.errors import SegmendError
from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen, replace
from segmend.merge.pieces import Piece, pieces
from segmend.merge.standing import begins
from segmend.merge.values import Merged, Range
from segmend.surgery.ops.merge.case import HOME, Case

LARGEST: Final = INT_MAX
"""Of the bytes of a segment, and of its offsets behind the first: both are Java ints."""


@frozen
class NewLog:
    """A segment as it will be; without pieces it is empty."""

    base: int
    pieces: tuple[Piece, ...] = ()


def first_offset(case: Case, merged: Merged) -> int:
    """Below it this replica stays what it is: it begins there, or others have deleted what is below."""
    return max(merged.first_offset, begins(case.own))


def laid_out(case: Case, merged: Merged) -> tuple[NewLog, ...]:
    """All segments, ascending; the last one ends at `next_offset`, so that no broker gives offsets anew."""
    sizes = {base: case.target.entry(name).size for base, name in case.target.layout.logs.items()}
    bases = sorted(sizes)
    ranges = list(_ranges(case, merged, bases))
    ordered = list(pieces(case.replicas, case.places, ranges))
    pieces_by_base = _rolled(ordered, case, bases, cap=max([*sizes.values(), 0]) or LARGEST)
    last = max((piece.last for piece in ordered), default=-1)
    for base in bases:  # A rolled segment without a batch yet, or one that compaction emptied.
        if base not in pieces_by_base and not sizes[base] and base <= max(merged.next_offset, last + 1):
            pieces_by_base[base] = []
    if last + 1 < merged.next_offset and max(pieces_by_base, default=-1) < merged.next_offset:
        pieces_by_base[merged.next_offset] = []
    if not pieces_by_base:
        pieces_by_base[merged.next_offset] = []
    return tuple(NewLog(base=base, pieces=tuple(pieces_by_base[base])) for base in sorted(pieces_by_base))


def _ranges(case: Case, merged: Merged, bases: Sequence[int]) -> Iterator[Range]:
    """Those of the merge from where this replica begins, cut where its segments do."""
    low, runs = first_offset(case, merged), case.own.runs
    wanted = [each for each in merged.ranges if each.last_offset >= low]
    if wanted and wanted[0].first_offset < low:
        wanted[0] = replace(wanted[0], first_offset=low)
    if runs and runs[0].first_offset < low:
        if wanted and wanted[0].replica == HOME and wanted[0].first_offset == low:
            wanted[0] = replace(wanted[0], first_offset=runs[0].first_offset)
        else:
            yield Range(replica=HOME, first_offset=runs[0].first_offset, last_offset=low - 1)
    for each in wanted:
        yield from [each] if each.replica == HOME else _cut_at(each, bases)


def _cut_at(whole: Range, bases: Sequence[int]) -> Iterator[Range]:
    first = whole.first_offset
    for base in bases:
        if first < base <= whole.last_offset:
            yield replace(whole, first_offset=first, last_offset=base - 1)
            first = base
    yield replace(whole, first_offset=first)


def _rolled(
    ordered: Sequence[Piece], case: Case, bases: Sequence[int], *, cap: int
) -> dict[int, list[Piece]]:
    """The pieces by the base offset of their segment.

    What is this replica's own stays in its segment, and what fills in between goes there, too. Behind that a
    new segment begins where the other log had one, or where it would be larger than any.
    """
    final = {piece.base_offset: at for at, piece in enumerate(ordered) if piece.replica is case.own}
    rolled: dict[int, list[Piece]] = {}
    base, size, last = -1, 0, -1
    for at, piece in enumerate(ordered):
        begun = _base(piece, at, case, bases, (base, size, last), cap=cap, final=final)
        if begun != base:
            assert begun not in rolled, "what is laid into a segment already would be lost"
            base, size = begun, 0
            rolled[base] = []
        rolled[base].append(piece)
        size, last = size + piece.size, piece.last
        if size > LARGEST or piece.last - base > LARGEST:
            raise SegmendError(
                f"{case.target.path}: a segment at offset {base} would be larger than any broker takes; "
                "merge into a new log: segmend rescue --as log-dir"
            )
    return rolled


def _base(
    piece: Piece, at: int, case: Case, bases: Sequence[int], so_far: tuple[int, int, int], *,
    cap: int, final: dict[int, int],
) -> int:  # fmt: skip
    base, size, last = so_far
    if piece.replica is case.own:
        return piece.base_offset
    own = bisect_right(bases, piece.first) - 1
    if own >= 0 and bases[own] > base:
        return bases[own]
    if base < 0:
        return max(piece.base_offset, 0) if piece.base_offset >= begins(case.own) else piece.first
    if final.get(base, -1) > at:
        return base
    begins_there = piece.base_offset > last
    full = size + piece.size > cap or piece.last - base > LARGEST
    return (piece.base_offset if begins_there else piece.first) if begins_there or full else base
