"""Batches of compacted replicas at offsets that are not theirs: others have their bytes beside that.

No checksum covers a base offset, and compaction leaves gaps in which a wrong one fits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from segmend.formats.java_number import LONG_MAX
from segmend.merge.agreement import differences
from segmend.merge.branch import Branch, lacking
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, Spans, common, united
from segmend.merge.values import Batch


class Tie(NamedTuple):
    """The same batch at two places, and nothing tells which is its own; `kept` is the replica believed."""

    replica: int
    batch: Batch
    kept: int
    there: Batch


class Strayed(NamedTuple):
    """The branches without what is misplaced, and what could not be settled.

    `loose` has of each what stands beside a gap and is on no other replica at the same place.
    """

    branches: list[Branch]
    ties: list[Tie]
    loose: list[Spans]


def without_strayed(branches: Sequence[Branch], look: Look) -> Strayed:
    """Each branch without the batches that more replicas have at another offset, within a gap beside.

    Where as many have either, one that leaves no room beside it is in its place. Else nothing tells, and the
    one that leaves less is taken, of the first one.
    """
    ties = list[Tie]()
    strayed = [_without_strayed(number, branches, look, ties) for number in range(len(branches))]
    return Strayed([each for each, _ in strayed], ties, [loose for _, loose in strayed])


def _without_strayed(
    number: int, branches: Sequence[Branch], look: Look, ties: list[Tie]
) -> tuple[Branch, Spans]:
    branch, gone = branches[number], list[Span]()
    loose = united([(0, branch.thinned - 1)])
    for other, each in enumerate(branches):
        if other == number or not branch.thinned:
            continue
        both = (*differences(branch.parts, each.parts), *differences(each.parts, branch.parts))
        unlike, alone = common(united(both), [(0, branch.thinned - 1)]), list[Span]()
        if unlike:
            first, last = unlike[0][0], unlike[-1][1]
            mine, theirs = (look.batches(one, first, LONG_MAX) for one in (number, other))
            for here, there in _apart(mine, theirs, (first, last)):
                alone.append((here.first_offset, here.last_offset))
                if there is None:
                    continue
                votes = _holders(there, branches, look) - _holders(here, branches, look)
                theirs_fits, fits = _neighbours(there, other, look), _neighbours(here, number, look)
                if votes > 0 or (votes == 0 and (theirs_fits, number) > (fits, other)):
                    gone += [(one.first_offset, one.last_offset) for one in (here, there)]
                    if not votes and theirs_fits < 2:
                        ties.append(Tie(number, here, other, there))
        loose = common(loose, united(alone))
    return (lacking(branch, united(gone)) if gone else branch), loose


def _apart(
    mine: Iterable[Batch], theirs: Iterator[Batch], span: Span
) -> Iterator[tuple[Batch, Batch | None]]:
    """Batches beside a gap that the other replica has not there, and those with their bytes in the gap."""
    window: deque[Batch] = deque()
    following = next(theirs, None)
    for low, here, high in _with_room(mine, span[0]):
        if here.first_offset > span[1]:
            return
        while following is not None and following.first_offset <= high:
            window.append(following)
            following = next(theirs, None)
        while window and window[0].last_offset < low:
            window.popleft()
        if (low, high) == (here.first_offset, here.last_offset):
            continue
        same = [each for each in window if (each.size, each.crc) == (here.size, here.crc)]
        if all(each.first_offset != here.first_offset for each in same):
            yield here, same[0] if same else None


def _with_room(batches: Iterable[Batch], first: int) -> Iterator[tuple[int, Batch, int]]:
    """Each but the last of a log between the offsets up to which nothing else is."""
    low, held = first, None
    for each in batches:
        if held is not None:
            yield low, held, each.first_offset - 1
            low = held.last_offset + 1
        held = each


def _neighbours(batch: Batch, number: int, look: Look) -> int:
    """How many batches there are right before and right behind it."""
    beside = batch.first_offset - 1, batch.last_offset + 1
    return sum(any(look.batches(number, place, place)) for place in beside)


def _holders(batch: Batch, branches: Sequence[Branch], look: Look) -> int:
    span = batch.first_offset, batch.first_offset
    return sum(any(each == batch for each in look.batches(number, *span)) for number in range(len(branches)))
