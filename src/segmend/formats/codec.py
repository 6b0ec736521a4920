"""Decompression of batch payloads, as Kafka reads them, and never beyond a bound.

Follows `GzipCompression`, `SnappyCompression`, `Lz4BlockInputStream` and
`ZstdCompression`. Whatever the input, at most `limit` bytes come out and memory stays
within a small multiple of it: a bomb is noticed while it grows, not after.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Literal

from segmend.formats.cursor import Malformed

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
DEFAULT_LIMIT = 64 << 20
"""Bytes out of one batch; a producer with default settings never makes more than 1 MiB."""

# The modules with `pieces`, loaded for the first batch that needs them: the packages behind them take longer
# to import than all else that is needed for a small log dir.
_PIECES = {GZIP: "gzip_stream", SNAPPY: "snappy_stream", LZ4: "lz4_frame", ZSTD: "zstd_frame"}


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
            chunks.append(chunk if size + len(chunk) <= limit else chunk[: limit - size])
            size += len(chunk)
            if size > limit:
                reason = f"decompresses to more than {limit} bytes"
                raise CodecError("over-limit", reached, reason, _joined(chunks))
    except Malformed as error:
        raise CodecError("undecodable", error.position, error.reason, _joined(chunks)) from error
    return _joined(chunks)


def _joined(chunks: list[bytes]) -> bytes:
    """All of them; they themselves are held no longer, for an error keeps the frames that it came through."""
    data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    chunks.clear()
    return data


def _pieces(
    codec: int, data: bytes | bytearray | memoryview, limit: int, magic: int
) -> Iterator[tuple[int, bytes]]:
    """(position in `data`, the bytes that come out from there), in bounded pieces."""
    if codec not in _PIECES:
        raise CodecError("unknown-codec", 0, f"Unknown compression type id: {codec}")
    if codec == ZSTD and magic < 2:
        raise CodecError("unknown-codec", 0, f"zstd is not legal in magic {magic}")
    module = import_module(f"segmend.formats.{_PIECES[codec]}")
    unpacked: Iterator[tuple[int, bytes]] = module.pieces(memoryview(data), limit, magic)
    return unpacked
