"""A time as people give it: ISO 8601, milliseconds, or so long from now."""

from __future__ import annotations

import argparse
import re
import time

from segmend.explain.timestamp_units import other_unit, stated_ms

_FROM_NOW = re.compile(r"([+-])(\d{1,6})(ms|s|m|h|d|w)")
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def moment(value: str) -> int:
    """Milliseconds since 1970, for argparse; a time without a zone is UTC."""
    ahead = _FROM_NOW.fullmatch(value)
    if ahead is not None:
        distance = int(ahead[2]) * _UNITS[ahead[3]]
        return now_ms() + (distance if ahead[1] == "+" else -distance)
    if value.isascii() and value.isdecimal() and len(value) > 8:
        unit = other_unit(int(value))
        if unit is not None or len(value) > 15:
            raise argparse.ArgumentTypeError(f"'{value}' looks like {unit or 'no time'}: give milliseconds")
        return int(value)
    try:
        return stated_ms(value)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"'{value}' is no time such as 2026-12-01T08:00, 2026-12-01T08:00+02:00, 1795366572000 or +24h"
        ) from None


def now_ms() -> int:
    return time.time_ns() // 1_000_000
