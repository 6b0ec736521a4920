"""A range of numbers as people give it."""

from __future__ import annotations

import argparse
from typing import Final

_LAST: Final = 2**63 - 1


def number_range(value: str) -> tuple[int, int]:
    """`5`, `5..9`, `5..`, `..9`: from and to, both inclusive."""
    first, dots, last = value.partition("..")
    try:
        low = int(first) if first else 0
        high = (int(last) if last else _LAST) if dots else low
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{value}' is no range such as 100, 100..200, 100.. or ..200"
        ) from None
    if not (first or last) or not 0 <= low <= high:
        raise argparse.ArgumentTypeError(f"'{value}' is no range such as 100, 100..200, 100.. or ..200")
    return low, high
