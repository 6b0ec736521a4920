"""Finds the checks: every module of this package that has `CODES`, in order of name."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from segmend.discovery import modules_in
from segmend.findings import Finding
from segmend.frozen import frozen

from .manual import Code, Entry, Level, Scope, entries


@frozen
class Check:
    """One check module: its codes and when it runs.

    `applies` is a look at a whole partition that spares the calls for each of its segments. One
    `of_problems` has nothing to say of a segment whose scan has none.
    """

    name: str
    codes: tuple[Code, ...]
    scope: Scope
    level: Level
    run: Callable[[Any, Any], Iterator[Finding]]  # what its scope has, and the context of that
    applies: Callable[[object], bool]
    of_problems: bool = False


@functools.cache
def all_checks() -> tuple[Check, ...]:
    """Every check of this package, sorted by module name."""
    return tuple(map(_check, _modules()))


@functools.cache
def known_codes() -> Mapping[str, Entry]:
    """Every code that a check of one broker may report, with its page."""
    return MappingProxyType(
        {code: entry for each in _modules() for code, entry in entries(each, each.LEVEL.name.lower())}
    )


@functools.cache
def _modules() -> tuple[ModuleType, ...]:
    package = importlib.import_module(__package__ or "segmend.checks")
    names = modules_in(package.__path__)
    modules = (importlib.import_module(f"{package.__name__}.{name}") for name in names)
    return tuple(module for module in modules if hasattr(module, "CODES"))


def _always(_context: object) -> bool:
    return True


def _check(module: ModuleType) -> Check:
    name = module.__name__.rpartition(".")[2]
    return Check(
        name=name,
        codes=module.CODES,
        scope=module.SCOPE,
        level=module.LEVEL,
        run=module.run,
        applies=getattr(module, "applies", _always),
        of_problems=getattr(module, "OF_PROBLEMS", False),
    )
