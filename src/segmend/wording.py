"""Numbers with their nouns, as every sentence for people has them."""

from __future__ import annotations


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 segment`, `2 segments`, with thousands set apart: `12,000 segments`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
