"""Recorded disasters whose forecast is known to differ, each with the reason; to become empty.

The slow test of `test_disasters` fails when one is listed that agrees.
"""

from __future__ import annotations

from tests.lab.disasters.draw import Disaster

KNOWN: dict[str, dict[str, list[int]]] = {
    "KRaft metadata hurt": {
        "3.6.2": [21],
        "3.7.2": [5, 11],
    },
    "a damaged metadata snapshot or log": {
        "3.3.2": [15],
        "3.9.2": [4],
    },
    "a dir fails while a log of it with an open transaction waits to be loaded": {
        "3.7.2": [28],
        "4.1.1": [27],
        "4.2.0": [23],
    },
    "a log dir gone, dropped, empty or a file": {
        "1.1.0": [12, 16],
        "2.5.1": [2, 15, 18, 21],
        "2.8.2": [2, 23],
        "3.7.2": [21],
        "4.1.1": [14],
        "4.3.1": [17],
    },
    "meta.properties": {
        "2.5.1": [22],
    },
    "metadata.version that the release does not know": {
        "3.7.2": [18],
        "3.9.2": [22],
        "4.1.1": [5],
    },
    "one topic id that does not fit, and the broker leads no partition at all": {
        "3.3.2": [25],
        "3.6.2": [4, 15],
        "3.7.2": [4],
        "3.9.2": [32],
        "4.0.1": [12],
        "4.1.1": [19],
        "4.2.0": [6, 18],
        "4.3.1": [8],
    },
    "partitions expected in a dir that is offline or gone: leaderless, no line": {
        "4.3.1": [2],
    },
    "partitions of an offline dir created again, empty, on the other (before JBOD)": {
        "3.6.2": [2],
        "4.0.1": [19],
    },
    "the dir of the metadata log fails, and 3.3 starts without it": {
        "3.3.2": [7],
    },
}
"""By the reason, and then by release: the numbers in its record."""


def reasons(version: str) -> dict[int, str]:
    """Why forecasts of that release differ, by the number in its record."""
    return {number: why for why, found in KNOWN.items() for number in found.get(version, ())}


def reason(disaster: Disaster) -> str | None:
    """Why the forecast is known to differ, None if it is not."""
    return reasons(disaster.version).get(disaster.number)
