"""The drawn upgrades that are recorded against today's forecast, without a broker."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.unpack import unpack
from tests.lab.upgrades_drawn import ARCHIVE, Row, Upgrade, compared, drawn_at, recorded

EACH = 6
"""The fast tests take one of so many."""
CASES = [
    pytest.param(row, id=row["n"], marks=() if number % EACH == 0 else pytest.mark.slow)
    for number, row in enumerate(recorded())
]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="upgrades-") as work:
        yield unpack(ARCHIVE, Path(work))


@pytest.mark.parametrize("row", CASES)
def test_it_ends_as_forecast(row: Row, home: Path) -> None:
    one = {key: each for key, each in row.items() if key not in ("n", "verdict")}
    assert compared(Upgrade(**one), row["verdict"], home / row["n"]) == []


def test_a_draw_is_the_same_each_time() -> None:
    found = [drawn_at(3, number) for number in range(30)]
    assert found == [drawn_at(3, number) for number in range(30)]
    assert {kind for each in found for kind, _ in each.parts} == {"topic", "broker", "file", "level"}
