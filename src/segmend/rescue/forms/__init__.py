"""The forms in which a rescue is written, one file each, found by their names.

Each has `write(job, outlet) -> Written` for one partition, and `finish(home, outlet, lines)` once all
partitions are done. Some need packages of an extra and are loaded only when they are asked for.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Protocol, cast

from segmend.errors import MissingExtra
from segmend.rescue.outlet import Folder, Line
from segmend.rescue.request import Home, Job, Written


class Form(Protocol):
    """What the module of a form looks like."""

    def write(self, job: Job, outlet: Folder) -> Written:
        """Write one partition."""
        ...

    def finish(self, home: Home, outlet: Folder, lines: Sequence[Line]) -> None:
        """All partitions are written: `lines` is what the journal says of them."""
        ...


def names() -> list[str]:
    """What `--as` can be; none of them is loaded."""
    return sorted(each.name.replace("_", "-") for each in pkgutil.iter_modules(__path__))


def form(name: str) -> Form:
    """The form that is one of `names`; raises `MissingExtra`."""
    return cast(Form, loaded(f"{__name__}.{name.replace('-', '_')}", name))


def loaded(module: str, name: str, instead: str = ", or take --as jsonl") -> ModuleType:
    """A module that may need packages of an extra, for `--as name`; raises `MissingExtra`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("segmend"):
            raise
        extra = "arrow" if error.name in ("pyarrow", "numpy") else "fleet"
        raise MissingExtra(f"--as {name} needs {error.name}", extra, instead) from None
