"""This machine's disk, and the only module that reads one. Nothing in it can write.

The module itself is a `Files`: what `LogDir.open` takes unless it is told otherwise.

Files are read with `preadv` into the caller's buffer and never memory-mapped, so that a file
truncated meanwhile gives a short read and not a SIGBUS. Every open is `O_RDONLY |
O_NONBLOCK | O_NOCTTY`, so a FIFO or a device in a log dir cannot hang us, and
`O_NOATIME` where the kernel lets us, so that reading leaves not even an access time.

What the system refuses becomes `Unreadable`, an operational error whose text is one line.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Final, Self

from segmend.formats import posix_acl
from segmend.logdir.file_system import (
    DEFAULT_LIMIT,
    HELD_BACK_NOTHING,
    EntryType,
    FileStat,
    HeldBack,
    LockState,
    OpenFile,
    Space,
    Unreadable,
)

_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_ATIME: Final[int] = getattr(os, "O_NOATIME", 0)
_statx: Final = getattr(ctypes.CDLL(None), "statx", None)
"""statx(2) of the C library; `os` has it from Python 3.15 on."""
_Statx: Final = ctypes.c_char * 256
_AT_FDCWD: Final = -100
_UNCHANGEABLE: Final = 0x10 | 0x20
"""`STATX_ATTR_IMMUTABLE`, `STATX_ATTR_APPEND`."""
_LISTS_OF_XFS: Final = frozenset({"trusted.SGI_ACL_FILE", "trusted.SGI_ACL_DEFAULT"})
_NO_WAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
_MOUNTS: Final = 8 << 20
"""Bytes of a list of mounts; of machines with very many, a few MiB."""
_PIECE: Final = 4096
"""Of a file that tells no size: most are smaller, and there are as many as processes."""


def listing(path: str) -> dict[str, EntryType]:
    """Names in a directory and what they are, from directory entries alone; raises `Unreadable`.

    No `stat` is made except for symbolic links, which brokers follow.
    """
    try:
        with os.scandir(path) as entries:
            return {e.name: "file" if e.is_file(follow_symlinks=False) else _entry_type(e) for e in entries}
    except OSError as error:
        raise Unreadable.of(error, path) from None
    except ValueError:
        raise _no_path(path) from None


def names(path: str) -> list[str]:
    """The bare names in a directory, links not looked at; raises `Unreadable`."""
    try:
        return os.listdir(path)
    except OSError as error:
        raise Unreadable.of(error, path) from None
    except ValueError:
        raise _no_path(path) from None


def _entry_type(entry: os.DirEntry[str]) -> EntryType:
    if not entry.is_symlink():
        return "dir" if entry.is_dir(follow_symlinks=False) else "other"
    try:
        if entry.is_dir():
            return "link-dir"
        return "link-file" if entry.is_file() else "link-broken"
    except OSError:
        return "link-broken"


def path_type(path: str) -> EntryType | None:
    """What stands at a path given by a user, links followed; None if nothing; raises `Unreadable`."""
    try:
        return file_stat(path).type
    except Unreadable as refused:
        if refused.missing:
            return None
        raise
    except ValueError:
        raise _no_path(path) from None


def _no_path(text: str) -> Unreadable:
    """For text with a NUL or half a character, which no system takes for a path."""
    return Unreadable(text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode(), "not a path")


def file_stat(path: str, *, follow: bool = True) -> FileStat:
    try:
        s = os.stat(path, follow_symlinks=follow)
    except OSError as error:
        raise Unreadable.of(error, path) from None
    # By place, without `_make`: by name it costs a third as much as the system call, several times a segment.
    return tuple.__new__(
        FileStat,
        (
            s.st_size, s.st_blocks * 512, s.st_mtime_ns, s.st_mode, s.st_uid, s.st_gid, s.st_nlink,
            s.st_ino, s.st_dev, s.st_ctime_ns,
        ),
    )  # fmt: skip


def file_size(path: str) -> int:
    """Size in bytes; raises `Unreadable`. Cheaper than `file_stat` where only this is wanted."""
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise Unreadable.of(error, path) from None


def identity(path: str) -> str | None:
    """`FileStat.identity` of a path; raises `Unreadable`."""
    return file_stat(path).identity


def size_and_allocated(path: str) -> tuple[int, int]:
    """Size and bytes in blocks of one file, for sums over very many; raises `Unreadable`."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise Unreadable.of(error, path) from None
    return status.st_size, status.st_blocks * 512


def real_path(path: str) -> str:
    """The path with all links resolved, as a broker compares log dirs; raises `Unreadable` without a cwd.

    Of links that are refused it is the path as it is.
    """
    try:
        return os.path.realpath(path)
    except PermissionError:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise Unreadable(path, "the directory in which segmend was started is gone", errno.ENOENT) from None
    except ValueError:
        raise _no_path(path) from None


def copied_names(names: Iterable[str]) -> list[str]:
    """Of extended attributes those that a copy gets, too; not what XFS shows to root of access lists.

    It keeps them under these names; on another file system, they would be two attributes of one.
    """
    return [name for name in names if name not in _LISTS_OF_XFS]


def attributes(path: str) -> tuple[tuple[str, str], ...]:
    """Extended attributes by name, values in hex: SELinux labels, ACLs; raises `Unreadable`."""
    try:
        names = sorted(copied_names(os.listxattr(path, follow_symlinks=False)))
        return tuple((name, os.getxattr(path, name, follow_symlinks=False).hex()) for name in names)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return ()
        raise Unreadable.of(error, path) from None


def takes_attribute(path: str, name: str) -> bool:
    """Whether the file system of a path has extended attributes of that kind, whether or not it has this."""
    try:
        os.getxattr(path, name)
    except OSError as error:
        return error.errno != errno.ENOTSUP
    return True


def link_target(path: str) -> str | None:
    """What a symbolic link says, unresolved; None where that cannot be read."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def denial(path: str, wanted: int) -> str | None:  # noqa: ARG001
    """Nothing is denied where no user is asked about (`Files.denial`)."""
    return None


def fixed(path: str) -> str | None:  # noqa: ARG001
    """Nobody asks where nothing tells as whom a broker runs (`Files.fixed`)."""
    return None


def held_back(folder: str, names: Iterable[str]) -> HeldBack:
    """What this process may not read, where nothing tells as whom a broker runs (`Files.held_back`)."""
    if os.geteuid() == 0:
        return HELD_BACK_NOTHING
    refused = (each for each in names if not os.access(f"{folder}/{each}", os.R_OK))
    return HeldBack(unreadable=next(refused, None))


def owners(folder: str, names: Iterable[str]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Mode, user and group of very many files of a folder, links followed; without those that are gone."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Unreadable.of(error, folder) from None
    try:
        for name in names:
            try:
                status = os.stat(name, dir_fd=fd)
            except OSError:
                continue
            yield name, (status.st_mode, status.st_uid, status.st_gid)
    finally:
        os.close(fd)


def access_list(path: str) -> bytes | None:
    """The POSIX access list of a path, links followed; None where there is none, or none can be read."""
    try:
        return os.getxattr(path, posix_acl.ATTRIBUTE)
    except OSError:
        return None


def is_immutable(path: str) -> bool:
    """Whether `chattr +i` or `+a` keeps everybody from changing it; False where that cannot be told.

    By statx(2), which opens nothing, and needs no right to read it.
    """
    told = _Statx()
    if _statx is None or _statx(_AT_FDCWD, os.fsencode(path), 0, 0, told):
        return False
    return bool(int.from_bytes(told.raw[8:16], sys.byteorder) & _UNCHANGEABLE)


def mount_points() -> frozenset[str]:
    """The paths that something is mounted on, as this process sees them; none where nobody tells."""
    try:
        rows = read_stream("/proc/self/mountinfo", _MOUNTS).splitlines()
    except Unreadable:
        return frozenset()
    # A space, a tab, a line feed and a backslash are written as octal numbers (proc_pid_mountinfo(5)).
    paths = (row.split(b" ", 5)[4] for row in rows if row.count(b" ") > 4)
    return frozenset(
        os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), path)) for path in paths
    )


def mount_id(path: str) -> int | None:
    """By which mount a directory is reached: no rename goes from one to another, also of one file system.

    None where the system does not tell.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", 0))
    except OSError:
        return None
    try:
        rows = read_stream(f"/proc/self/fdinfo/{fd}", _PIECE).splitlines()
    except Unreadable:
        return None
    finally:
        os.close(fd)
    return next((int(row[7:]) for row in rows if row.startswith(b"mnt_id:")), None)


def space(path: str) -> Space:
    """Free space of the file system under `path`; raises `Unreadable`."""
    try:
        v = os.statvfs(path)
    except OSError as error:
        raise Unreadable.of(error, path) from None
    unit = v.f_frsize
    return Space(
        total=v.f_blocks * unit,
        free=v.f_bfree * unit,
        available=v.f_bavail * unit,
        read_only=bool(v.f_flag & os.ST_RDONLY),
        files=v.f_files,
        files_left=v.f_favail,
        block=unit,
    )


class FileReader(OpenFile):
    """An open regular file of this disk."""

    __slots__ = ("_fd",)

    def __init__(self, path: str) -> None:
        self._fd = -1
        self._fd = _open(path)
        status = os.fstat(self._fd)
        super().__init__(path, status.st_size)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise Unreadable(path, "not a regular file")

    @classmethod
    def of_descriptor(cls, fd: int, path: str) -> Self:
        """A reader of an open file, which stays open when the reader is closed; `path` is for its errors."""
        reader = cls.__new__(cls)
        reader._fd = os.dup(fd)
        reader.path, reader.size = path, os.fstat(fd).st_size
        return reader

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill `buffer` from byte `position`; returns the bytes read, short only at the end of the file."""
        filled, wanted = 0, len(buffer)
        while filled < wanted:
            got = self._preadv(buffer[filled:], position + filled)
            if got == 0:
                break
            filled += got
        return filled

    def extents(self) -> Iterator[tuple[int, int]]:
        position = 0
        while position < self.size:
            try:
                start = os.lseek(self._fd, position, os.SEEK_DATA)
                end = os.lseek(self._fd, start, os.SEEK_HOLE)
            except OSError as error:
                if error.errno != errno.ENXIO:  # ENXIO: from here on there is only a hole
                    yield position, self.size
                return
            yield start, min(end, self.size)
            position = end

    def is_cached(self, position: int) -> bool | None:
        """Whether the page at `position` is in the page cache; None where the system does not tell."""
        if not _NO_WAIT:
            return None
        try:
            os.preadv(self._fd, [bytearray(1)], position, _NO_WAIT)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True

    def close(self) -> None:
        """Close the file; a second close does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _preadv(self, buffer: memoryview, position: int) -> int:
        try:
            return os.preadv(self._fd, [buffer], position)
        except OSError as error:
            refused = Unreadable.of(error, self.path)
            says = f"{refused.reason} at byte {position}"
            raise Unreadable(self.path, says, refused.errno, opened=True) from None

    def __del__(self) -> None:
        if hasattr(self, "_fd"):  # a Ctrl-C may come before
            self.close()


def _open(path: str) -> int:
    try:
        return os.open(path, _OPEN_FLAGS | _NO_ATIME)
    except OSError as error:
        # Only the owner (or root) may ask for O_NOATIME; others read as anybody reads.
        if not _NO_ATIME or error.errno != errno.EPERM:
            raise Unreadable.of(error, path) from None
    except ValueError:
        raise _no_path(path) from None
    try:
        return os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise Unreadable.of(error, path) from None


def last_bytes(path: str, size: int, unit: int = 1) -> bytes:
    """At most the last `size` bytes of all whole units, for very many files; raises `Unreadable`."""
    fd = _open(path)
    try:
        end = os.lseek(fd, 0, os.SEEK_END)  # a pipe has no end, a directory is not read
        end -= end % unit
        return os.pread(fd, min(size, end), max(end - size, 0)) if end else b""
    except OSError as error:
        raise Unreadable.of(error, path) from None
    finally:
        os.close(fd)


def open(path: str) -> FileReader:
    """A file opened for reading; raises `Unreadable`."""
    return FileReader(path)


def read(path: str, limit: int = DEFAULT_LIMIT) -> bytes:
    """The first `limit` bytes of a file; raises `Unreadable`."""
    with FileReader(path) as reader:
        return reader.read(limit)


def read_stream(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a file that tells no size, as those of /proc; raises `Unreadable`."""
    data, piece = bytearray(), memoryview(bytearray(min(limit, _PIECE)))
    with FileReader(path) as reader:
        while got := reader.read_into(piece[: limit - len(data)], len(data)):
            data += piece[:got]
    return bytes(data)


def lock_state(path: str) -> LockState | None:
    """Who holds a record lock on `path` (Java's `FileChannel.tryLock`); None if it cannot be told.

    `F_GETLK` asks and takes nothing, and works on a descriptor open for reading. Never probe
    a file that this very process has locked: closing any descriptor of it drops the lock.
    """
    layout = "qqihh" if sys.platform == "darwin" else "hhqqi4x"
    try:
        with FileReader(path) as reader:
            return _probe(reader._fd, layout)
    except Unreadable as error:
        return LockState(held=False) if error.missing else None
    except OSError:
        return None


def _probe(fd: int, layout: str) -> LockState:
    if layout == "hhqqi4x":
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(layout, fcntl.F_WRLCK, 0, 0, 0, 0))
        kind, _, _, _, pid = struct.unpack(layout, answer)
    else:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack(layout, 0, 0, 0, fcntl.F_WRLCK, 0))
        _, _, pid, kind, _ = struct.unpack(layout, answer)
    if kind == fcntl.F_UNLCK:
        return LockState(held=False)
    return LockState(held=True, pid=pid if pid > 0 else None)
