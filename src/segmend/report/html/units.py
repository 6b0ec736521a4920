"""Numbers as people read them: bytes, counts, times, ages. Nothing here knows a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from segmend.explain.timestamp_units import in_milliseconds, other_unit
from segmend.report import text
from segmend.wording import plural

_MS_PER_YEAR: Final = 31_556_952_000
_LAST_DATETIME_MS: Final = 253_402_300_799_999
_AGE_UNITS: Final = (("year", _MS_PER_YEAR), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))


def count(number: int | None) -> str:
    """`12,345`; an em dash where the disk does not say."""
    return "—" if number is None else f"{number:,}".replace("-", "−")


def size(number: int | None) -> str:
    """Bytes as the terminal shows them: `1.2 GiB`."""
    return "—" if number is None else text.size(number)


def percent(part: float, whole: float) -> float:
    """`part` of `whole` in percent, between 0 and 100, for a width; 0 of nothing is 0."""
    return 0.0 if whole <= 0 else round(min(100.0, max(0.0, 100.0 * part / whole)), 3)


def share(part: float, whole: float) -> str:
    """The same for reading: `12 %`, `0.4 %`, `<0.1 %`."""
    value = percent(part, whole)
    if 0 < value < 0.1:
        return "<0.1 %"
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"


def instant(ms: int | None) -> str:
    """A timestamp in milliseconds as UTC; nonsense as it is, or by the unit that it is in."""
    if ms is None or ms == -1:
        return "no time"
    if 0 <= ms <= _LAST_DATETIME_MS:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    unit = other_unit(ms)
    return f"no date ({ms})" if unit is None else f"{instant(in_milliseconds(ms, unit))} in {unit}"


def age(ms: int) -> str:
    """A length of time with its largest unit: `3 days`, `1.5 years`, `40 seconds`."""
    for name, length in _AGE_UNITS:
        if ms >= length:
            value = ms / length
            shown = f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:,.0f}"
            return f"{shown} {name if shown == '1' else name + 's'}"
    return plural(ms // 1000, "second")


def seconds(value: float | None) -> str:
    """How long a run took: `840 ms`, `12.4 s`, `3 min 20 s`."""
    return "—" if value is None else text.duration(value)


def shortened(words: str, limit: int) -> str:
    """At most `limit` characters; the middle goes, for paths differ at both ends."""
    if len(words) <= limit:
        return words
    head = (limit - 1) * 2 // 3
    return f"{words[:head]}…{words[len(words) - (limit - 1 - head) :]}"
