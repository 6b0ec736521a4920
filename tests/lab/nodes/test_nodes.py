"""The forecast against whole nodes that were hurt and started: see `tests.lab.nodes.record`."""

from pathlib import Path

import pytest

from tests.golden.unpack import unpack
from tests.lab.nodes.base import archive
from tests.lab.nodes.compare import disagreements, disasters, forecasts, names, recorded

EACH = 20
"""The fast tests take one disaster of so many of each base; the slow ones all."""
KNOWN = {
    ("3.9.2", "data-dir-not-given"): (
        "whether the new, empty log is led depends on what comes first: that the node reports the dir in "
        "which it lies, or that the controller elects its leader; it was seen either way"
    ),
    ("3.3.2", "quorum-of-another"): (
        "without server.properties nothing tells that the node is a voter itself; with it both agree"
    ),
}
"""What differs, and why."""


def differing(name: str, step: int, tmp_path: Path) -> dict[str, list[str]]:
    """The disasters of a base on which forecast and node disagree."""
    source, seen = unpack(archive(name), tmp_path / "base"), recorded(name)
    found: dict[str, list[str]] = {}
    for disaster in disasters(name)[::step]:
        for lines in forecasts(name, disaster, source, tmp_path / "trial"):
            found.setdefault(disaster.name, []).extend(disagreements(seen[disaster.name], seen, lines))
    return {disaster: points for disaster, points in found.items() if points}


def expected(name: str, step: int) -> set[str]:
    """Those of the disasters looked at that are known to differ."""
    looked_at = {disaster.name for disaster in disasters(name)[::step]}
    return {disaster for base, disaster in KNOWN if base == name and disaster in looked_at}


@pytest.mark.sample
@pytest.mark.parametrize("name", names())
def test_some_nodes_start_as_forecast(name: str, tmp_path: Path) -> None:
    found = differing(name, EACH, tmp_path)
    assert found.keys() == expected(name, EACH), found


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_node_starts_as_forecast(name: str, swift_path: Path) -> None:
    found = differing(name, 1, swift_path)
    assert found.keys() == expected(name, 1), found


def test_a_forecast_that_says_too_much_is_caught(tmp_path: Path) -> None:
    """The lines of a healthy node, held against one that has lost its metadata."""
    seen = recorded("4.3.1-static")
    healthy = next(each for each in disasters("4.3.1-static") if each.name == "nothing")
    source = unpack(archive("4.3.1-static"), tmp_path / "base")
    lines = next(forecasts("4.3.1-static", healthy, source, tmp_path / "trial"))
    assert disagreements(seen["nothing"], seen, lines) == []
    for name in ("metadata-gone", "id-of-another-topic", "vanished", "snapshot-empty", "offline-meta-second"):
        assert disagreements(seen[name], seen, lines), name
