"""Log dirs as a plan will leave them, without touching one: the model reads them like any other.

A view is a file system (`Files`), as an object store is. Steps are shown to it (`Step.preview`);
forecasts, checks and further operations then look at log dirs that are opened in it.
"""

from __future__ import annotations

import posixpath
import stat
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from segmend.frozen import dataclass, field
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.file_system import EntryType, FileStat, OpenFile, Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.step import Step, View
from segmend.surgery.writing.work import folder

T = TypeVar("T")


class _Piece(NamedTuple):
    """`length` bytes at `start`: from memory, or those of a real file from byte `at` on."""

    start: int
    length: int
    source: bytes | str
    at: int = 0

    def read_into(self, buffer: memoryview, position: int) -> None:
        """Fill `buffer`, which lies within the piece, from `position` of the changed file on."""
        first = self.at + position - self.start
        if isinstance(self.source, bytes):
            buffer[:] = self.source[first : first + len(buffer)]
            return
        with FileReader(self.source) as reader:
            reader.read_into(buffer, first)


@dataclass(slots=True)
class _File:
    """A changed file: the first `size` bytes of the real file `base`, with pieces written over them."""

    base: str | None
    size: int
    like: Fingerprint
    pieces: list[_Piece] = field(default_factory=list)


class _Known(Generic[T]):
    """Values by path, with what lies below a directory found without a look at all of them."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._inner: dict[str, dict[str, None]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._values

    def __getitem__(self, path: str) -> T:
        return self._values[path]

    def __setitem__(self, path: str, value: T) -> None:
        self._values[path] = value
        while path != "/" and path not in (inner := self._inner.setdefault(folder(path), {})):
            inner[path] = None
            path = folder(path)

    def get(self, path: str) -> T | None:
        return self._values.get(path)

    def children(self, path: str) -> Iterator[tuple[str, T]]:
        """Names right in a directory, and their values."""
        for inner in self._inner.get(path, ()):
            if inner in self._values:
                yield posixpath.basename(inner), self._values[inner]

    def take_below(self, path: str) -> Iterator[tuple[str, T]]:
        """Every path at or below this one, and its value, which are known no more."""
        for inner in [*self._inner.pop(path, ())]:
            yield from self.take_below(inner)
        if path in self._values:
            yield path, self._values.pop(path)

    def rename(self, source: str, target: str) -> None:
        """What is known of a directory and all below it is known of another one."""
        for path, value in [*self.take_below(source)]:
            self[target + path[len(source) :]] = value


class PlannedView(View):
    """The disk, with changes over it."""

    def __init__(self) -> None:
        self._files: _Known[_File] = _Known()
        self._roots: _Known[str | None] = _Known()
        self._made: _Known[Fingerprint] = _Known()
        self._origins: dict[str, str | None] = {}
        """By directory, until another one is moved, made or gone: each file in it asks."""

    def replace(self, path: str, data: bytes, like: Fingerprint) -> None:
        self._files[path] = _File(None, len(data), like, [_Piece(0, len(data), data)])

    def write(self, path: str, position: int, data: bytes, like: Fingerprint) -> None:
        self._add(path, _Piece(position, len(data), data), like)

    def copy(self, path: str, position: int, source: str, start: int, length: int, like: Fingerprint) -> None:
        """Bytes of another file at a position."""
        self._add(path, _Piece(position, length, source, start), like)

    def _add(self, path: str, piece: _Piece, like: Fingerprint) -> None:
        file = self._changed(path, like)
        file.pieces.append(piece)
        file.size = max(file.size, piece.start + piece.length)

    def cut(self, path: str, size: int) -> None:
        file = self._changed(path, Fingerprint(kind="file"))
        file.size = size

    def move(self, source: str, target: str) -> None:
        """Another path for a directory and all below it."""
        origin = self._origin(source)
        for known in (self._files, self._roots, self._made):
            known.rename(source, target)
        self._roots[target] = origin
        self._roots[source] = None
        self._origins.clear()

    def hide(self, path: str) -> None:
        for known in (self._files, self._roots, self._made):
            deque(known.take_below(path), maxlen=0)
        self._roots[path] = None
        self._origins.clear()

    def make_dir(self, path: str, like: Fingerprint) -> None:
        self._made[path] = like
        self._origins.clear()

    def listing(self, path: str) -> dict[str, EntryType]:
        """Names of the real directory, less what is gone, and what is new."""
        origin = self._origin(path)
        if origin is None and path not in self._made:
            raise Unreadable.nothing_at(path)
        names = {} if origin is None else disk.listing(origin)
        for child, root in self._roots.children(path):
            if root is None:
                names.pop(child, None)
            else:
                names[child] = disk.path_type(root) or "dir"
        names.update((child, "dir") for child, _ in self._made.children(path))
        names.update((child, "file") for child, _ in self._files.children(path))
        return names

    def file_stat(self, path: str) -> FileStat:
        """As the steps will leave it."""
        file = self._files.get(path)
        if file is not None:
            return _status(file.size, stat.S_IFREG, file.like)
        if path in self._made:
            return _status(0, stat.S_IFDIR, self._made[path])
        return disk.file_stat(self._real(path))

    def open(self, path: str) -> OpenFile:
        """The bytes as they will be."""
        file = self._files.get(path)
        return FileReader(self._real(path)) if file is None else _ChangedFile(path, file)

    def _real(self, path: str) -> str:
        origin = self._origin(path)
        if origin is None:
            raise Unreadable.nothing_at(path)
        return origin

    def _origin(self, path: str) -> str | None:
        """The real path."""
        home = folder(path)
        if path in self._roots or path in self._made or home == path:
            return self._sought(path)
        if home not in self._origins:
            self._origins[home] = self._sought(home)
        origin = self._origins[home]
        return None if origin is None else origin + path[len(home) :]

    def _sought(self, path: str) -> str | None:
        """The real path, by the nearest directory that was moved or is gone."""
        nearest = path
        while nearest not in self._roots:
            if nearest in ("/", "") or nearest in self._made:
                return path if nearest in ("/", "") else None
            nearest = folder(nearest)
        root = self._roots[nearest]
        return None if root is None else root + path[len(nearest) :]

    def _changed(self, path: str, like: Fingerprint) -> _File:
        file = self._files.get(path)
        if file is None:
            origin = self._origin(path)
            there = origin is not None and disk.path_type(origin) == "file"
            size = disk.file_size(origin) if there and origin is not None else 0
            status = _like(disk.file_stat(origin)) if there and origin is not None else like
            file = self._files[path] = _File(origin if there else None, size, status)
        return file


class _ChangedFile(OpenFile):
    def __init__(self, path: str, file: _File) -> None:
        super().__init__(path, file.size)
        self._file = file
        self._base = None if file.base is None else FileReader(file.base)

    def read_into(self, buffer: memoryview, position: int) -> int:
        """The old bytes where there are some, zeros where not, and the new ones over both."""
        count = max(0, min(len(buffer), self.size - position))
        view = buffer[:count]
        got = self._base.read_into(view, position) if self._base is not None else 0
        view[got:] = bytes(count - got)
        for piece in self._file.pieces:
            low, high = max(piece.start, position), min(piece.start + piece.length, position + count)
            if low < high:
                piece.read_into(view[low - position : high - position], low)
        return count

    def close(self) -> None:
        """Close what is left of the old file."""
        if self._base is not None:
            self._base.close()


def planned(broker: BrokerDirs, steps: Sequence[Step]) -> BrokerDirs:
    """The broker with its log dirs as the steps of a plan will leave them; raises what a recipe raises."""
    view = PlannedView()
    for step in steps:
        step.preview(view, broker.release)
    dirs = [LogDir.open(log_dir.path, view) for log_dir in broker.dirs]
    return broker.present.later(dirs, (path for step in steps for path in step.paths))


def _like(status: FileStat) -> Fingerprint:
    return Fingerprint(
        kind="file", mode=stat.S_IMODE(status.mode), uid=status.uid, gid=status.gid, mtime_ns=status.mtime_ns
    )


def _status(size: int, kind: int, like: Fingerprint) -> FileStat:
    """A file that gets no time of another one is as old as the plan's start of a broker, not of 1970."""
    mtime_ns = time.time_ns() if like.mtime_ns is None else like.mtime_ns
    return FileStat(
        size=size, allocated=size, mtime_ns=mtime_ns, mode=kind | (like.mode or 0o644),
        uid=like.uid or 0, gid=like.gid or 0,
    )  # fmt: skip
