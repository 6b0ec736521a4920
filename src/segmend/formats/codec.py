"""Decompression of batch payloads, as Kafka reads them, and never beyond a bound.

Follows `GzipCompression`, `SnappyCompression`, `Lz4BlockInputStream` and
`ZstdCompression`. Whatever the input, at most `limit` bytes come out and memory stays
within a small multiple of it: a bomb is noticed while it grows, not after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import cramjam
from isal import igzip_lib

from segmend.formats import lz4_frame, zstd_frame
from segmend.formats.cursor import Malformed

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
DEFAULT_LIMIT = 64 << 20
"""Bytes out of one batch; a producer with default settings never makes more than 1 MiB."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 20
# The stub declares an instance where there is a class.
_GzipError: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]


class CodecError(ValueError):
    """A payload that cannot be decompressed to its end.

    `position` is in the compressed bytes and `partial` holds what came out before it.
    `kind` is `unknown-codec`, `undecodable` or `over-limit`.
    """

    def __init__(
        self,
        kind: Literal["unknown-codec", "undecodable", "over-limit"],
        position: int,
        reason: str,
        partial: bytes = b"",
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.position = position
        self.reason = reason
        self.partial = partial


def decompress(
    codec: int, data: bytes | bytearray | memoryview, *, limit: int = DEFAULT_LIMIT, magic: int = 2
) -> bytes:
    """All of `data` decompressed, at most `limit` bytes; `CodecError` otherwise.

    `magic` is the batch's: magic 0 has its own lz4 header checksum, and zstd is legal in
    version 2 only.
    """
    if codec == NONE:
        return bytes(data)
    chunks: list[bytes] = []
    size = 0
    reached = 0
    try:
        for reached, chunk in _pieces(codec, data, limit, magic):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                partial = b"".join(chunks)[:limit]
                raise CodecError("over-limit", reached, f"decompresses to more than {limit} bytes", partial)
    except Malformed as error:
        raise CodecError("undecodable", error.position, error.reason, b"".join(chunks)) from error
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _pieces(
    codec: int, data: bytes | bytearray | memoryview, limit: int, magic: int
) -> Iterator[tuple[int, bytes]]:
    """(position in `data`, the bytes that come out from there), in bounded pieces."""
    view = memoryview(data)
    if codec == GZIP:
        return _gzip(view)
    if codec == SNAPPY:
        return _snappy(view, limit)
    if codec == LZ4:
        return lz4_frame.pieces(view, check_header=magic != 0)
    if codec == ZSTD and magic >= 2:
        return zstd_frame.pieces(view, limit)
    if codec == ZSTD:
        raise CodecError("unknown-codec", 0, f"zstd is not legal in magic {magic}")
    raise CodecError("unknown-codec", 0, f"Unknown compression type id: {codec}")


def _gzip(view: memoryview) -> Iterator[tuple[int, bytes]]:
    """Members one after another; as in `GZIPInputStream`, bytes that start none end the stream.

    Later members are fed in growing slices, so that a payload of a thousand tiny members
    is not copied a thousand times.
    """
    at, step = 0, len(view)
    while at == 0 or bytes(view[at : at + 2]) == _GZIP_MAGIC:
        member = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while not member.eof:
            piece = view[at : at + step] if member.needs_input else b""
            if member.needs_input and not piece:
                raise Malformed(at, "gzip ends inside a member")
            try:
                out = member.decompress(piece, _PIECE)
            except _GzipError as error:
                raise Malformed(at, f"gzip: {error}") from error
            at += len(piece)
            step *= 2
            yield at, out
        at -= len(member.unused_data)
        step = 512


def _snappy(view: memoryview, limit: int) -> Iterator[tuple[int, bytes]]:
    """xerial's stream of chunks, where a new header may stand for a chunk; else one raw block."""
    if len(view) == 0:
        raise Malformed(0, "snappy: empty stream")
    if bytes(view[:8]) != _XERIAL_MAGIC or len(view) < _XERIAL_HEADER:
        yield 0, _snappy_block(view, 0, limit)
        return
    at = _xerial_header(view, 0)
    while len(view) - at >= 4:
        size = int.from_bytes(view[at : at + 4], "big")
        if view[at : at + 4] == _XERIAL_MAGIC[:4]:
            at = _xerial_header(view, at)
            continue
        if size > len(view) - at - 4:
            raise Malformed(at, f"snappy: a chunk of {size} bytes, {len(view) - at - 4} left")
        out = _snappy_block(view[at + 4 : at + 4 + size], at + 4, limit)
        limit -= len(out)
        yield at, out
        at += 4 + size


def _xerial_header(view: memoryview, at: int) -> int:
    """The position after the 16 bytes of magic, version and compatible version at `at`."""
    header = view[at : at + _XERIAL_HEADER]
    if len(header) < _XERIAL_HEADER or bytes(header[:8]) != _XERIAL_MAGIC:
        raise Malformed(at, "snappy: a broken xerial header")
    if int.from_bytes(header[12:16], "big", signed=True) < 1:
        raise Malformed(at + 12, "snappy: an incompatible xerial version")
    return at + _XERIAL_HEADER


def _snappy_block(block: memoryview, at: int, limit: int) -> bytes:
    """One raw block; its own length field is looked at before memory is taken for it."""
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > limit:
            raise CodecError("over-limit", at, f"snappy: a block of {size} bytes")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise Malformed(at, f"snappy: {error}") from error
