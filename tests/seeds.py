"""By which number the tests draw what they take, and whether they take all: CI has one, a sweep another."""

import os
from collections.abc import Sequence
from typing import TypeVar

NUMBER = "SEGMEND_LAB_SEED"
ALL = "SEGMEND_SWEEP"
Cell = TypeVar("Cell")
SEED = int(os.environ.get(NUMBER, "1"))
"""Always 1 in CI, so that a red CI means a change. What a sweep finds becomes a test of its own."""
SWEEP = os.environ.get(ALL) == "whole"
"""Whether nothing is left out that CI takes samples of."""


def sampled(whole: int, some: int) -> int:
    """The figure of a sweep, or that of CI: a number of cases, or each how many-eth is taken."""
    return whole if SWEEP else some


def some_of(cells: Sequence[Cell], each: int, first: int = 0) -> list[Cell]:
    """Of a matrix whose cells prove the same again CI takes each how many-eth cell, a sweep all."""
    return [*cells] if SWEEP else [*cells[first % each :: each]]
