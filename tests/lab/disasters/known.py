"""Recorded disasters whose forecast is known to differ, each with the reason; to become empty.

The slow test of `test_disasters` fails when one is listed that agrees.
"""

from __future__ import annotations

from tests.lab.disasters.draw import Disaster

KNOWN: dict[str, dict[str, list[int]]] = {
    "a dir that fails over a new log behind a wrong topic id: that the log is then made in another one": {
        "4.0.1": [202612050328],
    },
    "what a coordinator wrote behind a cut is not told apart in the record, and counts as left by the load": {
        "2.8.2": [202612040412],
    },
    "two empty segments that begin inside the one before: at which of its offsets a consumer stops": {
        "1.1.0": [202612030314],
    },
}
"""By the reason, and then by release: the numbers in its record."""


def reasons(version: str) -> dict[int, str]:
    """Why forecasts of that release differ, by the number in its record."""
    return {number: why for why, found in KNOWN.items() for number in found.get(version, ())}


def reason(disaster: Disaster) -> str | None:
    """Why the forecast is known to differ, None if it is not."""
    return reasons(disaster.version).get(disaster.number)
