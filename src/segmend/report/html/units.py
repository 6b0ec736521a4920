"""Numbers as people read them: bytes, counts, times, ages. Nothing here knows a table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_MS_PER_YEAR: Final = 31_556_952_000
_LAST_DATETIME_MS: Final = 253_402_300_799_999
_BYTE_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_AGE_UNITS: Final = (("year", _MS_PER_YEAR), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))


def count(number: int | None) -> str:
    """`12,345`; an em dash where the disk does not say."""
    return "—" if number is None else f"{number:,}".replace("-", "−")


def plural(number: int, noun: str, many: str | None = None) -> str:
    """`1 broker`, `2 brokers`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def size(number: int | None) -> str:
    """Bytes in binary units with three significant digits: `1.21 GiB`."""
    if number is None:
        return "—"
    value, unit = float(number), 0
    while abs(value) >= 1000 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    if unit == 0:
        return plural(number, "byte")
    return f"{value:.{_decimals(value)}f} {_BYTE_UNITS[unit]}"


def _decimals(value: float) -> int:
    return 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0


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
    """A timestamp in milliseconds as UTC; a record's nonsense is told as its year."""
    if ms is None or ms == -1:
        return "no time"
    if 0 <= ms <= _LAST_DATETIME_MS:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"year {1970 + ms // _MS_PER_YEAR:,}".replace("-", "−")


def age(ms: int) -> str:
    """A length of time with its largest unit: `3 days`, `1.5 years`, `40 seconds`."""
    for name, length in _AGE_UNITS:
        if ms >= length:
            value = ms / length
            text = f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:,.0f}"
            return f"{text} {name if text == '1' else name + 's'}"
    return plural(ms // 1000, "second")


def seconds(value: float | None) -> str:
    """How long a run took: `840 ms`, `12.4 s`, `3 min 20 s`."""
    if value is None:
        return "—"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters; the middle goes, for paths differ at both ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"
