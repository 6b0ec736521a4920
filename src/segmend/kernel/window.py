"""A bounded piece of a file in a reused buffer. Never mmap: a truncated file would kill the process."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from segmend.kernel.types import WINDOW, WINDOW_LIMIT, Reader

_spare: list[bytearray] = []
_MAX_SPARE = 8


class Window:
    """The bytes [`start`, `start + len(view)`) of a file; moves where it is told.

    `end` is the readable size of the file. It falls when a read comes back short: somebody
    truncates the file while we look at it, and the rest is then a torn tail.
    """

    def __init__(self, reader: Reader, *, size: int = WINDOW) -> None:
        self._reader = reader
        self._standard = size
        self._buffer = _spare.pop() if size == WINDOW and _spare else bytearray(size)
        self.start = 0
        self.end = reader.size
        self.view = memoryview(self._buffer)[:0]

    def __enter__(self) -> Window:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.view.release()
        if len(self._buffer) == WINDOW and len(_spare) < _MAX_SPARE:
            _spare.append(self._buffer)

    def load(self, position: int, need: int = 0) -> memoryview:
        """Go to `position`, with at least `need` bytes if the file has them; what is here is not read again.

        A window that holds only one or two batches would read much of the file twice, so it
        grows beyond `need` for large ones.
        """
        wanted = self._standard if 4 * need <= self._standard else min(4 * need, max(need, WINDOW_LIMIT))
        assert position >= 0, "no file begins before byte 0"
        here = self.view[position - self.start :] if position >= self.start else self.view[:0]
        self._resize(wanted)
        size = max(min(len(self._buffer), self.end - position), 0)
        target = memoryview(self._buffer)[:size]
        got = min(len(here), size)
        target[:got] = here[:got]
        while got < size:
            count = self._reader.read_into(target[got:], position + got)
            assert count <= size - got, "a reader gave more than was asked for"
            if count <= 0:
                self.end = position + got
                break
            got += count
        self.start, self.view = position, target[:got]
        return self.view

    def _resize(self, wanted: int) -> None:
        if wanted > len(self._buffer) and self.end - self.start > len(self._buffer):
            self._buffer = bytearray(wanted)

    def covers(self, position: int, need: int) -> bool:
        return self.start <= position and position + need <= self.start + len(self.view)

    def at(self, position: int, need: int) -> memoryview:
        """The bytes from `position`, at least `need` if the file has them; reads only if it must."""
        offset = position - self.start
        if offset < 0 or need > len(self.view) - offset:
            return self.load(position, need)
        return self.view[offset:]

    def pieces(self, start: int, end: int) -> Iterator[memoryview]:
        while start < end:
            view = self.load(start)[: end - start]
            if not view:
                return
            yield view
            start += len(view)

    def written(self, start: int) -> Iterator[memoryview]:
        """All from `start` on but the holes of the file, which are zeros, however large they are."""
        for begin, end in self._reader.extents():
            yield from self.pieces(max(begin, start), min(end, self.end))
