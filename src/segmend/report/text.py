"""Words and numbers for people: safe strings, sizes, times, durations. Pure functions."""

from __future__ import annotations

import os
import shlex
import time
import unicodedata
from functools import lru_cache

from segmend.wording import plural

_FOREVER = 10_000 * 365 * 86_400_000
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def clean(text: str) -> str:
    """A string that cannot steer a terminal: control, invisible and broken characters as escapes.

    Bytes of a file name that are no UTF-8 (surrogates, by Python's convention) become `\\xNN`.
    """
    if text.isprintable():
        return text
    return "".join(map(_clean_character, text))


def word(value: str) -> str:
    """A string as one word of a command that can be copied: nothing in it steers a terminal.

    What is no printable text is written as bash and zsh read it, `$'\\xff'`.
    """
    if value.isprintable():
        return shlex.quote(value)
    return "$'" + "".join(map(_typed, value)) + "'"


def quoted(command: str) -> str:
    """A command, its words quoted by `shlex`: unprintable characters leave their quotes."""
    if command.isprintable():
        return command
    return "".join(each if each.isprintable() else f"'$'{_typed(each)}''" for each in command)


def _typed(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


@lru_cache(maxsize=4096)
def _clean_character(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or character.encode(
        "unicode_escape", "backslashreplace"
    ).decode("ascii")


def size(count: int) -> str:
    """Bytes for people: `0 B`, `4.2 KiB`, `118 MiB`."""
    value, unit = float(count), 0
    while abs(value) >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or abs(value) >= 99.95 else 1
    return f"{value:.{digits}f} {_UNITS[unit]}"


def number(value: int | None) -> str:
    """An offset or a count; `-` for what is not known."""
    return "-" if value is None else str(value)


def when(milliseconds: int | None, *, precise: bool = False) -> str:
    """A Kafka timestamp in UTC; `-` for none (-1) and the bare number for one outside the calendar."""
    if milliseconds is None or milliseconds == -1:
        return "-"
    seconds, rest = divmod(milliseconds, 1000)
    shown = _calendar(seconds)
    if shown is None:
        return str(milliseconds)
    return f"{shown}.{rest:03d}" if precise else shown


@lru_cache(maxsize=1024)
def _calendar(seconds: int) -> str | None:
    """Date and time in UTC, None outside the years 1 to 9999."""
    try:
        fields = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return None
    if not 0 < fields.tm_year <= 9999:
        return None
    day = f"{fields.tm_year:04d}-{fields.tm_mon:02d}-{fields.tm_mday:02d}"
    return f"{day} {fields.tm_hour:02d}:{fields.tm_min:02d}:{fields.tm_sec:02d}"


def duration(seconds: float) -> str:
    """`850 ms`, `3.1 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def span(milliseconds: int) -> str:
    """A limit in milliseconds: `1 d`, `7 d`, `1 h 0 min`, `forever` for one of more than 10,000 years."""
    if milliseconds >= _FOREVER:
        return "forever"
    days = milliseconds / 86_400_000
    return f"{days:,.4g} d" if days >= 1 else duration(milliseconds / 1000)


def shorten(text: str, width: int) -> str:
    """At most `width` characters, an ellipsis in place of the rest; 0 is no bound."""
    return text if not width or len(text) <= width else text[: max(0, width - 1)] + "…"


def broker(number: int | None) -> str:
    """A broker in a sentence; `broker ?` when its disks do not say whose they are."""
    return "broker ?" if number is None else f"broker {number}"


def metadata_lost(records: int) -> str:
    """What a start cuts off the metadata log; without records it tells of what nobody can count."""
    return f"{plural(records, 'record') if records else 'a part'} of the cluster's metadata lost"
