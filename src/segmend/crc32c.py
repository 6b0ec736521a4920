"""CRC-32C (Castagnoli), the checksum of record batches and producer snapshots.

This is also where the compiled kernel is found and loaded: it computes the checksum, and
the layers above use the rest of it. Without it the `crc32c` package does the work; that
package is not even imported otherwise, since it takes longer to import than all of segmend.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

_NAME: Final = "_kernel.so"


def _load() -> ctypes.CDLL | None:
    """The library beside this file; from within a zip (Spark's `--py-files`) through memory."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAME)
    if os.path.exists(path):
        return _open(path)
    loader = __spec__.loader if __spec__ is not None else None
    if not hasattr(loader, "archive") or not hasattr(os, "memfd_create"):
        return None
    try:
        library: bytes = loader.get_data(path)  # type: ignore[union-attr]
    except OSError:
        return None
    handle = os.memfd_create(_NAME)
    os.write(handle, library)
    try:
        return _open(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def _open(path: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(path)
    except OSError:
        # Built for another machine (a shared checkout, a copied environment): do without.
        return None


LIBRARY: Final = _load()
"""The compiled kernel, or None."""


def _bind(library: ctypes.CDLL) -> ctypes._NamedFuncPointer:
    function = library.segmend_crc32c
    function.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint32)
    function.restype = ctypes.c_uint32
    return function


if LIBRARY is not None:
    _compiled = _bind(LIBRARY)

    def crc32c(data: bytes | bytearray | memoryview, value: int = 0) -> int:
        """CRC-32C of `data`, continuing from `value`."""
        size = len(data)
        if isinstance(data, bytes) or size == 0:
            checksum: int = _compiled(bytes(data), size, value)
        elif isinstance(data, bytearray) or not data.readonly:
            anchor = ctypes.c_char.from_buffer(data)
            checksum = _compiled(ctypes.addressof(anchor), size, value)
        else:
            checksum = _compiled(bytes(data), size, value)
        return checksum

else:
    from crc32c import crc32c as _packaged

    def crc32c(data: bytes | bytearray | memoryview, value: int = 0) -> int:
        """CRC-32C of `data`, continuing from `value`."""
        checksum: int = _packaged(data, value)
        return checksum
