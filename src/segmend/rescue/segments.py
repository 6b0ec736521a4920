"""In which segments the chosen batches come to lie: rolled where their own logs were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen
from segmend.merge.pieces import Piece

LARGEST: Final = INT_MAX
"""Of the bytes of a segment, and of its offsets behind the first: both are Java ints."""


@frozen
class NewSegment:
    """A segment to write."""

    base: int
    pieces: tuple[Piece, ...]


def roll(pieces: Iterable[Piece], cap: int, next_offset: int) -> Iterator[NewSegment]:
    """The segments, ascending; none but the last is empty. `cap` is the largest of the logs, in bytes.

    A new one begins where the log of the next batch began behind what was written so far; and where
    pieces of several replicas would make a segment larger than any of theirs. The last one ends at
    `next_offset`: where the last offsets are lost it is empty, so that no broker gives them out again.
    """
    base, held, size, last = 0, list[Piece](), 0, -1
    for piece in pieces:
        begins = not held or piece.base_offset > last
        full = size + piece.size > min(max(cap, 0), LARGEST) or piece.last - base > LARGEST
        if held and (begins or full):
            yield NewSegment(base=base, pieces=tuple(held))
        if not held or begins or full:
            base = piece.base_offset if begins else piece.first
            held, size = [], 0
        held.append(piece)
        size, last = size + piece.size, piece.last
    if held:
        yield NewSegment(base=base, pieces=tuple(held))
    if not held or last + 1 < next_offset:
        yield NewSegment(base=next_offset, pieces=())
