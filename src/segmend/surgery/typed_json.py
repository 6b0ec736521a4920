"""Values out of a file held to the types that their dataclasses say, before anything is done with them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from segmend.frozen import as_dict, fields, is_made

Made = TypeVar("Made")
Fits = Callable[[object], bool]
_LARGEST: Final = (1 << 63) - 1
"""Sizes, offsets, positions and times all fit into 64 bits; the system calls take no more."""
_DEEPEST: Final = 20
"""JSON values of operations are a few levels deep; what writes JSON with indents cannot do a thousand."""


def fields_to_json(value: object) -> dict[str, object]:
    """The fields of a dataclass as plain values, those that are None left out."""
    return {name: _plain(held) for name, held in as_dict(value).items() if held is not None}


def _plain(value: object) -> object:
    if hasattr(value, "to_json"):
        return value.to_json()
    return dict(value) if isinstance(value, Mapping) else value


def fields_from_json(kind: Callable[..., Made], data: Mapping[str, object]) -> Made:
    """The dataclass with these fields; `TypeError`, `KeyError`, `ValueError` for what is none."""
    readers = _readers(kind)
    rows = ((name, readers.get(name), value) for name, value in data.items())
    made = kind(
        **{name: value if read is None or value is None else read(value) for name, read, value in rows}
    )
    require_types(made)
    return made


@functools.cache
def _readers(cls: object) -> Mapping[str, Callable[[object], object]]:
    """How the values of fields are read that are more than plain ones."""
    rows = ((name, each) for name, hint in get_type_hints(cls).items() for each in (hint, *get_args(hint)))
    return {name: each.from_json for name, each in rows if hasattr(each, "from_json")}


def require_types(value: object) -> None:
    """Raise `TypeError` if a field of a dataclass value, or of one in it, is not of its declared type."""
    kind: object = type(value)
    for name, fits in _tests(kind):
        held = getattr(value, name)
        if not fits(held):
            raise TypeError(f"'{name}' is {type(held).__name__} {str(held)[:40]!r}")


@functools.cache
def _tests(cls: object) -> tuple[tuple[str, Fits], ...]:
    hints = get_type_hints(cls)
    return tuple((name, _test_of(hints[name])) for name in fields(cls))


@functools.cache
def _test_of(wanted: object) -> Fits:
    """Whether a value is of a declared type; a type is looked into once, its values are many."""
    origin: object = get_origin(wanted)
    arguments = get_args(wanted)
    if wanted is object:
        return partial(_depth_is, most=_DEEPEST)
    if wanted is int:
        return _is_int
    if wanted is types.NoneType:
        return lambda value: value is None
    if getattr(wanted, "_is_protocol", False):
        return lambda _value: True
    if origin in (Union, types.UnionType):
        tests = [_test_of(each) for each in arguments]
        return lambda value: any(fits(value) for fits in tests)
    if origin is tuple:
        return _test_of_tuple(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        fits = _test_of(arguments[1])
        return lambda value: isinstance(value, Mapping) and all(map(fits, value.values()))
    return partial(_is_a, wanted=cast(type, wanted))


def _test_of_tuple(wanted: tuple[object, ...]) -> Fits:
    tests = [_test_of(each) for each in wanted if each is not Ellipsis]
    if wanted[-1:] == (Ellipsis,):
        return lambda value: isinstance(value, tuple) and all(map(tests[0], value))
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(tests)
        and all(fits(each) for fits, each in zip(tests, value, strict=True))
    )


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _is_a(value: object, wanted: type) -> bool:
    fits = isinstance(value, wanted)
    if fits and is_made(value):
        require_types(value)
    return fits


def _depth_is(value: object, most: int) -> bool:
    if isinstance(value, Mapping):
        return most > 0 and all(_depth_is(each, most - 1) for each in value.values())
    if isinstance(value, list | tuple):
        return most > 0 and all(_depth_is(each, most - 1) for each in value)
    return True
