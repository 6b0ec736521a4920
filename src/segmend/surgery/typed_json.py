"""Values out of a file held to the types that their dataclasses say, before anything is done with them."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

_LARGEST: Final = (1 << 63) - 1
"""Sizes, offsets, positions and times all fit into 64 bits; the system calls take no more."""
_DEEPEST: Final = 20
"""JSON values of operations are a few levels deep; what writes JSON with indents cannot do a thousand."""


def require_types(value: Any) -> None:
    """Raise `TypeError` if a field of a dataclass value, or of one in it, is not of its declared type."""
    cls: Any = type(value)
    for name, wanted in _hints(cls):
        found = getattr(value, name)
        if not _fits(found, wanted):
            raise TypeError(f"'{name}' is {type(found).__name__} {str(found)[:40]!r}")


@functools.cache
def _hints(cls: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(cls)
    return tuple((each.name, hints[each.name]) for each in fields(cls))


def _fits(value: Any, wanted: Any) -> bool:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if wanted is Any:
        return _depth_is(value, _DEEPEST)
    if getattr(wanted, "_is_protocol", False):
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and _all_fit(value, arguments)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(found, arguments[1]) for found in value.values())
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if wanted is types.NoneType:
        return value is None
    if isinstance(value, wanted) and is_dataclass(value):
        require_types(value)
    return isinstance(value, wanted)


def _all_fit(values: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    if wanted[-1:] == (Ellipsis,):
        return all(_fits(value, wanted[0]) for value in values)
    return len(values) == len(wanted) and all(map(_fits, values, wanted))


def _depth_is(value: Any, most: int) -> bool:
    if isinstance(value, Mapping):
        return most > 0 and all(_depth_is(each, most - 1) for each in value.values())
    if isinstance(value, list | tuple):
        return most > 0 and all(_depth_is(each, most - 1) for each in value)
    return True
