"""Objects of JSON whose shape nothing guarantees: what they hold is asked by name, and held to a type.

Each of these raises `KeyError` for what is not there, and `TypeError` for what is something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

JsonObject = Mapping[str, object]
"""An object of JSON, or what will be one."""
T = TypeVar("T")


def number(data: JsonObject, name: str) -> int:
    """A whole number."""
    return _held(data, name, int)


def text(data: JsonObject, name: str) -> str:
    """A string."""
    return _held(data, name, str)


def array(data: JsonObject, name: str) -> Sequence[object]:
    """An array."""
    return _array(data[name], name)


def arrays(data: JsonObject, name: str) -> list[Sequence[object]]:
    """An array of arrays."""
    return [_array(each, name) for each in array(data, name)]


def texts(data: JsonObject, name: str) -> list[str]:
    """An array of strings."""
    return [_a(each, name, str) for each in array(data, name)]


def objects(data: JsonObject, name: str) -> list[JsonObject]:
    """An array of objects."""
    return [_a(each, name, dict) for each in array(data, name)]


def member(data: JsonObject, name: str) -> JsonObject:
    """An object in it."""
    return _held(data, name, dict)


def _array(value: object, name: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"'{name}' is {type(value).__name__}")
    return value


def _held(data: JsonObject, name: str, kind: type[T]) -> T:
    return _a(data[name], name, kind)


def _a(value: object, name: str, kind: type[T]) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"'{name}' is {type(value).__name__}")
    return value
