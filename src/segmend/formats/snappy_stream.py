"""Snappy as xerial's stream of chunks, where a new header may stand for a chunk; else one raw block."""

from __future__ import annotations

from collections.abc import Iterator

import cramjam

from segmend.formats.codec import CodecError
from segmend.formats.cursor import Malformed

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = 16


def pieces(view: memoryview, limit: int, _magic: int) -> Iterator[tuple[int, bytes]]:
    """(position, bytes), in one piece a chunk."""
    if len(view) == 0:
        raise Malformed(0, "snappy: empty stream")
    if bytes(view[:8]) != _MAGIC or len(view) < _HEADER:
        yield 0, _block(view, 0, limit)
        return
    # Nobody looks at the versions of the first header (xerial 1.1.2.6 to 1.1.10.7).
    at = _HEADER
    while len(view) - at >= 4:
        size = int.from_bytes(view[at : at + 4], "big")
        if view[at : at + 4] == _MAGIC[:4]:
            at = _header(view, at)
            continue
        if size > len(view) - at - 4:
            raise Malformed(at, f"snappy: a chunk of {size} bytes, {len(view) - at - 4} left")
        out = _block(view[at + 4 : at + 4 + size], at + 4, limit)
        limit -= len(out)
        yield at, out
        at += 4 + size


def _header(view: memoryview, at: int) -> int:
    """The position after the 16 bytes of magic, version and compatible version at `at`."""
    header = view[at : at + _HEADER]
    if len(header) < _HEADER or bytes(header[:8]) != _MAGIC:
        raise Malformed(at, "snappy: a broken xerial header")
    if int.from_bytes(header[8:12], "big", signed=True) < 1:
        raise Malformed(at + 8, "snappy: an incompatible xerial version")
    return at + _HEADER


def _block(block: memoryview, at: int, limit: int) -> bytes:
    """One raw block; its own length field is looked at before memory is taken for it."""
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > limit:
            raise CodecError("over-limit", at, f"snappy: a block of {size} bytes")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise Malformed(at, f"snappy: {error}") from error
