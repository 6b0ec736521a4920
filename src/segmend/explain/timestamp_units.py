"""Times as people state them, and timestamps that are no milliseconds: what some producers send.

Kafka's timestamps are milliseconds. Read as such, seconds of our days lie in 1970 and microseconds
in the year 58000; taken for what they are they lie between 2000 and 2100.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_FROM, _TO = 946_684_800_000, 4_102_444_800_000
UNITS: Final = {"seconds": (1, 1000), "microseconds": (1000, 1), "nanoseconds": (1_000_000, 1)}
"""Name to (divide by, multiply with) that makes milliseconds of it."""


def other_unit(timestamp_ms: int) -> str | None:
    """The unit that the number is probably in, if it is not milliseconds."""
    if _FROM <= timestamp_ms < _TO:
        return None
    units = (unit for unit in UNITS if _FROM <= in_milliseconds(timestamp_ms, unit) < _TO)
    return next(units, None)


def stated_ms(text: str) -> int:
    """Milliseconds of a date and time in ISO 8601, UTC if it does not say; raises as `fromisoformat`."""
    stated = datetime.fromisoformat(text)
    return round((stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp() * 1000)


def in_milliseconds(value: int, unit: str) -> int:
    """A number of that unit as a Kafka timestamp."""
    divide, multiply = UNITS[unit]
    return value // divide * multiply
