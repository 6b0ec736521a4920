"""Whether the structs that Python fills are those that the compiled kernel reads: field by field, at load.

A library that was built from other sources than these is never called: the reference engine does
the work, slower, and a warning says why.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Mapping
from typing import Any

Library = Any
"""A `ctypes.CDLL`, whose functions have no types; None where it cannot be used, and nobody calls one."""
CType = Any
"""A class of a C value: what they have in common is private to ctypes."""


class _Place(ctypes.Structure):
    """`place_t` of layout.h."""

    _fields_ = (("name", ctypes.c_char_p), ("place", ctypes.c_int64))


def fits(
    library: ctypes.CDLL, table: str, structure: type[ctypes.Structure], sizes: Mapping[str, int]
) -> bool:
    """Whether `table` of the library agrees with `structure` and with `sizes`, those of whole structs."""
    try:
        there = _places(library, table)
    except ValueError:
        fault = f"it has no {table}"
    else:
        here = {name: getattr(structure, name).offset for name, *_ in structure._fields_}
        here.update({f"sizeof {name}": size for name, size in sizes.items()})
        fault = next(
            (
                f"{name} is {there.get(name)} there, {here.get(name)} here"
                for name in {**here, **there}
                if here.get(name) != there.get(name)
            ),
            "",
        )
    if fault:
        warn(f"{table}: {fault}")
    return not fault


def warn(why: str) -> None:
    """Say once that the compiled kernel is not used."""
    warnings.warn(
        f"the compiled kernel is of another version ({why}), so the slower engine works; "
        "python hatch_build.py makes it anew",
        RuntimeWarning,
        stacklevel=2,
    )


def _places(library: ctypes.CDLL, table: str) -> dict[str, int]:
    """The table by name; `ValueError` if there is none."""
    first = ctypes.addressof(_Place.in_dll(library, table))
    places = ctypes.cast(first, ctypes.POINTER(_Place))
    by_name: dict[str, int] = {}
    while (name := places[len(by_name)].name) is not None:
        by_name[name.decode()] = places[len(by_name)].place
    return by_name
