"""What somebody may have meant who typed a word that is none of ours."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is fewest slips of the keyboard away, if they are few enough for its length."""
    lower = word.lower()
    slips = {each: _slips(lower, each.lower()) for each in known}
    # Of words as far away, the one that begins like it: few type the first letters wrong.
    best = min(slips, key=lambda each: (slips[each], -_begins_alike(lower, each.lower()), each), default=None)
    return best if best is not None and slips[best] <= max(1, len(best.strip("-")) // 3) else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """To be put behind a complaint: nothing, or the question."""
    meant = nearest(word, known)
    return "" if meant is None else question([meant])


def question(meant: Iterable[str]) -> str:
    """To be put behind a complaint: which of these was meant."""
    return f"; did you mean {' or '.join(map(repr, meant))}?"


def _begins_alike(one: str, other: str) -> int:
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in alike)


def _slips(one: str, other: str) -> int:
    """Letters put in, left out, replaced, or exchanged with their neighbour (Damerau, Levenshtein)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        earlier, before, row = before, row, [i + 1]
        for j, wanted in enumerate(other):
            least = min(row[j] + 1, before[j + 1] + 1, before[j] + (letter != wanted))
            if i and j and letter == other[j - 1] and one[i - 1] == wanted:
                least = min(least, earlier[j - 1] + 1)
            row.append(least)
    return row[-1]
