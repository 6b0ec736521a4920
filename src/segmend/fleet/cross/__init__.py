"""What only shows when replicas are laid side by side: one module a family of codes, found by name.

A module has `CODES` and `run(group)`, and its docstring is the manual page, with
the headings of `segmend.checks.manual`. `group` holds the replicas of one partition.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from segmend.findings import Finding, Severity
from segmend.fleet.cross.replica import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """One module: its codes, what it does, and its manual page."""

    name: str
    codes: Mapping[str, Severity]
    run: Callable[[Group], Iterator[Finding]]
    page: str


@functools.cache
def all_cross_checks() -> tuple[CrossCheck, ...]:
    """Every module of this package that has `CODES`, sorted by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(_cross_check(module) for module in modules if hasattr(module, "CODES"))


def _cross_check(module: Any) -> CrossCheck:
    name = module.__name__.rpartition(".")[2]
    return CrossCheck(name=name, codes=module.CODES, run=module.run, page=module.__doc__ or "")


def cross_findings(group: Group) -> Iterator[Finding]:
    """What every cross check says of the replicas of one partition."""
    for check in all_cross_checks():
        yield from check.run(group)
