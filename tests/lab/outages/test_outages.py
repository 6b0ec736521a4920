"""Recorded outages of drawn clusters against today's forecast, without a broker."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.outages.compare import complaints
from tests.lab.outages.draw import Outage
from tests.lab.outages.trial import HERE, prepared, said

ROWS: list[dict[str, Any]] = [
    json.loads(line) for path in sorted(HERE.glob("*.jsonl")) for line in path.read_text().splitlines()
]
EACH = 12
"""The fast tests take one of so many."""
CASES = [
    pytest.param(row, id=row["outage"], marks=() if number % EACH == 0 else pytest.mark.slow)
    for number, row in enumerate(ROWS)
]


def lines_of(row: dict[str, Any], root: Path) -> list[dict[str, Any]]:
    outage = Outage.of(row["outage"])
    prepared(outage, root)
    return said(root, outage.up, outage.version)


@pytest.mark.parametrize("row", CASES)
def test_the_cluster_becomes_what_is_said(row: dict[str, Any], tmp_path: Path) -> None:
    assert complaints(lines_of(row, tmp_path), row) == []


def test_a_wrong_forecast_is_seen(tmp_path: Path) -> None:
    row = next(each for each in ROWS if each["elected"] and each.get("partitions"))
    lines = lines_of(row, tmp_path)
    for kind, key, wrong in (
        ("broker", "outcome", "refuses"),
        ("quorum", "leaders_possible", []),
        ("partition", "leaders_possible", [9]),
        ("partition", "refuses_acks_all", None),
    ):
        changed = copy.deepcopy(lines)
        for line in changed:
            if line["type"] == kind:
                line[key] = not line[key] if wrong is None else wrong
        assert complaints(changed, row), (kind, key)
