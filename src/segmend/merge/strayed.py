"""Batches of compacted replicas at offsets that are not theirs: others have their bytes beside that.

No checksum covers a base offset, and compaction leaves gaps in which a wrong one fits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from segmend.formats.java_number import LONG_MAX
from segmend.merge.agreement import differences
from segmend.merge.branch import Branch, lacking
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, common, united
from segmend.merge.values import Batch


def without_strayed(branches: Sequence[Branch], look: Look) -> list[Branch]:
    """Each branch without the batches that more replicas have at another offset, within a gap beside.

    Where as many have either, one that leaves no room beside it is in its place.
    """
    return [_without_strayed(number, branches, look) for number in range(len(branches))]


def _without_strayed(number: int, branches: Sequence[Branch], look: Look) -> Branch:
    branch, gone = branches[number], list[Span]()
    for other, each in enumerate(branches):
        if other == number or not branch.thinned:
            continue
        both = (*differences(branch.parts, each.parts), *differences(each.parts, branch.parts))
        if unlike := common(united(both), [(0, branch.thinned - 1)]):
            first, last = unlike[0][0], unlike[-1][1]
            mine, theirs = (look.batches(one, first, LONG_MAX) for one in (number, other))
            for here, there in _elsewhere(mine, theirs, (first, last)):
                votes = _holders(there, branches, look) - _holders(here, branches, look)
                if votes > 0 or (votes == 0 and _is_wedged(there, other, look)):
                    gone += [(each.first_offset, each.last_offset) for each in (here, there)]
    return lacking(branch, united(gone)) if gone else branch


def _elsewhere(mine: Iterable[Batch], theirs: Iterator[Batch], span: Span) -> Iterator[tuple[Batch, Batch]]:
    """Batches beside a gap, and the ones with their bytes that the other replica has in that gap."""
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
        if same and all(each.first_offset != here.first_offset for each in same):
            yield here, same[0]


def _with_room(batches: Iterable[Batch], first: int) -> Iterator[tuple[int, Batch, int]]:
    """Each but the last of a log between the offsets up to which nothing else is."""
    low, held = first, None
    for each in batches:
        if held is not None:
            yield low, held, each.first_offset - 1
            low = held.last_offset + 1
        held = each


def _is_wedged(batch: Batch, number: int, look: Look) -> bool:
    """Whether there are batches right before and right behind it."""
    beside = batch.first_offset - 1, batch.last_offset + 1
    return all(any(look.batches(number, place, place)) for place in beside)


def _holders(batch: Batch, branches: Sequence[Branch], look: Look) -> int:
    span = batch.first_offset, batch.first_offset
    return sum(any(each == batch for each in look.batches(number, *span)) for number in range(len(branches)))
