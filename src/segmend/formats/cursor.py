"""A bounded reader over bytes: every read either fits or raises `Truncated`, located.

Follows `org.apache.kafka.common.utils.ByteUtils` for varints and the flexible encoding
(compact strings and arrays, tagged fields) of Kafka's generated messages.
"""

from __future__ import annotations

from struct import Struct

_I16, _I32, _I64 = Struct(">h"), Struct(">i"), Struct(">q")
_U16 = Struct(">H")
_MAX_TAGS = 4096


class Malformed(ValueError):
    """The bytes do not follow their format at `position`; parsers turn this into a `Damage`."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


class Truncated(Malformed):
    """The bytes end inside a field that starts at `position`."""


class Cursor:
    """A position in `data`; moves forward by what is read and never past `end`."""

    __slots__ = ("data", "end", "position")

    def __init__(self, data: bytes, position: int = 0, end: int | None = None) -> None:
        self.data = data
        self.position = position
        self.end = len(data) if end is None else end

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def take(self, size: int) -> bytes:
        at = self.position
        if size < 0:
            raise Malformed(at, f"a length of {size} bytes")
        if size > self.end - at:
            raise Truncated(at, f"{size} bytes expected, {self.end - at} left")
        self.position = at + size
        return self.data[at : at + size]

    def _unpack(self, layout: Struct) -> int:
        at = self.position
        if layout.size > self.end - at:
            raise Truncated(at, f"{layout.size} bytes expected, {self.end - at} left")
        self.position = at + layout.size
        number: int = layout.unpack_from(self.data, at)[0]
        return number

    def i16(self) -> int:
        return self._unpack(_I16)

    def u16(self) -> int:
        return self._unpack(_U16)

    def i32(self) -> int:
        return self._unpack(_I32)

    def i64(self) -> int:
        return self._unpack(_I64)

    def uvarint(self) -> int:
        """An unsigned varint of at most 32 bits."""
        value, self.position = read_uvarint(self.data, self.position, self.end)
        return value

    def tagged_fields(self) -> tuple[tuple[int, bytes], ...]:
        """The tagged fields that end every flexible structure, as (tag, bytes)."""
        fields = []
        at = self.position
        count = self.uvarint()
        if count > _MAX_TAGS:
            raise Malformed(at, f"{count} tagged fields")
        for _ in range(count):
            tag = self.uvarint()
            fields.append((tag, self.take(self.uvarint())))
        return tuple(fields)


def read_uvarint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """`ByteUtils.readUnsignedVarint`: (value of at most 32 bits, next position).

    Raises `Malformed` after 5 bytes, `Truncated` where the bytes end before.
    """
    value, at = _unsigned(data, at, end, 28, "varint")
    return value & 0xFFFFFFFF, at


def _unsigned(data: bytes, at: int, end: int, most: int, name: str) -> tuple[int, int]:
    value = shift = 0
    start = at
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > most:
            raise Malformed(start, f"{name} is too long")
    raise Truncated(start, f"the bytes end inside a {name}")


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """`ByteUtils.readVarint`: zig-zag, at most 5 bytes; (value, next position)."""
    if at < end and data[at] < 0x80:
        raw = data[at]
        return (raw >> 1) ^ -(raw & 1), at + 1
    raw, at = read_uvarint(data, at, end)
    return (raw >> 1) ^ -(raw & 1), at


def read_varlong(data: bytes, at: int, end: int) -> tuple[int, int]:
    """`ByteUtils.readVarlong`: zig-zag, at most 10 bytes; (value, next position)."""
    raw, at = _unsigned(data, at, end, 63, "varlong")
    raw &= 0xFFFFFFFFFFFFFFFF
    return (raw >> 1) ^ -(raw & 1), at


def write_uvarint(value: int) -> bytes:
    """`ByteUtils.writeUnsignedVarint` of a non-negative number."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_varint(value: int) -> bytes:
    """`ByteUtils.writeVarint` and `writeVarlong`: zig-zag of a signed number."""
    return write_uvarint(value << 1 if value >= 0 else (-value << 1) - 1)
