"""Recorded disasters whose forecast is known to differ, each with the reason.

The slow test of `test_disasters` fails when one is listed that agrees.
"""

from __future__ import annotations

from tests.lab.disasters.draw import Disaster

KNOWN: dict[str, dict[str, list[int]]] = {
    "2 GiB of zeros behind a log are not read without --deep, as it says": {"1.1.0": [202611240600]},
}
"""By the reason, and then by release: the numbers in its record."""


def reasons(version: str) -> dict[int, str]:
    """Why forecasts of that release differ, by the number in its record."""
    return {number: why for why, found in KNOWN.items() for number in found.get(version, ())}


def reason(disaster: Disaster) -> str | None:
    """Why the forecast is known to differ, None if it is not."""
    return reasons(disaster.version).get(disaster.number)
