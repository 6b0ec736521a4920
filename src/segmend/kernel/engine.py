"""Which engine: the C if it was built and fits, else the reference. Chosen here and nowhere else."""

from __future__ import annotations

import os
from typing import cast

from segmend.kernel import native, reference
from segmend.kernel.walker import Engine

_ASKED = os.environ.get("SEGMEND_KERNEL", "")


def _choose(asked: str) -> Engine:
    if asked == "reference" or not native.available():
        return cast(Engine, reference)
    return cast(Engine, native)


ENGINE = _choose(_ASKED)
"""The engine in use: `ENGINE.name` is `native` or `reference`."""


def engine_named(name: str) -> Engine:
    """The engine of this name, for tests and measurements."""
    return {"reference": cast(Engine, reference), "native": cast(Engine, native)}[name]
