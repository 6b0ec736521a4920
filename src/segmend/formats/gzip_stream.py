"""Gzip members one after another; as in `GZIPInputStream`, bytes that start none end the stream.

Later members are fed in growing slices, so that a payload of a thousand tiny members is not
copied a thousand times.
"""

from __future__ import annotations

from collections.abc import Iterator

from isal import igzip_lib

from segmend.formats.cursor import Malformed

_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 20
# The stub declares an instance where there is a class.
_GzipError: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]


def pieces(view: memoryview, _limit: int, _magic: int) -> Iterator[tuple[int, bytes]]:
    """(position, bytes), in pieces of at most 1 MiB."""
    at, step = 0, len(view)
    while at == 0 or bytes(view[at : at + 2]) == _MAGIC:
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
