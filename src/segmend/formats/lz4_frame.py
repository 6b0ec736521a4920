"""The subset of LZ4 frames that Kafka knows, block by block.

Follows `org.apache.kafka.common.compress.Lz4BlockInputStream`: independent blocks only,
content checksum (which must be there) and content size skipped, bytes after the end mark
ignored, nothing read behind a block of no bytes (`ChunkedBytesStream` takes it for the end),
and for magic 0 a header checksum that nobody looks at (old clients wrote it over the wrong
bytes).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct

import lz4.block
import lz4.frame

from segmend.formats.cursor import Malformed, Truncated

MAGIC = b"\x04\x22\x4d\x18"
_U32 = Struct("<I")
_STORED = 0x80000000
_MASK = 0xFFFFFFFF
_PREMATURE_EOS = "lz4: Stream ended prematurely"


def pieces(view: memoryview, _limit: int, magic: int) -> Iterator[tuple[int, bytes]]:
    """(position, bytes of one block at most 4 MiB long); `Malformed` where the frame breaks."""
    empty_at: int | None = None
    for at, end, block in _blocks(view, magic):
        if block and empty_at is not None:
            raise Malformed(empty_at, "lz4: a block of no bytes, behind which nothing is read")
        if not block:
            empty_at = at
        yield end, block


def _blocks(view: memoryview, magic: int) -> Iterator[tuple[int, int, bytes]]:
    """(position, the one after it, bytes) of each block."""
    if len(view) < 6:
        raise Truncated(0, _PREMATURE_EOS)
    if view[:4] != MAGIC:
        raise Malformed(0, "lz4: Stream unsupported (invalid magic bytes)")
    flags = view[4]
    max_block = _max_block(flags, view[5])
    at = 15 if flags & 0x08 else 7
    if len(view) < at:
        raise Truncated(4, _PREMATURE_EOS)
    if magic != 0 and view[at - 1] != header_checksum(bytes(view[4 : at - 1])):
        raise Malformed(at - 1, "lz4: Stream frame descriptor corrupted")
    checksum_size = 4 if flags & 0x10 else 0
    end_size = 8 if flags & 0x04 else 4
    while True:
        if len(view) - at < 4:
            raise Truncated(at, _PREMATURE_EOS)
        word = _U32.unpack_from(view, at)[0]
        size = word & ~_STORED
        if size == 0:
            return _end(view, at, end_size)
        if size > max_block:
            raise Malformed(at, f"lz4: Block size {size} exceeded max: {max_block}")
        end = at + 4 + size + checksum_size
        if len(view) < end:
            raise Truncated(at, _PREMATURE_EOS)
        yield at, end, _block(view, at, size, max_block, word, checksum_size)
        at = end


def _end(view: memoryview, at: int, size: int) -> None:
    """The end mark, and the content checksum behind it, which is not compared."""
    if len(view) - at < size:
        raise Truncated(at, f"{_PREMATURE_EOS} (no content checksum)")


def _max_block(flags: int, descriptor: int) -> int:
    """The block size limit in bytes; `Malformed` for what Kafka refuses in FLG and BD."""
    if flags & 0x03 or descriptor & 0x8F:
        raise Malformed(4, "lz4: Reserved bits must be 0")
    if not flags & 0x20:
        raise Malformed(4, "lz4: Dependent block stream is unsupported (BLOCK_INDEPENDENCE must be set)")
    if flags >> 6 != 1:
        raise Malformed(4, f"lz4: Version {flags >> 6} is unsupported")
    if descriptor >> 4 < 4:
        raise Malformed(5, f"lz4: Block size value must be between 4 and 7, not {descriptor >> 4}")
    return 1 << 2 * (descriptor >> 4) + 8


def _block(view: memoryview, at: int, size: int, max_block: int, word: int, checksum_size: int) -> bytes:
    if checksum_size:
        return _checked_block(view[at : at + 4 + size + checksum_size], at)
    block = view[at + 4 : at + 4 + size]
    if word & _STORED:
        return bytes(block)
    try:
        out: bytes = lz4.block.decompress(block, uncompressed_size=max_block)
    except lz4.block.LZ4BlockError as error:
        raise Malformed(at, f"lz4: {error}") from error
    return out


def _checked_block(block: memoryview, at: int) -> bytes:
    """A block with its checksum, verified by liblz4 as a frame of its own."""
    descriptor = b"\x70\x70"
    frame = b"".join((MAGIC, descriptor, bytes((header_checksum(descriptor),)), block, b"\x00\x00\x00\x00"))
    try:
        out: bytes = lz4.frame.decompress(frame)
    except RuntimeError as error:
        raise Malformed(at, f"lz4: Block checksum mismatch ({error})") from error
    return out


@lru_cache(maxsize=64)
def header_checksum(descriptor: bytes) -> int:
    """The HC byte: the second byte of xxHash32 with seed 0 over the descriptor (< 16 bytes)."""
    value = 374761393 + len(descriptor)
    at = 0
    while len(descriptor) - at >= 4:
        value = value + _U32.unpack_from(descriptor, at)[0] * 3266489917 & _MASK
        value = (value << 17 | value >> 15) * 668265263 & _MASK
        at += 4
    for byte in descriptor[at:]:
        value = value + byte * 374761393 & _MASK
        value = (value << 11 | value >> 21) * 2654435761 & _MASK
    value = (value ^ value >> 15) * 2246822519 & _MASK
    value = (value ^ value >> 13) * 3266489917 & _MASK
    return (value ^ value >> 16) >> 8 & 0xFF
