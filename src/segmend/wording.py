"""Numbers with their nouns and lists of names, as every sentence for people has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_LONGEST: Final = 200


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 segment`, `2 segments`, with thousands set apart: `12,000 segments`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def few(names: Sequence[str], shown: int = 20, longest: int | None = _LONGEST) -> str:
    """`a, b, c`, and how many more there are; each cut off where it is too long: a file may be garbage."""
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return ", ".join(name[:longest] for name in names[:shown]) + more
