"""What mends which finding: one module a kind of file, discovered.

A module has `CODES`, the findings it mends, and `jobs(finding, scene)`, which gives the files to
be made anew, or raises `BeyondRepair` with the reason. It reads the model and writes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from segmend.discovery import modules_in
from segmend.findings import Finding
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.recipes import Rebuild

Mend = Callable[[Finding, Scene], Iterator[Rebuild]]


@functools.cache
def mends() -> Mapping[str, Mend]:
    """The function that mends a finding, by code."""
    modules = (import_module(f"{__name__}.{name}") for name in modules_in(__path__))
    return MappingProxyType({code: module.jobs for module in modules for code in module.CODES})
