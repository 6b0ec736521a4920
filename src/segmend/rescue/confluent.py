"""The header that a schema registry's serializers put before each value: a zero byte, and the schema's id."""

from __future__ import annotations

from typing import Final

HEADER: Final = 5
"""Its bytes."""
_MOST_INDEXES: Final = 64


def schema_id(data: bytes) -> int | None:
    """The id of the schema; None if there is no such header."""
    if len(data) < HEADER or data[0]:
        return None
    return int.from_bytes(data[1:HEADER], "big", signed=True)


def message_indexes(data: bytes) -> tuple[tuple[int, ...], int] | None:
    """Of Protobuf: which message of its file this is, and where it begins; None if that is not told."""
    count, at = _varint(data, HEADER)
    if at is None or not 0 <= count <= _MOST_INDEXES:
        return None
    if not count:
        return (0,), at
    indexes = []
    for _ in range(count):
        index, behind = _varint(data, at)
        if behind is None or index < 0:
            return None
        indexes.append(index)
        at = behind
    return tuple(indexes), at


def _varint(data: bytes, at: int) -> tuple[int, int | None]:
    """A zigzag number, and where it ends: None if it does not."""
    value = 0
    for number, byte in enumerate(data[at : at + 5]):
        value |= (byte & 0x7F) << 7 * number
        if not byte & 0x80:
            return value >> 1 ^ -(value & 1), at + number + 1
    return 0, None
