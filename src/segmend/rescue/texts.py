"""Values of a record as text that loses nothing."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CALENDAR: Final = (-62_135_596_800_000, 253_402_300_799_999)
"""Milliseconds of the years 1 to 9999."""
_LONG: Final = 1 << 20
_PIECE: Final = 3 << 18  # a multiple of 3 has no padding


def base64(data: bytes | None) -> str | None:
    """Bytes as base64; null is null."""
    return None if data is None else b2a_base64(data, newline=False).decode()


def is_long(*values: bytes | None) -> bool:
    """Whether they are better written in pieces: as one text they would be in memory several times."""
    return sum(map(len, filter(None, values))) > _LONG


def base64_pieces(data: bytes) -> Iterator[bytes]:
    """The same in quotes, a piece at a time."""
    view = memoryview(data)
    yield b'"'
    yield from (b2a_base64(view[at : at + _PIECE], newline=False) for at in range(0, len(view), _PIECE))
    yield b'"'


def headers(pairs: Iterable[tuple[str, bytes | None]]) -> list[dict[str, str | None]]:
    return [{"key": key, "value": base64(value)} for key, value in pairs]


def instant(milliseconds: int) -> str | int:
    """A timestamp in ISO 8601 to the millisecond, in UTC; one outside of the calendar stays a number."""
    if not _CALENDAR[0] <= milliseconds <= _CALENDAR[1]:
        return milliseconds
    time = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z".rjust(24, "0")
