"""Lines of text of any length and number, such as a server.log: plain or gzip, from a file or a stream."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable

_CHUNK = 1 << 20
_LONGEST = 16 << 20
"""More than this without an end of line is broken up."""
_GZIP = b"\x1f\x8b"


def lines_of(path: str) -> Iterator[str]:
    """The lines of a file; raises `Unreadable`."""
    return lines(_chunks(path), path)


def lines(chunks: Iterable[bytes], path: str) -> Iterator[str]:
    """Lines without their ends; what is not UTF-8 is escaped. Raises `Unreadable` where a gzip breaks off."""
    rest = b""
    for chunk in _plain(chunks, path):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.rstrip(b"\r").decode("utf-8", "backslashreplace")
        if len(rest) > _LONGEST:
            yield rest.decode("utf-8", "backslashreplace")
            rest = b""
    if rest:
        yield rest.decode("utf-8", "backslashreplace")


def _chunks(path: str) -> Iterator[bytes]:
    with disk.open(path) as file:
        position = 0
        while data := file.read(_CHUNK, position):
            position += len(data)
            yield data


def _plain(chunks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """Unpacked if it begins as gzip does."""
    source = iter(chunks)
    first = next(source, b"")
    while len(first) < len(_GZIP) and (more := next(source, b"")):
        first += more
    if not first.startswith(_GZIP):
        yield first
        yield from source
        return
    member = zlib.decompressobj(wbits=31)
    ended = True
    for chunk in chain((first,), source):
        data = chunk
        while data:
            try:
                plain = member.decompress(data, _CHUNK)
            except zlib.error:
                raise Unreadable(path, "the gzip is damaged; the lines before that were read") from None
            yield plain
            data, ended = member.unconsumed_tail, member.eof
            if ended:
                data, member = member.unused_data, zlib.decompressobj(wbits=31)
    if not ended:
        raise Unreadable(path, "the gzip ends too early; the lines before that were read")
