"""Sets of offsets as sorted, disjoint pairs of first and last."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge as in_order
from typing import overload

from segmend.merge.packed import narrow, with_number

Span = tuple[int, int]


class Spans(Sequence[Span]):
    """Such a set as two columns: very many of them cost little."""

    __slots__ = ("firsts", "lasts")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self.firsts, self.lasts = narrow(()), narrow(())
        for first, last in spans:
            self.add(first, last)

    def add(self, first: int, last: int) -> None:
        """One that begins behind all others."""
        self.firsts = with_number(self.firsts, first)
        self.lasts = with_number(self.lasts, last)

    def join(self, first: int, last: int) -> None:
        """One that begins no earlier than the last one."""
        if self.lasts and first <= self.lasts[-1] + 1:
            if last > self.lasts[-1]:
                self.lasts.pop()
                self.lasts = with_number(self.lasts, last)
        else:
            self.add(first, last)

    def __len__(self) -> int:
        return len(self.firsts)

    def __iter__(self) -> Iterator[Span]:
        return zip(self.firsts, self.lasts, strict=True)

    @overload
    def __getitem__(self, at: int) -> Span: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Span]: ...
    def __getitem__(self, at: int | slice) -> Span | Sequence[Span]:
        if isinstance(at, slice):
            return [*zip(self.firsts[at], self.lasts[at], strict=True)]
        return self.firsts[at], self.lasts[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])


def united(spans: Iterable[Span]) -> Spans:
    """All of them, neighbours joined."""
    ascending = [Spans()]
    for first, last in spans:
        if last < first:
            continue
        if ascending[-1] and first < ascending[-1].firsts[-1]:
            ascending.append(Spans())
        ascending[-1].join(first, last)
    if len(ascending) == 1:
        return ascending[0]
    joined = Spans()
    for first, last in in_order(*ascending):
        joined.join(first, last)
    return joined


def without(spans: Iterable[Span], taken: Sequence[Span]) -> Spans:
    """What of `spans` is not in `taken`; both are `united`."""
    taken = taken if isinstance(taken, Spans) else Spans(taken)
    firsts, lasts = taken.firsts, taken.lasts
    left = Spans()
    at = 0
    for first, last in spans:
        here = at = _reaching(lasts, first, at)
        while here < len(firsts) and firsts[here] <= last:
            if firsts[here] > first:
                left.add(first, firsts[here] - 1)
            first = max(first, lasts[here] + 1)
            here += 1
        if first <= last:
            left.add(first, last)
    return left


def _reaching(lasts: Sequence[int], offset: int, at: int) -> int:
    """The first of them, from number `at` on, that ends there or behind; near ones are found soonest."""
    step = 1
    while at + step <= len(lasts) and lasts[at + step - 1] < offset:
        at += step
        step *= 2
    return bisect_left(lasts, offset, at, min(at + step, len(lasts)))


def common(spans: Sequence[Span], others: Sequence[Span]) -> Spans:
    return without(spans, without(spans, others))


def has(spans: Spans, first: int, last: int | None = None) -> bool:
    """Whether an offset is in it, or all of `first` to `last`."""
    at = bisect_right(spans.firsts, first) - 1
    return at >= 0 and spans.lasts[at] >= (first if last is None else last)


def ends(spans: Iterable[Span]) -> Iterator[int]:
    """Where each begins, and what is behind it."""
    for first, last in spans:
        yield first
        yield last + 1


def size(spans: Iterable[Span]) -> int:
    return sum(last - first + 1 for first, last in spans)
