"""The C that lets runs of batches grow; its plain twin is `merge/open_run.py`."""

from __future__ import annotations

import ctypes
from ctypes import c_int64
from typing import Final

from segmend.crc32c import LIBRARY
from segmend.kernel.engine import ENGINE
from segmend.kernel.layout import Library, fits

_BATCH: Final = 15 * 8
_FIELDS: Final = "first last size crc position epoch below digest batches records run_last end marked"
_SAMPLE: Final = (-1, (1 << 61) - 1, -(1 << 62), 7, 1)


class Follow(ctypes.Structure):
    """`follow_t` of runs.c."""

    _fields_ = tuple((field, c_int64) for field in _FIELDS.split())

    @property
    def place(self) -> int:
        """Where it is; keep it while the number is used."""
        return ctypes.addressof(self)


def _bind(library: ctypes.CDLL | None) -> Library:
    sizes = {"follow_t": ctypes.sizeof(Follow), "row_t": _BATCH + 8}
    if (
        library is None
        or ENGINE.name != "native"
        or not fits(library, "segmend_follow_places", Follow, sizes)
    ):
        return None
    library.segmend_digest.restype, library.segmend_digest.argtypes = c_int64, (c_int64,) * 5
    library.segmend_follow.restype = c_int64
    library.segmend_follow.argtypes = (ctypes.c_void_p, ctypes.c_char_p, c_int64, c_int64)
    # Another Python may hash otherwise, and runs of both are compared with one another.
    return library if library.segmend_digest(*_SAMPLE) == hash(_SAMPLE) else None


RUNS: Final = _bind(LIBRARY)
"""The library, None where Python does the work."""
