"""The modules of a package, by the names of their files; none of them is imported.

As `pkgutil.iter_modules`, which imports `inspect` to tell a module's name, and with it half of a compiler.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib import import_module


def modules_in(path: Iterable[str]) -> list[str]:
    """Their names in order; `path` is the `__path__` of the package."""
    return sorted(name for folder in path for name in _modules(folder))


def _modules(folder: str) -> list[str]:
    if not os.path.isdir(folder):  # of a package in a zip
        return [each.name for each in import_module("pkgutil").iter_modules([folder])]
    names = (name.partition(".") for name in os.listdir(folder) if name[:1].isalpha())
    return [
        stem
        for stem, dot, suffix in names
        if suffix in ("py", "pyc") or (not dot and os.path.exists(os.path.join(folder, stem, "__init__.py")))
    ]
