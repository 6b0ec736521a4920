"""The C engine, called once per window through ctypes."""

from __future__ import annotations

from segmend.kernel.reference import find_candidate, walker

__all__ = ["available", "find_candidate", "name", "walker"]

name = "native"


def available() -> bool:
    """Whether the compiled kernel is there."""
    return False
