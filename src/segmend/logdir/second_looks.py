"""Who looks into a log again reads memory: small files are kept for a while, page by page.

A scan reads a log once, in its own buffer. Checks and forecasts then look at places in it, walk
its headers, or scan a part of it; of a small log that costs no more than one other reading,
however many they are. Of a large one only short looks are taken here; whole scans of it are
remembered by `scans`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from segmend.logdir.file_system import FileStat, OpenFile
from segmend.logdir.files import FileEntry

SMALL: Final = 1 << 20
"""A larger file is not kept."""
LIMIT: Final = 32 << 20
"""Bytes that all kept files may take; the oldest go first."""
TICK_NS: Final = 20_000_000
"""Two changes within one tick of the kernel's clock have the same time."""
_PAGE: Final = 4096


class _Pages:
    """The pages of one file that have been read; the others are zeros in `data`."""

    __slots__ = ("data", "missing")

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)
        self.missing = set(range(-(-size // _PAGE)))

    def need(self, start: int, end: int, reader: OpenFile | None) -> None:
        wanted = sorted(self.missing.intersection(range(start // _PAGE, -(-end // _PAGE))))
        while wanted and reader is not None:
            first, run = wanted[0], 1
            while run < len(wanted) and wanted[run] == first + run:
                run += 1
            reader.read_into(memoryview(self.data)[first * _PAGE : (first + run) * _PAGE], first * _PAGE)
            self.missing.difference_update(wanted[:run])
            del wanted[:run]


class _Kept(OpenFile):
    """A small file of which pages are kept; `file` is None where none is missing."""

    __slots__ = ("_file", "_pages")

    def __init__(self, path: str, pages: _Pages, file: OpenFile | None) -> None:
        super().__init__(path, len(pages.data))
        self._pages = pages
        self._file = file

    def read_into(self, buffer: memoryview, position: int) -> int:
        end = min(position + len(buffer), self.size)
        if end <= position:
            return 0
        self._pages.need(position, end, self._file)
        buffer[: end - position] = memoryview(self._pages.data)[position:end]
        return end - position

    def close(self) -> None:
        """Close the file; the pages stay."""
        if self._file is not None:
            self._file.close()


class Near(OpenFile):
    """A file of which the last large piece that was read is kept, for short looks into it."""

    __slots__ = ("_file", "_piece", "_start")

    def __init__(self, file: OpenFile) -> None:
        super().__init__(file.path, file.size)
        self._file = file
        self._start, self._piece = 0, b""

    def read_into(self, buffer: memoryview, position: int) -> int:
        at = position - self._start
        if at >= 0 and at + len(buffer) <= len(self._piece):
            buffer[:] = self._piece[at : at + len(buffer)]
            return len(buffer)
        got = self._file.read_into(buffer, position)
        if got > SMALL // 4:
            self._start, self._piece = position, bytes(buffer[:got])
        return got

    def extents(self) -> Iterator[tuple[int, int]]:
        return self._file.extents()


class _Store:
    """Files that were looked into lately, by identity; the oldest go when all take more than `LIMIT`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Pages] = OrderedDict()
        self._held = 0

    def get(self, key: str) -> _Pages | None:
        """The pages of a file, which then is the newest."""
        with self._lock:
            pages = self._kept.get(key)
            if pages is not None:
                self._kept.move_to_end(key)
            return pages

    def keep(self, key: str, pages: _Pages) -> None:
        """Keep them; the sum is carried along, for there may be thousands of small files."""
        with self._lock:
            old = self._kept.pop(key, None)
            self._kept[key] = pages
            self._held += len(pages.data) - (0 if old is None else len(old.data))
            while self._held > LIMIT:
                self._held -= len(self._kept.popitem(last=False)[1].data)


_store = _Store()


def look_again(file: FileEntry) -> OpenFile:
    """The file, opened for reading where it is not in memory; raises `Unreadable`."""
    stat = file.files.file_stat(file.path)
    key = stat.identity
    if key is None or stat.changed_ns is None or not 0 < stat.size <= SMALL:
        return file.reader()
    pages = _store.get(key)
    if pages is not None and not pages.missing:
        return _Kept(file.path, pages, None)
    reader = file.reader()
    if pages is None:
        pages = _Pages(stat.size)
        if time.time_ns() - stat.changed_ns > TICK_NS:
            _store.keep(key, pages)
    return _Kept(file.path, pages, reader)


def read_once(file: FileEntry, stat: FileStat) -> OpenFile:
    """The file from memory where all of it is kept, else opened, for one reading of the whole of it.

    `stat` is its status now.
    """
    pages = None if stat.identity is None else _store.get(stat.identity)
    return file.reader() if pages is None or pages.missing else _Kept(file.path, pages, None)
