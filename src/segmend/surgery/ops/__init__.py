"""What makes plans: one module an operation, found by `operations`; one with helpers has a room.

`ops/NAME.py`, or `ops/NAME/operation.py` with its helpers beside it, has `NAME`, `HELP`, perhaps
`EXAMPLES`, `configure(parser)` for its options, and `plan(request) -> Plan`. It reads the model and
changes nothing. `DIR...` and the options that all have (`-o`, `--kafka`, `--json`) come from the command.
"""

from __future__ import annotations

import argparse
import functools
import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, cast

from segmend.surgery.plan import Plan
from segmend.surgery.request import Request


class Operation(Protocol):
    """What a module of this package looks like."""

    NAME: str
    HELP: str
    configure: Callable[[argparse.ArgumentParser], None]
    plan: Callable[[Request], Plan]


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Every operation by its name."""
    return MappingProxyType({name: operation(name) for name in names()})


def names() -> list[str]:
    """The names of all operations, which are those of their modules or rooms; none of them is imported."""
    return sorted(_modules())


@functools.cache
def _modules() -> Mapping[str, str]:
    found = pkgutil.iter_modules(__path__, f"{__name__}.")
    return {
        each.name.rpartition(".")[2]: f"{each.name}.operation" if each.ispkg else each.name for each in found
    }


def module_of(name: str) -> str:
    """The module of the operation of one of `names`."""
    return _modules()[name]


def operation(name: str) -> Operation:
    """The operation of one of `names`; only that is imported."""
    return cast(Operation, import_module(module_of(name)))
