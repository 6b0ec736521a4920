"""Compression of batch payloads as Kafka's own producer writes them."""

from __future__ import annotations

from collections.abc import Iterator

import cramjam
import lz4.block
import zstandard
from isal import igzip_lib

from segmend.formats.codec import GZIP, LZ4, NONE, SNAPPY, ZSTD
from segmend.formats.lz4_frame import MAGIC as LZ4_MAGIC
from segmend.formats.lz4_frame import header_checksum

_XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK = 32 << 10
_LZ4_BLOCK = 64 << 10
_LZ4_DESCRIPTOR = b"\x60\x40"


def compress(codec: int, data: bytes, *, magic: int = 2) -> bytes:
    """`data` compressed; for magic 0 with the lz4 header checksum of old clients.

    ValueError for codec 5 to 7.
    """
    if codec == NONE:
        return data
    if codec == GZIP:
        packed: bytes = igzip_lib.compress(data, flag=igzip_lib.COMP_GZIP)
        return packed
    if codec == SNAPPY:
        return b"".join(_xerial(data))
    if codec == LZ4:
        return b"".join(_lz4(data, magic))
    if codec == ZSTD:
        return zstandard.ZstdCompressor(write_content_size=False).compress(data)
    raise ValueError(f"Unknown compression type id: {codec}")


def _xerial(data: bytes) -> Iterator[bytes]:
    yield _XERIAL_HEADER
    for at in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _XERIAL_BLOCK]))
        yield len(block).to_bytes(4, "big")
        yield block


def _lz4(data: bytes, magic: int) -> Iterator[bytes]:
    # Before magic 1 the checksum wrongly covered the frame's magic too (KAFKA-3160).
    checked = LZ4_MAGIC + _LZ4_DESCRIPTOR if magic == 0 else _LZ4_DESCRIPTOR
    yield LZ4_MAGIC + _LZ4_DESCRIPTOR + bytes((header_checksum(checked),))
    for at in range(0, len(data), _LZ4_BLOCK):
        plain = data[at : at + _LZ4_BLOCK]
        packed = lz4.block.compress(plain, store_size=False)
        stored = len(packed) >= len(plain)
        block = plain if stored else packed
        yield (len(block) | stored << 31).to_bytes(4, "little")
        yield block
    yield bytes(4)
