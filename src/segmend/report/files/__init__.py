"""How each kind of small file is shown: one module a kind, found by `viewers`.

A module has `KIND` (the word of `--kind`), `NAMES` (exact names or suffixes that begin with a
dot), `FIELDS` (the columns) and `rows(data, base_offset)`: dicts with the fields' keys, and
the damage of the file. Logs and KRaft snapshots stream instead, in `report.log`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from segmend.discovery import modules_in
from segmend.formats.damage import Damage
from segmend.report.fields import ShownField

Rows = tuple[Iterable[Mapping[str, Any]], tuple[Damage, ...]]


class Viewer(Protocol):
    """What a module of this package looks like."""

    KIND: str
    NAMES: Sequence[str]
    FIELDS: Sequence[ShownField]
    rows: Callable[[bytes, int], Rows]


def viewers() -> dict[str, Viewer]:
    """All viewers by kind."""
    modules = [cast(Viewer, import_module(f"{__name__}.{name}")) for name in modules_in(__path__)]
    return {viewer.KIND: viewer for viewer in modules}


def matches(viewer: Viewer, name: str) -> bool:
    """Whether a file of this name (without .deleted, .swap, ...) is of the viewer's kind."""
    return any(name.endswith(known) if known.startswith(".") else name == known for known in viewer.NAMES)
