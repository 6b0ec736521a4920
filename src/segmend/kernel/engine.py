"""Which engine: the C if it was built and fits, else the reference. Chosen here and nowhere else."""

from __future__ import annotations

import os
from importlib import import_module
from typing import cast

from segmend.kernel import native
from segmend.kernel.walker import Engine


def engine_named(name: str) -> Engine:
    """The engine of this name, `native` or `reference`; only that is imported."""
    return cast(Engine, import_module(f"segmend.kernel.{name}"))


_ASKED = os.environ.get("SEGMEND_KERNEL", "")
ENGINE = engine_named("native" if native.available() and _ASKED != "reference" else "reference")
"""The engine in use: `ENGINE.name` is `native` or `reference`."""
