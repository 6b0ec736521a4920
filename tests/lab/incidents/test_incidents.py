"""The recorded incidents against today's forecast, without a broker."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.disasters.bases import RELEASES
from tests.lab.disasters.compare import wrong
from tests.lab.disasters.files import fingerprint, look
from tests.lab.disasters.run import scratch
from tests.lab.incidents.draw import Incident, drawn_at
from tests.lab.incidents.known import UNSEEN
from tests.lab.incidents.play import ALL_CLEAR, Row, archive, compared, laid_out, rows_of, scene_of

ROWS = [
    (version, row)
    for version in RELEASES
    for row in rows_of(version)
    if not (os.geteuid() and Incident.of(row["incident"]).uid)  # only root gives files away
]
EACH = 8
"""The fast tests take one of so many."""
CASES = [
    pytest.param(version, row, id=row["incident"], marks=() if number % EACH == 0 else pytest.mark.slow)
    for number, (version, row) in enumerate(ROWS)
]


@pytest.fixture(scope="module")
def homes() -> Iterator[dict[str, Path]]:
    """The files of all records, by release, where any user comes in."""
    root = scratch("incidents")
    found = {version: root / version for version in RELEASES if archive(version).exists()}
    for version, home in found.items():
        laid_out(version, home)
    yield found
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.parametrize(("version", "row"), CASES)
def test_it_ends_as_forecast(version: str, row: Row, homes: dict[str, Path]) -> None:
    incident = Incident.of(row["incident"])
    scene = scene_of(incident, homes[version], row)
    assert fingerprint(look(scene.root)) == row["hurt"], "other files than those that were recorded"
    points = wrong(compared(incident, row, scene))
    assert [each for each in points if not each.startswith(ALL_CLEAR)] == []
    assert bool(points) == (row["incident"] in UNSEEN), points


def test_a_draw_is_the_same_each_time() -> None:
    found = [drawn_at("4.3.1", 3, number) for number in range(30)]
    assert found == [drawn_at("4.3.1", 3, number) for number in range(30)]
    assert [Incident.of(each.words) for each in found] == found


def test_it_ends_down() -> None:
    for number in range(100):
        acts = [act for act in drawn_at("3.9.2", 5, number).acts if act in ("start", "stop", "kill")]
        assert acts == [act for pair in zip(["start"] * 9, acts[1::2], strict=False) for act in pair]
