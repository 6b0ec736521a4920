"""Bytes of one file brought into another: shared where the file system can do that, else copied.

What is copied is read back and compared, piece by piece, while both are still in the processor's caches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from segmend.errors import SegmendError
from segmend.logdir.disk import FileReader
from segmend.surgery.writing.work import Workplace

PIECE: Final = 256 << 10
_HURRY: Final = 4 << 20
"""After so many bytes the disk is set to work, so that little is left for the sync at the end."""
_BLOCK: Final = 4096
"""Of the file systems that share blocks; one with larger ones refuses, and is copied to."""
Range = tuple[int, int]


def copy(work: Workplace, source: FileReader, fd: int, ranges: Iterable[Range], shift: int = 0) -> None:
    """Have these ranges (start, end) of a file in `fd`, each byte `shift` further on, proven.

    Raises `SegmendError` if the source became shorter, or what was written reads back as something else.
    """
    rest = [part for each in ranges for part in _not_shared(work, source, fd, each, shift)]
    if rest:
        _copied(work, source, fd, rest, shift, None)


def shared(work: Workplace, source: FileReader, fd: int, whole: Range, shift: int) -> bool:
    """Have one range in `fd` by sharing its whole blocks; False if that cannot be, and nothing was done."""
    rest = _not_shared(work, source, fd, whole, shift)
    if rest == [whole]:
        return False
    if rest:
        _copied(work, source, fd, rest, shift, None)
    return True


def copy_hashed(work: Workplace, source: FileReader, fd: int, whole: Range, shift: int, sha256: str) -> None:
    """As `copy` of one range, its holes left out; raises `SegmendError` unless its bytes have this hash."""
    digest = _Digest(whole[0])
    start, end = whole
    ranges = [(max(a, start), min(b, end)) for a, b in source.extents() if a < end and b > start]
    _copied(work, source, fd, ranges, shift, digest)
    if digest.finish(end) != sha256:
        raise SegmendError(f"{source.path}: is not what it was when the plan was made")


class _Digest:
    """SHA-256 of a range, the holes in it taken for the zeros that they are."""

    def __init__(self, start: int) -> None:
        self._at = start
        self._sha256 = hashlib.sha256()

    def take(self, position: int, data: memoryview) -> None:
        """The next bytes that are no hole."""
        self._skip(position)
        self._sha256.update(data)
        self._at += len(data)

    def finish(self, end: int) -> str:
        """The hash (hex) of all up to `end`."""
        self._skip(end)
        return self._sha256.hexdigest()

    def _skip(self, position: int) -> None:
        while self._at < position:
            count = min(position - self._at, PIECE)
            self._sha256.update(bytes(count))
            self._at += count


def _not_shared(work: Workplace, source: FileReader, fd: int, wanted: Range, shift: int) -> list[Range]:
    """Share the blocks of a range where that can be done; what is left to copy, at its two ends or all."""
    start, end = wanted
    first = start + -start % _BLOCK
    last = end if end == source.size else end - end % _BLOCK
    assert start + shift >= 0, "no byte comes before the first"
    if (
        shift % _BLOCK
        or last <= first
        or not work.fx.clone(fd, source.path, first, last - first, first + shift)
    ):
        return [wanted]
    work.tell(last - first)
    return [each for each in ((start, first), (last, end)) if each[0] < each[1]]


def _copied(
    work: Workplace, source: FileReader, fd: int, ranges: list[Range], shift: int, digest: _Digest | None
) -> None:
    back = FileReader.of_descriptor(fd, source.path)
    mine, theirs = bytearray(PIECE), bytearray(PIECE)
    try:
        for start, end in (piece for each in ranges for piece in _pieces(each)):
            work.check()
            data = memoryview(mine)[: end - start]
            if source.read_into(data, start) < end - start:
                raise SegmendError(f"{source.path}: became shorter while it was read")
            if digest is not None:
                digest.take(start, data)
            work.fx.write(fd, data, start + shift)
            work.tell(end - start)
            got = back.read_into(memoryview(theirs)[: end - start], start + shift)
            if got < end - start or _differ(mine, theirs, got):
                raise SegmendError(
                    f"the copy of {source.path} does not read back as what was written; "
                    "check the disk it goes to"
                )
            if start // _HURRY < end // _HURRY:
                work.fx.hurry(fd, max(end + shift - _HURRY, 0), _HURRY)
    finally:
        back.close()


def _pieces(whole: Range) -> Iterator[Range]:
    start, end = whole
    return ((at, min(at + PIECE, end)) for at in range(start, end, PIECE))


def _differ(mine: bytearray, theirs: bytearray, size: int) -> bool:
    return mine != theirs if size == PIECE else mine[:size] != theirs[:size]
