"""What makes plans: one module an operation, found by `operations`.

A module has `NAME`, `HELP`, perhaps `EXAMPLES`, `configure(parser)` for its options, and
`plan(request) -> Plan`. It reads the model and changes nothing. `DIR...` and the options that all
have (`-o`, `--kafka`, `--json`) come from the command.
"""

from __future__ import annotations

import argparse
import functools
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, cast

from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir
from segmend.surgery.plan import Plan


def _silent(_done: int, _total: int) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an operation is asked: all log dirs of one broker, opened by their real paths.

    `given` has the paths as the user wrote them, in the same order; `names` narrow it down to partition
    directories, empty means all; `on_progress` is told (done, total) bytes.
    """

    dirs: Sequence[LogDir]
    given: Sequence[str]
    release: Release
    args: argparse.Namespace
    names: frozenset[str] = frozenset()
    on_progress: Callable[[int, int], None] = _silent


class Operation(Protocol):
    """What a module of this package looks like."""

    NAME: str
    HELP: str
    configure: Callable[[argparse.ArgumentParser], None]
    plan: Callable[[Request], Plan]


@functools.cache
def operations() -> Mapping[str, Operation]:
    """Every operation by its name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [cast(Operation, import_module(f"{__name__}.{name}")) for name in names]
    return MappingProxyType({operation.NAME: operation for operation in found})
