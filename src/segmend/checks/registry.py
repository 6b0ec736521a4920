"""Finds the checks: every module of this package that has `CODES`, in order of name."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from segmend.findings import Finding, Severity

from .levels import Level, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check module: its codes, when it runs, and its manual page.

    `applies` is a look at a whole partition that spares the calls for each of its segments;
    `fatal` are the codes that are errors only where the start ends over them.
    """

    name: str
    codes: Mapping[str, Severity]
    scope: Scope
    level: Level
    run: Callable[[Any, Any], Iterator[Finding]]
    applies: Callable[[Any], bool]
    fatal: Collection[str]
    page: str


@functools.cache
def all_checks() -> tuple[Check, ...]:
    """Every check of this package, sorted by module name."""
    package = importlib.import_module(__package__ or "segmend.checks")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = (importlib.import_module(f"{package.__name__}.{name}") for name in names)
    return tuple(_check(module) for module in modules if hasattr(module, "CODES"))


def _always(_context: Any) -> bool:
    return True


def _check(module: Any) -> Check:
    name = module.__name__.rpartition(".")[2]
    return Check(
        name=name,
        codes=MappingProxyType(module.CODES),
        scope=module.SCOPE,
        level=module.LEVEL,
        run=module.run,
        applies=getattr(module, "applies", _always),
        fatal=getattr(module, "FATAL", frozenset()),
        page=module.__doc__ or "",
    )


@functools.cache
def severities() -> Mapping[str, Severity]:
    """Every code with the severity it has unless a check says otherwise."""
    found = (item for check in all_checks() for item in check.codes.items())
    return MappingProxyType(dict(found))


def by_code(code: str) -> Check | None:
    """The check that may report `code`, or None."""
    return next((check for check in all_checks() if code in check.codes), None)
