"""What only shows when replicas are laid side by side: one module a family of codes, found by name.

A module has `CODES`, a `PAGE` as `segmend.checks` has them, and `run(group)`, where `group` holds the
replicas of one partition.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType, ModuleType

from segmend.checks import known_codes
from segmend.checks.manual import Entry, entries
from segmend.discovery import modules_in
from segmend.findings import Finding
from segmend.fleet import refused
from segmend.fleet.cross.replica import Group


@functools.cache
def cross_checks() -> tuple[ModuleType, ...]:
    """Every module of this package that has `CODES`, sorted by name."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in modules_in(__path__))
    return tuple(module for module in modules if hasattr(module, "CODES"))


@functools.cache
def whole_manual() -> Mapping[str, Entry]:
    """Every code there is, with its page: of one broker, of replicas side by side, of what is refused."""
    cross = (entry for module in (*cross_checks(), refused) for entry in entries(module, "fleet"))
    return MappingProxyType({**known_codes(), **dict(cross)})


def cross_findings(group: Group) -> Iterator[Finding]:
    """What every cross check says of the replicas of one partition."""
    for module in cross_checks():
        yield from module.run(group)
