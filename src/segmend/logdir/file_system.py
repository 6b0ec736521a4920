"""What log dirs are read from, as a value: `Files`, and what one says of its files.

This machine's disk is one (`logdir.disk`, the module itself), a bucket another
(`fleet.object_store`), a disk as a plan will leave it a third (`surgery.planning.view`). A
`LogDir` holds its own; everything above it sees no difference, and several live side by side.
"""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, ParamSpec, Protocol, Self, TypeVar

from segmend.errors import PartitionError, SegmendError
from segmend.frozen import field, frozen
from segmend.logdir.access import way_in

P = ParamSpec("P")
T = TypeVar("T")

EntryType = Literal["file", "dir", "link-file", "link-dir", "link-broken", "other"]
"""What a directory entry is; `link-*` is a symbolic link to it, `other` a FIFO, socket or device."""
FILES: Final = ("file", "link-file")
"""What can be read as a file: brokers follow links."""
FOLDERS: Final = ("dir", "link-dir")
"""What can be listed."""
LINKS: Final = ("link-file", "link-dir", "link-broken")
"""What no plan writes through."""

READ: Final = 4
WRITE: Final = 2
SEARCH: Final = 1
"""Ways of using a path, as the bits of a mode."""
DEFAULT_LIMIT: Final = 64 * 1024 * 1024
"""The most bytes that are taken of one small file, unless told otherwise."""


class Unreadable(PartitionError):
    """A path that could not be listed, opened or read: `path`, `errno` and the system's `reason`.

    `opened`: it could be opened, and a read of it failed.
    """

    def __init__(self, path: str, reason: str, number: int = 0, *, opened: bool = False) -> None:
        super().__init__(f"{path or repr(path)}: {reason}")
        self.path = path
        self.reason = reason
        self.errno = number
        self.opened = opened

    @classmethod
    def of(cls, error: OSError, path: str) -> Unreadable:
        number = error.errno or 0
        return cls(path, (os.strerror(number) if number else str(error)).lower(), number)

    @classmethod
    def nothing_at(cls, path: str) -> Unreadable:
        return cls(path, "no such file or directory", errno.ENOENT)

    @property
    def missing(self) -> bool:
        return self.errno in (errno.ENOENT, errno.ENOTDIR)

    @property
    def forbidden(self) -> bool:
        """Whether it was refused to this process: another user might read it."""
        return self.errno in (errno.EACCES, errno.EPERM)

    def told(self, wanted: int = os.R_OK) -> str:
        """With how this user gets the `wanted` rights, where it was refused by rights on this disk."""
        way = way_in(self.path, wanted) if self.forbidden and self.path.startswith("/") else None
        return str(self) if way is None else f"{self} ({way})"


@contextmanager
def ways_told(wanted: int = os.R_OK | os.W_OK) -> Iterator[None]:
    """For who is to change what is refused: have it told how he gets these rights. Raises `SegmendError`."""
    try:
        yield
    except Unreadable as refused:
        if not refused.forbidden:
            raise
        raise SegmendError(refused.told(wanted)) from None


def or_none(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What it reads; None where that is missing or refused."""
    try:
        return read(*args, **kwargs)
    except Unreadable:
        return None


class FileStat(NamedTuple):
    """What `stat` says: sizes in bytes (`allocated` counts blocks, so holes are free), times in ns.

    `changed_ns` is the ctime, which nobody can set back; None where none is known. A tuple, for there are
    millions.
    """

    size: int
    allocated: int
    mtime_ns: int
    mode: int
    uid: int = 0
    gid: int = 0
    nlink: int = 1
    inode: int = 0
    device: int = 0
    changed_ns: int | None = None

    @property
    def identity(self) -> str | None:
        """What tells a file from any other, and from itself changed; None where no change time is known."""
        if self.changed_ns is None:
            return None
        return f"{self.device}:{self.inode}:{self.size}:{self.mtime_ns}:{self.changed_ns}"

    @property
    def type(self) -> EntryType:
        """What it is, links followed."""
        if stat.S_ISDIR(self.mode):
            return "dir"
        return "file" if stat.S_ISREG(self.mode) else "other"


_NEXT_TO_NOTHING: Final = 1 << 20
"""Bytes. XFS keeps some blocks of each allocation group to itself, and tells of them as free."""

_FEW_FILES: Final = 8
"""A start makes a handful before it takes one away: `.lock`, and beside each checkpoint the new one."""


@frozen
class Space:
    """Bytes of the file system that holds a path; `available` is what an ordinary user may take.

    `files` is how many files it can have (inodes), if it tells, and `files_left` how many more. A file takes
    whole blocks.
    """

    total: int
    free: int
    available: int
    read_only: bool
    files: int = 0
    files_left: int = 0
    block: int = 4096

    @property
    def has_no_more_files(self) -> bool:
        """Whether no file, or next to none, can be made, however many bytes are free."""
        return 0 <= self.files_left < _FEW_FILES < self.files and not self.read_only

    @property
    def has_no_room(self) -> bool:
        """Whether nothing, or next to nothing, can be written."""
        return self.total > 0 and self.available < _NEXT_TO_NOTHING and not self.read_only


@frozen
class LockState:
    """Whether some process holds a POSIX record lock on a file, and its process id if visible."""

    held: bool
    pid: int | None = None


@frozen
class HeldBack:
    """Files of one folder: the first that cannot be read, and why others cannot be written."""

    unreadable: str | None = None
    unwritable: Mapping[str, str] = field(default_factory=dict)


def is_full(files: Files, path: str) -> bool:
    """Whether there is anything in a directory, so that it cannot be deleted; True where nobody can tell."""
    try:
        return bool(files.listing(path))
    except Unreadable:
        return True


def place_of(files: Files, path: str) -> tuple[int, int] | str:
    """What all names of one directory have in common, be they links or mounts of it."""
    try:
        stat = files.file_stat(path)
    except Unreadable:
        return files.real_path(path)
    return (stat.device, stat.inode) if stat.inode else files.real_path(path)


def unmakeable(files: Files, path: str) -> str | None:
    """Why no file comes of a link to nothing that is opened to be written, for it is followed; None if one
    does. So it is with a link to what the broker's user cannot reach, which is nothing to him."""
    real = files.real_path(path)
    try:
        files.file_stat(path)
    except Unreadable as refused:
        home = os.path.dirname(real)
        makes = refused.missing and files.path_type(home) == "dir"
        return files.denial(home, WRITE | SEARCH) if makes else refused.reason
    return files.denial(real, WRITE)


HELD_BACK_NOTHING: Final = HeldBack()


class OpenFile(ABC):
    """An open file; the `Reader` that the kernel scans. Close it, or use `with`."""

    __slots__ = ("path", "size")

    def __init__(self, path: str, size: int) -> None:
        self.path = path
        self.size = size

    @abstractmethod
    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill `buffer` from byte `position`; returns the bytes read, short only at the end of the file."""

    def read(self, size: int, position: int = 0) -> bytes:
        """At most `size` bytes from `position`; allocates no more than the file can give."""
        data = memoryview(bytearray(max(0, min(size, self.size - position))))
        return bytes(data[: self.read_into(data, position)])

    def extents(self) -> Iterator[tuple[int, int]]:
        """(start, end) of the parts that are no holes, where the file system tells holes."""
        yield 0, self.size

    def is_cached(self, position: int) -> bool | None:  # noqa: ARG002
        """Whether the page at `position` is in the page cache; None where the system does not tell."""
        return None

    def close(self) -> None:  # noqa: B027
        """Close the file; a second close does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Files(Protocol):
    """A file system with log dirs in it. Every method may raise `Unreadable`.

    What only a disk can tell has an answer here for all that are none.
    """

    def listing(self, path: str) -> dict[str, EntryType]:
        """Names in a directory and what they are."""

    def file_stat(self, path: str) -> FileStat:
        """`stat` of a path, links followed."""

    def open(self, path: str) -> OpenFile:
        """A file opened for reading."""

    def last_bytes(self, path: str, size: int, unit: int = 1) -> bytes:
        """At most the last `size` bytes before the end of the last whole unit of so many bytes."""
        with self.open(path) as reader:
            end = reader.size - reader.size % unit
            return reader.read(min(size, end), max(end - size, 0))

    def path_type(self, path: str) -> EntryType | None:
        """What stands at a path given by a user, links followed; None if nothing."""
        try:
            return self.file_stat(path).type
        except Unreadable as refused:
            if refused.missing:
                return None
            raise

    def file_size(self, path: str) -> int:
        """Size in bytes. On a disk cheaper than `file_stat` where only this is wanted."""
        return self.file_stat(path).size

    def size_and_allocated(self, path: str) -> tuple[int, int]:
        """Size and bytes in blocks, likewise."""
        status = self.file_stat(path)
        return status.size, status.allocated

    def real_path(self, path: str) -> str:
        """The path with all links resolved, as a broker compares log dirs."""
        return path

    def denial(self, path: str, wanted: int) -> str | None:  # noqa: ARG002
        """Why the broker's user may not use a path so (`READ`, `WRITE`, `SEARCH`); None where he may.

        Only `as_user` knows a user; elsewhere nothing is denied.
        """
        return None

    def fixed(self, path: str) -> str | None:  # noqa: ARG002
        """Why nobody may remove a file, or put another one in its place; None where that may be done."""
        return None

    def held_back(self, folder: str, names: Iterable[str]) -> HeldBack:  # noqa: ARG002
        """Which of these files of a folder the broker's user may not use."""
        return HELD_BACK_NOTHING

    def space(self, path: str) -> Space:
        """Free space of the file system under `path`; ENOTSUP where nothing tells it."""
        raise Unreadable(path, "nothing tells its free space", errno.ENOTSUP)

    def lock_state(self, path: str) -> LockState | None:  # noqa: ARG002
        """Who holds a record lock on `path`; None if it cannot be told."""
        return LockState(held=False)
