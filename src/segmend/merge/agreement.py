"""Where two replicas have the same bytes: sums of hashes at common places tell, batches where they do not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from segmend.merge.branch import Part, Parts
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, Spans, united, without

_MASK = (1 << 64) - 1


class Stretch:
    """Neighbouring parts without a gap, and what they sum up to at each mark."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self._digests: list[int] = []

    @property
    def span(self) -> Span:
        return self.places[0], self.places[-1] - 1

    def add(self, part: Part) -> None:
        """One more part; one that was cut has no sums beyond its last whole mark."""
        run = part.run
        if not self.places:
            self.places, self._digests = [part.first], [0]
        digest = self._digests[-1]
        if part.first != run.first_offset:
            self._jump(part.last + 1)
            return
        for mark in run.marks:
            if mark.next_offset > part.last + 1:
                self._jump(part.last + 1)
                return
            self.places.append(mark.next_offset)
            self._digests.append(digest + mark.digest)
        if self.places[-1] <= part.last == run.last_offset:
            self.places.append(part.last + 1)
            self._digests.append(digest + run.digest)
        elif self.places[-1] <= part.last:
            self._jump(part.last + 1)

    def _jump(self, place: int) -> None:
        # An unlikely sum: no other replica's agrees, so the batches are looked at.
        self.places.append(place)
        self._digests.append(self._digests[-1] + (id(self) | 1))

    def digest(self, first: int, behind: int) -> int:
        at, to = bisect_left(self.places, first), bisect_left(self.places, behind)
        return (self._digests[to] - self._digests[at]) & _MASK


def stretches(parts: Parts, *, low: int) -> Iterator[Stretch]:
    """The parts that end above `low`, put together where no gap is between them."""
    joined: Stretch | None = None
    for part in islice(parts, bisect_left(parts.lasts, low), None):
        if joined is not None and joined.places[-1] != part.first:
            yield joined
            joined = None
        joined = joined or Stretch()
        joined.add(part)
    if joined is not None:
        yield joined


def disagreements(mine: Parts, others: Parts, look: Look, numbers: tuple[int, int], *, low: int) -> Spans:
    """Offsets from `low` on where both have sound batches that are not the same."""
    return united(
        each
        for pair in _meeting(stretches(mine, low=low), stretches(others, low=low))
        for first, last in _unproven(*pair)
        for each in _compared(look, numbers, max(first, low), last)
    )


def differences(mine: Parts, others: Parts) -> Iterator[Span]:
    """Offsets that the others have, and the sums do not show that this one has the same."""
    yield from without(others.held, mine.held)
    for pair in _meeting(stretches(mine, low=0), stretches(others, low=0)):
        yield from _unproven(*pair)


def _meeting(
    left: Iterator[Stretch], right: Iterator[Stretch]
) -> Iterator[tuple[Stretch, Stretch, int, int]]:
    """Two stretches and the offsets that both have, one after the other."""
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        first, last = max(one.span[0], other.span[0]), min(one.span[1], other.span[1])
        if first <= last:
            yield one, other, first, last
        if one.span[1] <= other.span[1]:
            one = next(left, None)
        else:
            other = next(right, None)


def _unproven(one: Stretch, other: Stretch, first: int, last: int) -> Iterator[Span]:
    """What of these offsets the sums do not show to be the same."""
    begin, end = bisect_left(one.places, first), bisect_right(one.places, last + 1)
    shared = [place for place in one.places[begin:end] if _has(other.places, place)]
    if not shared:
        yield first, last
        return
    if shared[0] > first:
        yield first, shared[0] - 1
    for place, following in pairwise(shared):
        if one.digest(place, following) != other.digest(place, following):
            yield place, following - 1
    if shared[-1] <= last:
        yield shared[-1], last


def _has(places: Sequence[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def _compared(look: Look, numbers: tuple[int, int], first: int, last: int) -> Iterator[Span]:
    ours, theirs = (look.batches(number, first, last) for number in numbers)
    mine, other = next(ours, None), next(theirs, None)
    while mine is not None and other is not None:
        if mine == other:
            mine, other = next(ours, None), next(theirs, None)
            continue
        if mine.last_offset >= other.first_offset and other.last_offset >= mine.first_offset:
            low = max(min(mine.first_offset, other.first_offset), first)
            yield low, min(max(mine.last_offset, other.last_offset), last)
        ahead = mine.last_offset, other.last_offset
        if ahead[0] <= ahead[1]:
            mine = next(ours, None)
        if ahead[1] <= ahead[0]:
            other = next(theirs, None)
