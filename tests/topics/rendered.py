"""Messages of the internal topics as bytes, by the field tables that read them."""

import base64
import struct
from typing import Any

from tests.checks.build_metadata import uuid

from segmend.formats.schema import Message, SchemaField, fields_of

NUMBERS = {"i8": ">b", "i16": ">h", "u16": ">H", "i32": ">i", "i64": ">q", "f64": ">d", "bool": ">?"}


def rendered(message: Message, version: int, value: dict[str, Any]) -> bytes:
    """The message, flexible where that version is; a field that is missing has its usual value."""
    return structure(fields_of(message), version, value, flexible=version >= message.flexible)


def framed(kind: int, message: Message, version: int, value: dict[str, Any]) -> bytes:
    """A record of `__cluster_metadata`."""
    return bytes([1, kind, version]) + rendered(message, version, value)


def structure(
    fields: tuple[SchemaField, ...], version: int, value: dict[str, Any], *, flexible: bool
) -> bytes:
    """Its fields, and behind them the tagged ones that it has."""
    mine = [each for each in fields if each.versions[0] <= version <= each.versions[1]]
    data = b"".join(field(each, version, value.get(each.name), flexible) for each in mine if each.tag is None)
    if not flexible:
        return data
    tagged = sorted(
        (each for each in mine if each.tag is not None and each.name in value), key=lambda each: each.tag
    )
    parts = [(each.tag, field(each, version, value[each.name], flexible)) for each in tagged]
    parts += [(each["tag"], base64.b64decode(each["data"])) for each in value.get("_unknownTaggedFields", ())]
    return (
        data
        + uvarint(len(parts))
        + b"".join(uvarint(tag or 0) + uvarint(len(part)) + part for tag, part in parts)
    )


def field(each: SchemaField, version: int, value: Any, flexible: bool) -> bytes:
    """One field."""
    if not each.array:
        nullable = each.nullable[0] <= version <= each.nullable[1]
        return single(each, version, value, flexible, nullable=nullable)
    if value is None and not each.nullable[0] <= version <= each.nullable[1]:
        value = []
    if value is None:
        return length(-1, flexible, ">i")
    return length(len(value), flexible, ">i") + b"".join(
        single(each, version, one, flexible) for one in value
    )


def single(each: SchemaField, version: int, value: Any, flexible: bool, *, nullable: bool = False) -> bytes:
    """A value that is no array."""
    if each.type == "struct":
        mark = b"" if not nullable else b"\xff" if value is None else b"\x01"
        return mark + (
            structure(each.fields, version, value or {}, flexible=flexible)
            if value is not None or not nullable
            else b""
        )
    if each.type in ("string", "bytes"):
        if value is None and nullable:
            return length(-1, flexible, ">h" if each.type == "string" else ">i")
        data = (value or "").encode() if each.type == "string" else base64.b64decode(value or "")
        return length(len(data), flexible, ">h" if each.type == "string" else ">i") + data
    if each.type == "uuid":
        return uuid(value or "A" * 22)
    return struct.pack(NUMBERS[each.type], value or 0)


def length(count: int, flexible: bool, width: str) -> bytes:
    """Of a string or of an array; -1 is null."""
    return uvarint(count + 1) if flexible else struct.pack(width, count)


def uvarint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
