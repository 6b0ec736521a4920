"""Bytes of one file brought into another: shared where the file system can do that, else copied.

What is copied is read back, and must have the checksum that was read. One thread writes; another
reads ahead of it, and reads back behind it. The disk is told to begin early, so that the sync in
the end finds little left.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import cycle
from typing import Final, NamedTuple

from segmend.crc32c import crc32c
from segmend.errors import SegmendError
from segmend.logdir.disk import FileReader
from segmend.surgery.step import Work

PIECE: Final = 1 << 20
"""Bytes of one write; larger ones leave the caches of the processor."""
_AHEAD: Final = 4
_BLOCK: Final = 4096
"""Of the file systems that share blocks; one with larger ones refuses, and is copied to."""
_EARLY: Final = 8
"""Pieces after which the disk is told to begin."""
_FEW: Final = 2
"""Pieces for which threads are not worth their making."""
Range = tuple[int, int]


class _Piece(NamedTuple):
    """Bytes of the source, and where they are in it."""

    position: int
    data: memoryview
    crc: int


def copy(work: Work, source: FileReader, fd: int, ranges: Iterable[Range], shift: int = 0) -> None:
    """Have these ranges (start, end) of a file in `fd`, each byte `shift` further on, proven.

    Raises `SegmendError` if the source became shorter, or what was written reads back as something else.
    """
    rest = [part for each in ranges for part in _not_shared(work, source, fd, each, shift)]
    if rest:
        _copied(work, source, fd, rest, shift, None)


def shared(work: Work, source: FileReader, fd: int, whole: Range, shift: int) -> bool:
    """Have one range in `fd` by sharing its whole blocks; False if that cannot be, and nothing was done."""
    rest = _not_shared(work, source, fd, whole, shift)
    if rest == [whole]:
        return False
    if rest:
        _copied(work, source, fd, rest, shift, None)
    return True


def copy_hashed(work: Work, source: FileReader, fd: int, whole: Range, shift: int, sha256: str) -> None:
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


def _not_shared(work: Work, source: FileReader, fd: int, wanted: Range, shift: int) -> list[Range]:
    """Share the blocks of a range where that can be done; what is left to copy, at its two ends or all."""
    start, end = wanted
    first = start + -start % _BLOCK
    last = end if end == source.size else end - end % _BLOCK
    if (
        shift % _BLOCK
        or last <= first
        or not work.fx.clone(fd, source.path, first, last - first, first + shift)
    ):
        return [wanted]
    work.tell(last - first)
    return [each for each in ((start, first), (last, end)) if each[0] < each[1]]


def _copied(
    work: Work, source: FileReader, fd: int, ranges: list[Range], shift: int, digest: _Digest | None
) -> None:
    pieces = [part for each in ranges for part in _pieces(each)]
    back = FileReader.of_descriptor(fd, source.path)
    try:
        if len(pieces) <= _FEW:
            for piece in (_read(source, memoryview(bytearray(PIECE)), each, digest) for each in pieces):
                _write(work, fd, piece, shift)
                _read_back(back, piece.position + shift, len(piece.data), piece.crc)
        else:
            with ThreadPoolExecutor(1) as before, ThreadPoolExecutor(1) as behind:
                _read_back_behind(work, fd, _read_ahead(before, source, pieces, digest), shift, back, behind)
    finally:
        back.close()


def _pieces(whole: Range) -> Iterator[Range]:
    start, end = whole
    return ((at, min(at + PIECE, end)) for at in range(start, end, PIECE))


def _read_ahead(
    helper: Executor, source: FileReader, pieces: list[Range], digest: _Digest | None
) -> Iterator[_Piece]:
    """All pieces in order; each is good until the next one is asked for."""
    buffers = cycle([memoryview(bytearray(PIECE)) for _ in range(_AHEAD + 1)])
    waiting: deque[Future[_Piece]] = deque()
    for buffer, each in zip(buffers, pieces, strict=False):
        waiting.append(helper.submit(_read, source, buffer, each, digest))
        if len(waiting) > _AHEAD:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _read_back_behind(
    work: Work, fd: int, pieces: Iterator[_Piece], shift: int, back: FileReader, helper: Executor
) -> None:
    waiting: deque[Future[None]] = deque()
    for number, piece in enumerate(pieces, 1):
        _write(work, fd, piece, shift)
        at, size = piece.position + shift, len(piece.data)
        waiting.append(helper.submit(_read_back, back, at, size, piece.crc))
        if len(waiting) > _AHEAD:
            waiting.popleft().result()
        if number % _EARLY == 0:
            work.fx.begin_sync(fd, at + size - _EARLY * PIECE, _EARLY * PIECE)
    while waiting:
        waiting.popleft().result()


def _read(source: FileReader, buffer: memoryview, wanted: Range, digest: _Digest | None) -> _Piece:
    start, end = wanted
    data = buffer[: end - start]
    if source.read_into(data, start) < end - start:
        raise SegmendError(f"{source.path}: became shorter while it was read")
    if digest is not None:
        digest.take(start, data)
    return _Piece(start, data, crc32c(data))


def _write(work: Work, fd: int, piece: _Piece, shift: int) -> None:
    work.check()
    work.fx.write(fd, piece.data, piece.position + shift)
    work.tell(len(piece.data))


def _read_back(back: FileReader, position: int, size: int, crc: int) -> None:
    buffer = memoryview(bytearray(size))
    if back.read_into(buffer, position) < size or crc32c(buffer) != crc:
        raise SegmendError(
            f"the copy of {back.path} does not read back as what was written; check the disk it goes to"
        )
