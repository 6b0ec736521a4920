"""Recorded disasters whose forecast is known to differ, each with the reason; to become empty.

The slow test of `test_disasters` fails when one is listed that agrees.
"""

from __future__ import annotations

from tests.lab.disasters.draw import Disaster

KNOWN: dict[str, dict[str, list[int]]] = {
    "a dir no longer configured, or empty: ZooKeeper alone knows what was in it": {
        "1.1.0": [16],
        "2.5.1": [2, 18],
        "2.8.2": [23],
    },
    "meta.properties of one dir with another cluster id, under ZooKeeper": {
        "2.5.1": [22],
    },
    "a file in the place of a partition's directory: the process ends, or waits": {
        "3.7.2": [21],
        "4.3.1": [17],
    },
    "a dir offline from 3.7 on: topics in it are made again, in the other": {
        "4.0.1": [19],
        "4.1.1": [14],
        "4.3.1": [41],
    },
}
"""By the reason, and then by release: the numbers in its record."""


def reasons(version: str) -> dict[int, str]:
    """Why forecasts of that release differ, by the number in its record."""
    return {number: why for why, found in KNOWN.items() for number in found.get(version, ())}


def reason(disaster: Disaster) -> str | None:
    """Why the forecast is known to differ, None if it is not."""
    return reasons(disaster.version).get(disaster.number)
