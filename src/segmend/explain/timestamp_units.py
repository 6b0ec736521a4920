"""Times as people state them, read here alone; and timestamps that are no milliseconds, as some send them.

Kafka's timestamps are milliseconds. Read as such, seconds of our days lie in 1970 and microseconds
in the year 58000; taken for what they are they lie between 2000 and 2100.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Final

from segmend.formats.java_number import LONG_MAX

_FROM, _TO = 946_684_800_000, 4_102_444_800_000
UNITS: Final = {"seconds": (1, 1000), "microseconds": (1000, 1), "nanoseconds": (1_000_000, 1)}
"""Name to (divide by, multiply with) that makes milliseconds of it."""


def other_unit(timestamp_ms: int) -> str | None:
    """The unit that the number is probably in, if it is not milliseconds."""
    if _FROM <= timestamp_ms < _TO:
        return None
    units = (unit for unit in UNITS if _FROM <= in_milliseconds(timestamp_ms, unit) < _TO)
    return next(units, None)


FORMS: Final = "2026-11-21, 2026-11-21T10:00:00Z, 2026-11-21T12:00+02:00, 1795255200000 (ms) or -24h"
"""How a time is given, in words."""
_FROM_NOW: Final = re.compile(r"([+-])(\d{1,6})(ms|s|m|h|d|w)", re.ASCII)
_SPANS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_DATE: Final = re.compile(
    r"(19|20)\d\d((0[1-9]|1[0-2])((0[1-9]|[12]\d|3[01])([01]\d|2[0-3])?([0-5]\d){0,2})?)?"
)
"""2026, 202611, 20261121, 2026112110, ...: a number that is read as a date by whoever wrote it."""


def stated_ms(text: str) -> int:
    """Milliseconds since 1970 of a time in one of the `FORMS`, UTC if it does not say; now may move on.

    ValueError, in a line, for what is none, and for a number that may be seconds, another unit, or a date.
    """
    ahead = _FROM_NOW.fullmatch(text)
    if ahead is not None:
        distance = int(ahead[2]) * _SPANS[ahead[3]]
        return now_ms() + (distance if ahead[1] == "+" else -distance)
    if text.isascii() and text.isdecimal():
        return _number(text)
    try:
        stated = datetime.fromisoformat(text)
        return round((stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is no time such as {FORMS}") from None


def _number(text: str) -> int:
    value = int(text) if len(text) < 20 else LONG_MAX + 1
    if _FROM <= value < _TO:
        return value
    looks = "a date" if _DATE.fullmatch(text) else other_unit(value)
    if looks is None and value <= LONG_MAX:
        return value
    told = "is no time" if looks is None else f"looks like {looks}: it is no time"
    raise ValueError(f"'{text}' {told} such as {FORMS}")


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def in_milliseconds(value: int, unit: str) -> int:
    """A number of that unit as a Kafka timestamp."""
    divide, multiply = UNITS[unit]
    return value // divide * multiply
