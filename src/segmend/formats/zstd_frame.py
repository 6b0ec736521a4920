"""Zstandard frames (RFC 8878): their extent and the most they can hold, then their content.

Follows `org.apache.kafka.common.compress.ZstdCompression` (zstd-jni's stream): frames one
after another, skippable ones passed over, windows of at most 128 MiB. The frame is walked
block header by block header before libzstd sees it, since libzstd's fast call has no bound
on its output and its bounded stream is silent about a missing end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

import zstandard

from segmend.formats.cursor import Malformed, Truncated

_MAGIC = 0xFD2FB528
_SKIPPABLE = 0x184D2A50
_MAX_BLOCK = 128 << 10
_PIECE = 1 << 20
_RAW, _RLE, _COMPRESSED, _RESERVED = range(4)
_DICTIONARY_BYTES = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES = (0, 2, 4, 8)


class _Frame(NamedTuple):
    end: int
    """Position after the frame."""
    most: int
    """An upper bound on the bytes it decompresses to."""
    complete: bool


# A decompressor shared by threads returns corrupt data and then crashes the process.
_local = threading.local()


def _decompressor() -> zstandard.ZstdDecompressor:
    decompressor = getattr(_local, "decompressor", None)
    if decompressor is None:
        decompressor = _local.decompressor = zstandard.ZstdDecompressor()
    return decompressor


def pieces(view: memoryview, limit: int, _magic: int) -> Iterator[tuple[int, bytes]]:
    """(position, bytes), in one piece a frame where it fits `limit`, else in bounded pieces."""
    at = 0
    while at < len(view):
        if len(view) - at >= 4 and _u32(view, at) & 0xFFFFFFF0 == _SKIPPABLE:
            at = _skip(view, at)
            continue
        frame = _walk(view, at)
        try:
            if frame.complete and frame.most <= limit:
                out = _decompressor().decompressobj().decompress(view[at : frame.end])
                limit -= len(out)
                yield frame.end, out
            else:
                for out in _stream(view[at : frame.end]):
                    limit -= len(out)
                    yield at, out
        except zstandard.ZstdError as error:
            raise Malformed(at, f"zstd: {error}") from error
        if not frame.complete:
            raise Truncated(at, "zstd: Truncated source")
        at = frame.end


def _stream(frame: memoryview) -> Iterator[bytes]:
    with zstandard.ZstdDecompressor().stream_reader(frame) as reader:
        while out := reader.read(_PIECE):
            yield out


def _u32(view: memoryview, at: int) -> int:
    return int.from_bytes(view[at : at + 4], "little")


def _skip(view: memoryview, at: int) -> int:
    end = at + 8 + _u32(view, at + 4)
    if len(view) < at + 8 or len(view) < end:
        raise Truncated(at, "zstd: Truncated source")
    return end


def _walk(view: memoryview, at: int) -> _Frame:
    """Where the frame at `at` ends. `Malformed` for what is no frame at all."""
    if len(view) - at < 5:
        raise Truncated(at, "zstd: Truncated source")
    if _u32(view, at) != _MAGIC:
        raise Malformed(at, "zstd: Unknown frame descriptor")
    descriptor = view[at + 4]
    single_segment = descriptor >> 5 & 1
    size_bytes = _CONTENT_SIZE_BYTES[descriptor >> 6] or single_segment
    at += 5 + (1 - single_segment) + _DICTIONARY_BYTES[descriptor & 3] + size_bytes
    most = 0
    while True:
        if len(view) - at < 3:
            return _Frame(len(view), most, False)
        header = int.from_bytes(view[at : at + 3], "little")
        kind, size = header >> 1 & 3, header >> 3
        at += 3 + (1 if kind == _RLE else size)
        most += _MAX_BLOCK if kind >= _COMPRESSED else min(size, _MAX_BLOCK)
        if at > len(view) or kind == _RESERVED:
            return _Frame(len(view), most, kind == _RESERVED)
        if header & 1:
            at += 4 if descriptor & 4 else 0
            return _Frame(min(at, len(view)), most, at <= len(view))
