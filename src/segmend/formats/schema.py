"""Kafka's generated messages read by field tables: records of the internal topics.

Follows `MessageDataGenerator` and its `JsonConverter`, whose names and shapes the values have:
a message is a dict, bytes are base64, a uuid is its 22 characters, and a tagged field is there only
when it was written. A table is one line, field by field:

    name:type[@versions][?[nullable versions]][#tag] ...

    i8 i16 u16 i32 i64 f64 bool string bytes uuid     the types
    []type                                            an array
    {field field ...}                                 a structure

Versions are `3` (only), `1-2`, `2+`, or all when left out.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from struct import Struct

from segmend.formats.cursor import Cursor, Malformed, Truncated
from segmend.formats.kafka_uuid import SIZE, uuid_text
from segmend.frozen import frozen, replace

NEVER = 1 << 30
MAX_DEPTH = 16
_F64 = Struct(">d")
_VERSIONS = re.compile(r"(\d+)(?:(\+)|-(\d+))?")
_TOKEN = re.compile(r"\s*(\w+):((?:\[\])*)(?:(\w+)|(\{))")
_SUFFIX = re.compile(r"(?:@([\d+-]+))?(?:(\?)([\d+-]*))?(?:#(\d+))?")


@frozen
class SchemaField:
    name: str
    array: bool
    type: str
    fields: tuple[SchemaField, ...]
    versions: tuple[int, int]
    nullable: tuple[int, int]
    tag: int | None


@frozen
class Message:
    """A message: its name, the first version in flexible encoding (`NEVER`), its table."""

    name: str
    table: str
    flexible: int = NEVER
    highest: int = 0


@lru_cache(maxsize=16)
def messages(text: str) -> Mapping[int, Message]:
    """Messages by number, out of lines `number name versions [flexible versions]` and indented tables."""
    by_number: dict[int, Message] = {}
    number = -1
    for line in text.strip().splitlines():
        if line.startswith(" "):
            by_number[number] = replace(
                by_number[number], table=f"{by_number[number].table} {line.strip()}".strip()
            )
            continue
        digits, name, versions, *flexible = line.split()
        number = int(digits)
        first = _versions(flexible[1])[0] if flexible else NEVER
        by_number[number] = Message(
            name=name, table="", flexible=first, highest=int(versions.rpartition("-")[2])
        )
    return by_number


def read(message: Message, cursor: Cursor, version: int) -> dict[str, object]:
    """The message at the cursor; raises `Malformed`, also for a version that has no table."""
    if not 0 <= version <= message.highest:
        raise Malformed(cursor.position, f"version {version} of {message.name} is not known")
    return _structure(fields_of(message), cursor, version, version >= message.flexible, 0)


@lru_cache(maxsize=256)
def fields_of(message: Message) -> tuple[SchemaField, ...]:
    """Its table, field by field."""
    fields, end = _parse(message.table, 0)
    assert end == len(message.table), message.table[end:]
    return fields


def _parse(table: str, at: int) -> tuple[tuple[SchemaField, ...], int]:
    """The fields from `at` up to the end or the closing brace, and where that is."""
    fields = []
    while at < len(table) and table[at] != "}":
        token = _TOKEN.match(table, at)
        assert token is not None, table[at:]
        at = token.end()
        inner: tuple[SchemaField, ...] = ()
        if token[4]:
            inner, at = _parse(table, at)
            at += 1
        suffix = _SUFFIX.match(table, at)
        assert suffix is not None
        at = suffix.end()
        fields.append(
            SchemaField(
                name=token[1],
                array=bool(token[2]),
                type=token[3] or "struct",
                fields=inner,
                versions=_versions(suffix[1]),
                nullable=_versions(suffix[3]) if suffix[2] else (NEVER, NEVER),
                tag=None if suffix[4] is None else int(suffix[4]),
            )
        )
    return tuple(fields), at


def _versions(text: str | None) -> tuple[int, int]:
    match = _VERSIONS.fullmatch(text or "0+")
    assert match is not None, text
    first = int(match[1])
    return first, NEVER if match[2] else int(match[3] or first)


def _structure(
    fields: tuple[SchemaField, ...], cursor: Cursor, version: int, flexible: bool, depth: int
) -> dict[str, object]:
    if depth > MAX_DEPTH:
        raise Malformed(cursor.position, "structures nest too deeply")
    value: dict[str, object] = {}
    tagged: dict[int, SchemaField] = {}
    for field in fields:
        if not field.versions[0] <= version <= field.versions[1]:
            continue
        if field.tag is None:
            value[field.name] = _value(field, cursor, version, flexible, depth)
        else:
            tagged[field.tag] = field
    if flexible:
        _read_tags(value, tagged, cursor, version, depth)
    return value


def _read_tags(
    value: dict[str, object], tagged: Mapping[int, SchemaField], cursor: Cursor, version: int, depth: int
) -> None:
    for tag, data in cursor.tagged_fields():
        field = tagged.get(tag)
        if field is None:
            unknown = value.setdefault("_unknownTaggedFields", [])
            assert isinstance(unknown, list)
            unknown.append({"tag": tag, "data": base64(data)})
        else:
            value[field.name] = _value(field, Cursor(data), version, True, depth)


def _value(field: SchemaField, cursor: Cursor, version: int, flexible: bool, depth: int) -> object:
    nullable = field.nullable[0] <= version <= field.nullable[1]
    if not field.array:
        return _single(field, cursor, version, flexible, nullable, depth)
    count = _length(cursor, flexible, 4)
    if count < 0:
        _require_nullable(field, cursor, nullable)
        return None
    if count > cursor.remaining:
        raise Truncated(cursor.position, f"{count} elements declared, {cursor.remaining} bytes left")
    return [_single(field, cursor, version, flexible, False, depth) for _ in range(count)]


def _single(
    field: SchemaField, cursor: Cursor, version: int, flexible: bool, nullable: bool, depth: int
) -> object:
    if field.type == "struct":
        # Only a structure that may be null carries a byte that says whether it is.
        if nullable and cursor.take(1) >= b"\x80":
            return None
        return _structure(field.fields, cursor, version, flexible, depth + 1)
    if field.type in ("string", "bytes"):
        size = _length(cursor, flexible, 2 if field.type == "string" else 4)
        if size < 0:
            _require_nullable(field, cursor, nullable)
            return None
        data = cursor.take(size)
        return data.decode("utf-8", "replace") if field.type == "string" else base64(data)
    return _NUMBERS[field.type](cursor)


def _length(cursor: Cursor, flexible: bool, width: int) -> int:
    """A length or count: uvarint of one more when flexible, a signed number before; -1 is null."""
    if flexible:
        return cursor.uvarint() - 1
    return cursor.i16() if width == 2 else cursor.i32()


def _require_nullable(field: SchemaField, cursor: Cursor, nullable: bool) -> None:
    if not nullable:
        raise Malformed(cursor.position, f"non-nullable field {field.name} was serialized as null")


def base64(data: bytes) -> str:
    """Bytes as Kafka's JSON has them."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _i8(cursor: Cursor) -> int:
    return int.from_bytes(cursor.take(1), "big", signed=True)


def _bool(cursor: Cursor) -> bool:
    return cursor.take(1) != b"\0"


def _uuid(cursor: Cursor) -> str:
    return uuid_text(cursor.take(SIZE))


def _f64(cursor: Cursor) -> float:
    number: float = _F64.unpack(cursor.take(8))[0]
    return number


_NUMBERS: dict[str, Callable[[Cursor], object]] = {
    "i8": _i8,
    "i16": Cursor.i16,
    "u16": Cursor.u16,
    "i32": Cursor.i32,
    "i64": Cursor.i64,
    "f64": _f64,
    "bool": _bool,
    "uuid": _uuid,
}
