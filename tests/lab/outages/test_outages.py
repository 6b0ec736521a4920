"""Recorded outages of drawn clusters against today's forecast, without a broker."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.disasters.compare import wrong
from tests.lab.outages.compare import complaints
from tests.lab.outages.draw import Outage
from tests.lab.outages.trial import HERE, hurt, prepared, said
from tests.seeds import SWEEP

ROWS: list[dict[str, Any]] = [
    json.loads(line) for path in sorted(HERE.glob("*.jsonl")) for line in path.read_text().splitlines()
]
LEFT_OPEN = {
    "4.0.1-lax 2,3 no-metadata@2:pair-1#269 killed@1:any-1#64",
    "4.2.0-changed 1,2,3 restored@1:d0#0 restored@3:all#0",
}
"""Of these alone the forecast would be wrong, had it not named as unknown what it hangs on."""
EACH = 24
"""The fast tests take one of so many, CI every third one and those that leave something open, a sweep all."""
CASES = [
    pytest.param(row, id=row["outage"], marks=() if number % EACH == 0 else pytest.mark.slow)
    for number, row in enumerate(ROWS)
    if SWEEP or number % 3 == 0 or row["outage"] in LEFT_OPEN
]


def lines_of(row: dict[str, Any], root: Path) -> list[dict[str, Any]]:
    outage = Outage.of(row["outage"])
    prepared(outage, root)
    assert hurt(root) == row["hurt"], "other files than those that were recorded: record it again"
    return said(root, outage.up, outage.version)


@pytest.mark.parametrize("row", CASES)
def test_the_cluster_becomes_what_is_said(row: dict[str, Any], tmp_path: Path) -> None:
    points = complaints(lines_of(row, tmp_path), row)
    assert wrong(points) == []
    assert bool(points) == (row["outage"] in LEFT_OPEN), points


def test_a_wrong_forecast_is_seen(tmp_path: Path) -> None:
    row = next(each for each in ROWS if each["elected"] and each.get("partitions"))
    lines = lines_of(row, tmp_path)
    for kind, key, other in (
        ("broker", "outcome", "refuses"),
        ("quorum", "leaders_possible", []),
        ("partition", "leaders_possible", [9]),
        ("partition", "refuses_acks_all", None),
    ):
        changed = copy.deepcopy(lines)
        for line in changed:
            if line["type"] == kind:
                line[key] = not line[key] if other is None else other
        assert complaints(changed, row), (kind, key)
