"""The type of JSON values as Spark writes a schema: found out of many values, and what does not fit one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Required, TypeAlias, TypedDict

from segmend.json_values import JsonObject, array

_FIELDS: Final = 1000
"""So many fields are told apart in all, and so many levels; what is beyond is a string (of JSON)."""
_LEVELS: Final = 32
_ANY: Final = "string"
_ATOMS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,), "long": (int,), "integer": (int,), "short": (int,), "byte": (int,),
    "double": (int, float), "float": (int, float), "boolean": (bool,), "timestamp": (str,),
    "timestamp_ntz": (str,), "date": (str,), "binary": (str,), "void": (),
}  # fmt: skip
_BITS: Final = {"long": 63, "integer": 31, "short": 15, "byte": 7}


class StructField(TypedDict, total=False):
    """Of a struct."""

    name: Required[str]
    type: Required[Type]
    nullable: bool
    metadata: dict[str, object]


class Nested(TypedDict, total=False):
    """A struct, an array or a map."""

    type: Required[str]
    fields: list[StructField]
    elementType: Type
    containsNull: bool
    valueType: Type


Type: TypeAlias = "str | Nested"
"""As Spark writes it: an atom's name, or an object with `type`; `well_formed` says whether it is one."""


class _Shapes(TypedDict, total=False):
    """Of an object's fields, or of an array's items."""

    fields: dict[str, Shape]
    items: Shape


Shape: TypeAlias = "str | _Shapes"
"""An atom's name, or what lies within."""


class Inferred:
    """What all values so far have in common."""

    def __init__(self) -> None:
        self._shape: Shape = "void"
        self._fields = 0

    def add(self, value: object) -> None:
        """Take one more value into account."""
        self._shape = self._with(self._shape, value, 0)

    def _with(self, shape: Shape, value: object, level: int) -> Shape:
        if value is None or shape == _ANY:
            return shape
        if level >= _LEVELS:
            return _ANY
        if isinstance(value, dict):
            return self._with_fields(shape, value, level)
        if isinstance(value, list):
            if shape != "void" and not (isinstance(shape, dict) and "items" in shape):
                return _ANY
            items: Shape = shape["items"] if isinstance(shape, dict) else "void"
            for each in value:
                items = self._with(items, each, level + 1)
            return {"items": items}
        return _joined(shape, _atom(value))

    def _with_fields(self, shape: Shape, value: dict[str, object], level: int) -> Shape:
        if shape == "void":
            shape = {"fields": {}}
        if isinstance(shape, str) or "fields" not in shape:
            return _ANY
        fields = shape["fields"]
        for name, each in value.items():
            if name not in fields:
                if self._fields >= _FIELDS:
                    continue
                self._fields += 1
            fields[name] = self._with(fields.get(name, "void"), each, level + 1)
        return shape

    def schema(self) -> Type | None:
        """As Spark's `df.schema.json()`; None if no value was there but null."""
        return None if self._shape == "void" else _spark(self._shape)


def _atom(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "long" if isinstance(value, int) else "double" if isinstance(value, float) else "string"


def _joined(shape: Shape, atom: str) -> Shape:
    if shape in ("void", atom):
        return atom
    return "double" if {str(shape), atom} == {"long", "double"} else _ANY


def _spark(shape: Shape) -> Type:
    if isinstance(shape, str):
        return _ANY if shape == "void" else shape
    if "items" in shape:
        return {"type": "array", "elementType": _spark(shape["items"]), "containsNull": True}
    fields: list[StructField] = [
        {"name": name, "type": _spark(each), "nullable": True, "metadata": {}}
        for name, each in shape["fields"].items()
    ]
    return {"type": "struct", "fields": fields}


def well_formed(schema: object) -> str | None:
    """What is wrong with a schema, in words; None if it is one of Spark's."""
    if isinstance(schema, str):
        known = schema in _ATOMS or schema.startswith("decimal")
        return None if known else f"no type {schema[:40]!r}"
    given: JsonObject = schema if isinstance(schema, dict) else {}
    kind = given.get("type")
    if kind == "array":
        return well_formed(given.get("elementType"))
    if kind == "map":
        return well_formed(given.get("valueType"))
    if kind != "struct" or not isinstance(given.get("fields"), list):
        return "a type is neither a name nor a struct, an array or a map"
    for field in array(given, "fields"):
        if not isinstance(field, dict) or not isinstance(field.get("name"), str):
            return "a field has no name"
        if wrong := well_formed(field.get("type")):
            return wrong
    return None


def misfit(value: object, schema: Type, path: str = "value") -> str | None:
    """Where a value does not fit a schema, in words; fields that the schema does not have may be there."""
    if value is None:
        return None
    if isinstance(schema, str):
        return None if _is(value, schema) else f"{path[:80]} is no {schema}"
    if schema["type"] == "array":
        if not isinstance(value, list):
            return f"{path[:80]} is no array"
        misfits = (misfit(each, schema["elementType"], f"{path}[]") for each in value)
    elif not isinstance(value, dict):
        return f"{path[:80]} is no {schema['type']}"
    elif schema["type"] == "map":
        misfits = (misfit(each, schema["valueType"], f"{path}{{}}") for each in value.values())
    else:
        misfits = (_misfit_of(value, field, path) for field in schema["fields"])
    return next((each for each in misfits if each), None)


def _misfit_of(value: JsonObject, field: StructField, path: str) -> str | None:
    name = field["name"]
    if value.get(name) is None:
        return None if field.get("nullable", True) else f"{path[:80]}.{name[:40]} is not there"
    return misfit(value[name], field["type"], f"{path}.{name}")


def _is(value: object, atom: str) -> bool:
    if isinstance(value, bool):
        return atom == "boolean"
    if atom.startswith("decimal"):
        return isinstance(value, int | float)
    if not isinstance(value, _ATOMS[atom]):
        return False
    bits = _BITS.get(atom, 0)
    return not bits or (isinstance(value, int) and -(1 << bits) <= value < 1 << bits)
