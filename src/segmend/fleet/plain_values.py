"""Dataclasses of numbers and texts as JSON, and back, held to their types."""

from __future__ import annotations

import functools
import json
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Kind = Any
"""A class, or a union or generic of some: Python 3.11 has no type for what an annotation is."""
Read = Callable[[object], object]
_PLAIN: Final = (int, str, bool, types.NoneType)


def to_text(value: object) -> str:
    """The JSON; a dataclass, or a named tuple, is the list of its fields."""
    return _ENCODER.encode(value)


def _inner(value: object) -> Sequence[object]:
    kind: Kind = type(value)
    return _getter(kind)(value)


@functools.cache
def _getter(kind: Kind) -> Callable[[object], Sequence[object]]:
    """What gives the values of the fields of a dataclass."""
    names = [each.name for each in fields(kind)]
    return operator.attrgetter(*names) if len(names) > 1 else lambda each: [getattr(each, n) for n in names]


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_inner)


def from_text(kind: type[T], text: str) -> T:
    """The value again; ValueError where the text is of something else."""
    wanted: Kind = kind
    return cast(T, _reader(wanted)(json.loads(text)))


@functools.cache
def _reader(kind: Kind) -> Read:
    origin: object = get_origin(kind)
    inner = get_args(kind)
    if origin is Literal:
        return functools.partial(_one_of, inner)
    if origin in (Union, types.UnionType):
        return functools.partial(_either, tuple(_reader(each) for each in inner))
    if origin is tuple and inner[-1:] == (Ellipsis,):
        return functools.partial(_many, _reader(inner[0]))
    if origin is tuple:
        return functools.partial(_each, tuple(_reader(each) for each in inner))
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        names = getattr(kind, "_fields", None) or [each.name for each in fields(kind)]
        return functools.partial(_made, kind, {name: _reader(hints[name]) for name in names})
    if kind in _PLAIN:
        return functools.partial(_exactly, kind)
    return _nothing


def _exactly(kind: type, value: object) -> object:
    if type(value) is not kind:
        raise ValueError(f"{str(value)[:40]!r} is no {kind.__name__}")
    return value


def _one_of(words: Sequence[object], value: object) -> object:
    if value not in words:
        raise ValueError(f"{str(value)[:40]!r} is none of {words}")
    return value


def _either(readers: Sequence[Read], value: object) -> object:
    for read in readers:
        try:
            return read(value)
        except ValueError:
            continue
    raise ValueError(f"{str(value)[:40]!r} is of no type that the field may have")


def _many(read: Read, value: object) -> tuple[object, ...]:
    return tuple(map(read, _list(value)))


def _each(readers: Sequence[Read], value: object) -> tuple[object, ...]:
    values = _list(value)
    if len(values) != len(readers):
        raise ValueError(f"{len(values)} values, not {len(readers)}")
    return tuple(read(each) for read, each in zip(readers, values, strict=True))


def _made(kind: Callable[..., object], readers: Mapping[str, Read], value: object) -> object:
    values = _each(tuple(readers.values()), value)
    return kind(**dict(zip(readers, values, strict=True)))


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{str(value)[:40]!r} is no list")
    return value


def _nothing(value: object) -> object:
    """Of a type that is neither number nor text there is none but in the process that made it."""
    raise ValueError(f"{str(value)[:40]!r} cannot be read back")
