"""Avro: values of one schema, or as a schema registry's serializers write them. Needs fastavro.

The text is JSON: bytes are base64, times are ISO 8601, decimals are text. fastavro's compiled reader recurses
without a bound, and believes how many items an array has; so what is read by a schema is looked at first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from io import BytesIO
from math import isfinite
from typing import Final

import fastavro
from fastavro import _read_py as plain

from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.json_values import JsonObject, number, objects
from segmend.logdir import disk
from segmend.rescue.confluent import HEADER, schema_id
from segmend.rescue.decoders import FAULTS, Decoded, failed, read_schema, too_large
from segmend.rescue.texts import base64

_FIXED: Final = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "string": 1,
    "bytes": 1,
    "float": 4,
    "double": 8,
}
_NEVER: Final = 1 << 40
"""More bytes than there are: of a type that holds itself, once more."""
_MOST_WIDTH: Final = 4
"""So many values of a schema may come out of one byte."""
_MOST_TEXT: Final = 32 << 20


"""As Avro writes it in JSON: a union, an object with `type`, or a name."""


@frozen
class SchemaReader:
    """How values of one schema are read; `reason` if they are not."""

    parsed: object = None
    call: Callable[[BytesIO, object], object] | None = None
    reason: str = ""


def make(path: str | None) -> Avro:
    """Raises `SegmendError` for a schema that cannot be used."""
    if path is None:
        raise UsageError("--decode avro needs a schema: avro:FILE, or avro:DIRECTORY with <id>.avsc in it")
    if disk.path_type(path) == "dir":
        return Avro(path, None)
    one = _reader(path)
    if one.reason:
        raise UsageError(f"{path}: {one.reason}")
    return Avro(path, one)


class Avro:
    """Values of one schema, or, with a directory, of the one that each names."""

    def __init__(self, path: str, one: SchemaReader | None) -> None:
        self._path, self._one = path, one
        self._known: dict[int, SchemaReader] = {}

    def decode(self, data: bytes) -> Decoded:
        number, at = None, 0
        reader = self._one
        if reader is None:
            number, at = schema_id(data), HEADER
            if number is None:
                return Decoded(reason="no header of a schema registry")
            reader = self._of(number)
        if large := too_large(data):
            return large._replace(schema_id=number)
        if reader.call is None:
            return Decoded(schema_id=number, reason=reader.reason)
        stream = BytesIO(data)
        stream.seek(at)
        try:
            value = reader.call(stream, reader.parsed)
            if left := len(data) - stream.tell():
                return Decoded(schema_id=number, reason=f"{left:,} bytes are left over")
            text = _text(value)
        except RecursionError:
            return Decoded(schema_id=number, reason="nested too deep")
        except FAULTS as error:
            return failed(error, number)
        if len(text) > _MOST_TEXT:
            return Decoded(schema_id=number, reason=f"{len(text):,} characters as JSON")
        return Decoded(text=text, schema_id=number)

    def schema(self) -> None:
        """It is in its file."""

    def _of(self, number: int) -> SchemaReader:
        if number not in self._known:
            paths = [f"{self._path}/{number}.{suffix}" for suffix in ("avsc", "json")]
            path = next((each for each in paths if disk.path_type(each) is not None), None)
            missing = SchemaReader(reason=f"schema {number} is not in {self._path}")
            self._known[number] = missing if path is None else _reader(path)
        return self._known[number]


def _reader(path: str) -> SchemaReader:
    """Of a file with a schema, or with what a registry says of `/schemas/ids/N`; raises `SegmendError`."""
    try:
        schema = json.loads(read_schema(path))
        if isinstance(schema, dict) and isinstance(schema.get("schema"), str):
            kind = schema.get("schemaType", "AVRO")
            if kind != "AVRO" or schema.get("references"):
                return SchemaReader(
                    reason=f"its schema is of type {kind}" if kind != "AVRO" else "has references"
                )
            schema = json.loads(schema["schema"])
        named: dict[str, JsonObject] = {}
        parsed = fastavro.parse_schema(schema, named_schemas=named)
        look = _Look(named)
        look.size(parsed)
    except fastavro.schema.UnknownType as error:
        return SchemaReader(reason=f"is no Avro schema: type {error.name} is unknown")
    except (*FAULTS, fastavro.schema.SchemaParseException) as error:
        return SchemaReader(reason=f"is no Avro schema: {failed(error).reason}")
    if look.endless:
        return SchemaReader(reason="its schema has an array of items that take next to no bytes")
    return SchemaReader(
        parsed=parsed, call=plain.schemaless_reader if look.recursive else fastavro.schemaless_reader
    )


class _Look:
    """What a schema lets bytes do: recursion, and arrays out of nothing."""

    def __init__(self, named: Mapping[str, JsonObject]) -> None:
        self._named = named
        self._sizes: dict[str, tuple[int, int]] = {}
        self._open: set[str] = set()
        self.recursive = self.endless = False

    def size(self, schema: object) -> tuple[int, int]:
        """The bytes of a value, and how many values are in it: arrays and maps are one, and have one byte."""
        if isinstance(schema, list):
            sizes = [(1 + least, wide) for least, wide in map(self.size, schema)]
            # The branch that makes most of its bytes.
            return max(sizes, key=lambda size: (size[1] / size[0], -size[0]), default=(1, 1))
        if isinstance(schema, str):
            return (_FIXED[schema], 1) if schema in _FIXED else self._of_name(schema, self._named[schema])
        if not isinstance(schema, dict):
            raise TypeError(f"a schema is {type(schema).__name__}")
        kind = schema["type"]
        if kind in ("array", "map"):
            least, wide = self.size(schema["items" if kind == "array" else "values"])
            self.endless |= wide > _MOST_WIDTH * (least + (kind == "map"))
            return 1, 1
        return self._of_name(schema["name"], schema) if "name" in schema else self.size(kind)

    def _of_name(self, name: str, schema: JsonObject) -> tuple[int, int]:
        if name in self._open:
            self.recursive = True
            return _NEVER, 1
        if name not in self._sizes:
            self._open.add(name)
            if schema["type"] in ("record", "error"):
                sizes = [self.size(field["type"]) for field in objects(schema, "fields")]
                self._sizes[name] = sum(least for least, _ in sizes), 1 + sum(wide for _, wide in sizes)
            else:
                self._sizes[name] = number({"size": 1, **schema}, "size"), 1
            self._open.discard(name)
        return self._sizes[name]


def _text(value: object) -> str:
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(
            _finite(value), default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )


def _plain(value: object) -> str | None:
    if isinstance(value, bytes):
        return base64(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _finite(value: object) -> object:
    """With what JSON has no number for as text, as Protobuf's JSON does."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value
