"""Numbers in text as Java reads them: no spaces, no underscores, a sign, a range."""

from __future__ import annotations

import re

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

# Leading zeros have no limit in Java; the length bound keeps the conversion linear.
_NUMBER = re.compile(r"[+-]?0*(?:[0-9]{1,19}|(?<=0))")
# `Character.digit` takes every decimal digit of the basic plane, as \d does.
_FOREIGN = re.compile(r"[^\D\U00010000-\U0010ffff]")


def _parse(text: str, low: int, high: int) -> int | None:
    text = text if text.isascii() else _FOREIGN.sub(lambda digit: str(int(digit[0])), text)
    if not _NUMBER.fullmatch(text):
        return None
    number = _value(text)
    return number if low <= number <= high else None


def _value(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").lstrip("0")
    return sign * int(digits) if digits else 0


def parse_int(text: str) -> int | None:
    """`Integer.parseInt`, or None where it throws a NumberFormatException."""
    return _parse(text, INT_MIN, INT_MAX)


def parse_long(text: str) -> int | None:
    """`Long.parseLong`, or None where it throws a NumberFormatException."""
    return _parse(text, LONG_MIN, LONG_MAX)


def parse_double(text: str) -> float | None:
    """`Double.parseDouble` of a decimal number, or None where it throws a NumberFormatException."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def wrap_int(number: int) -> int:
    return (number - INT_MIN & 0xFFFFFFFF) + INT_MIN


def wrap_long(number: int) -> int:
    return (number - LONG_MIN & 0xFFFFFFFFFFFFFFFF) + LONG_MIN
