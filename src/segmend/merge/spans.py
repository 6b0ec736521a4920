"""Sets of offsets as sorted, disjoint pairs of first and last."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[int, int]


def united(spans: Iterable[Span]) -> list[Span]:
    """All of them, neighbours joined."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if last < first:
            continue
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def without(spans: Sequence[Span], taken: Sequence[Span]) -> list[Span]:
    """What of `spans` is not in `taken`; both are `united`."""
    left = []
    at = 0
    for span in spans:
        first, last = span
        here = at = _reaching(taken, first, at)
        while here < len(taken) and taken[here][0] <= last:
            if taken[here][0] > first:
                left.append((first, taken[here][0] - 1))
            first = max(first, taken[here][1] + 1)
            here += 1
        if first <= last:
            left.append(span if first == span[0] else (first, last))
    return left


def _reaching(spans: Sequence[Span], offset: int, at: int) -> int:
    """The first of them, from number `at` on, that ends there or behind; near ones are found soonest."""
    step = 1
    while at + step <= len(spans) and spans[at + step - 1][1] < offset:
        at += step
        step *= 2
    return bisect_left(spans, offset, at, min(at + step, len(spans)), key=last_of)


def common(spans: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    return without(spans, without(spans, others))


def has(spans: Sequence[Span], offset: int) -> bool:
    at = bisect_right(spans, offset, key=first_of) - 1
    return at >= 0 and spans[at][1] >= offset


def first_of(span: Span) -> int:
    return span[0]


def last_of(span: Span) -> int:
    """Where it ends."""
    return span[1]


def size(spans: Iterable[Span]) -> int:
    return sum(last - first + 1 for first, last in spans)
