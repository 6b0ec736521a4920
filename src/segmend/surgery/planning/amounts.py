"""Figures as a person writes them; each raises `UsageError` for what is none."""

from __future__ import annotations

import re
from typing import Final

from segmend.errors import UsageError

_BYTES: Final = re.compile(r"(\d{1,15})(?:\.(\d{1,3}))?\s*([KMGTP]?)(i?)B?", re.ASCII | re.IGNORECASE)
_POWER: Final = {letter: power for power, letter in enumerate(("", "K", "M", "G", "T", "P"))}
_PERCENT: Final = re.compile(r"(\d{1,2}(?:\.\d{1,3})?)\s*%?", re.ASCII)
_DAYS: Final = re.compile(r"\d{1,4}(\.\d{1,3})?", re.ASCII)


def size(value: str) -> int:
    """`40GB`, `1.5GiB`, `500000`: a number of bytes; GB is 10^9, GiB (and G, as of `df -h`) 2^30."""
    match = _BYTES.fullmatch(value.strip())
    count = 0
    if match is not None:
        decimal = value.upper().rstrip().endswith("B") and not match[4]
        whole, rest = int(match[1]), int((match[2] or "0").ljust(3, "0"))
        count = (whole * 1000 + rest) * (1000 if decimal else 1024) ** _POWER[match[3].upper()] // 1000
    if count <= 0:
        raise UsageError(f"'{value}' is no number of bytes; write 40GB or 512MiB")
    return count


def rate(value: str) -> int:
    """`50MB/s`, or `50MB`: bytes a second."""
    try:
        return size(value.strip().removesuffix("/s"))
    except UsageError:
        raise UsageError(f"'{value}' is no number of bytes a second; write 50MB/s") from None


def size_or_nothing(value: str) -> int:
    return 0 if value.strip() == "0" else size(value)


def plain_bytes(value: str) -> int:
    """Digits, as Kafka's own settings have them."""
    if not value.isdecimal() or len(value) > 9:
        raise UsageError(f"'{value}' is no number of bytes")
    return int(value)


def percent(value: str) -> float:
    """`5%`, or `5`, as a fraction."""
    match = _PERCENT.fullmatch(value.strip())
    if match is None:
        raise UsageError(f"'{value}' is no percentage; write 5%")
    return float(match[1]) / 100


def days(value: str) -> float:
    """A number of days, perhaps with a fraction."""
    if not _DAYS.fullmatch(value):
        raise UsageError(f"'{value}' is no number of days")
    return float(value)


def node_id(value: str) -> int:
    """The id of a broker or controller."""
    if not value.isascii() or not value.isdecimal() or int(value) >= 1 << 31:
        raise UsageError(f"'{value}' is no node id; give a number from 0 on")
    return int(value)
