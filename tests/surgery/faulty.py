"""Effects that die, fail, or lose power: what stands between surgery and the disk in the crash tests.

`Disk` counts the calls that change something and knows two "disks": a rename between them is
refused, as between file systems. It syncs nothing for real, which makes thousands of runs quick;
`Unplugged` keeps book of what was synced, and takes back the rest when the power goes. Of calls from
several threads one is made after the other.
"""

import errno
import os
import random
import shutil
import stat
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.removal import writable

from segmend.surgery.writing.effects import Effects

CHANGES = (
    "create", "write", "truncate", "set_owner", "set_mode", "set_attributes", "set_mtime", "sync",
    "rename", "remove", "make_dir", "remove_dir", "clone", "link",
)  # fmt: skip


class Died(BaseException):
    """The process is gone: nothing it still tries has any effect."""


class Disk(Effects):
    """Counts changes; `other` is the path of what counts as a second disk.

    `threads` says of each call which thread made it, by the order of their first ones. With `thread` only
    the calls of that one count as a `turn`.
    """

    def __init__(self, other: Path | None = None, *, thread: int | None = None) -> None:
        self.calls = 0
        self.names: list[str] = []
        self.threads: list[int] = []
        self._known: dict[int, int] = {}
        self._thread = thread
        self._one_by_one = threading.Lock()
        self._other = None if other is None else f"{other}/"
        for name in CHANGES:
            setattr(self, name, partial(self._counted, name, getattr(self, name)))

    def _counted(self, name: str, call: Callable[..., object], *args: object) -> object:
        with self._one_by_one:
            self.calls += 1
            self.names.append(name)
            self.threads.append(self._known.setdefault(threading.get_ident(), len(self._known)))
            return self.around(name, call, args)

    @property
    def turn(self) -> int:
        """The number of this call, or of the last one of the thread."""
        return self.calls if self._thread is None else self.threads.count(self._thread)

    @property
    def is_counted(self) -> bool:
        """Whether this call is one of those that count."""
        return self._thread in (None, self.threads[-1])

    def around(self, name: str, call: Callable[..., object], args: tuple[object, ...]) -> object:
        """What happens at a change."""
        return call(*args)

    def sync(self, fd: int) -> None:
        """Only counted."""

    def clone(self, fd: int, source: str, position: int, length: int, at: int) -> bool:
        """Nothing is shared by one disk with the other."""
        target = os.readlink(f"/proc/self/fd/{fd}")
        if self._other is not None and source.startswith(self._other) is not target.startswith(self._other):
            return False
        return super().clone(fd, source, position, length, at)

    def link(self, path: str, new: str) -> None:
        """Refused from one disk to the other."""
        if self._other is not None and path.startswith(self._other) is not new.startswith(self._other):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
        super().link(path, new)

    def rename(self, old: str, new: str) -> None:
        """Refused from one disk to the other."""
        if self._other is not None and old.startswith(self._other) is not new.startswith(self._other):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)
        super().rename(old, new)


class Mortal(Disk):
    """Dies at the n-th change: before it, or with `half` after the first half of what it writes."""

    def __init__(
        self, at: int, other: Path | None = None, *, half: bool = False, thread: int | None = None
    ) -> None:
        super().__init__(other, thread=thread)
        self._at = at
        self._half = half

    def live_on(self, calls: int) -> None:
        """A new process on the same machine, which dies that many calls later."""
        self._at = self.turn + calls

    def around(self, name: str, call: Callable[..., object], args: tuple[object, ...]) -> object:
        if self.turn < self._at:
            return super().around(name, call, args)
        if self.turn == self._at and self.is_counted and self._half and name == "write":
            fd, data, position = args
            assert isinstance(data, bytes | memoryview)
            call(fd, data[: len(data) // 2], position)
        raise Died


class Photographed(Disk):
    """`look(call, words)` sees the disk before each change, and in the middle of each write."""

    def __init__(self, look: Callable[[int, str], None], other: Path | None = None) -> None:
        super().__init__(other)
        self._look = look

    def around(self, name: str, call: Callable[..., object], args: tuple[object, ...]) -> object:
        self._look(self.calls, f"killed at call {self.calls}, {name}")
        if name == "write":
            fd, data, position = args
            assert isinstance(data, bytes | memoryview)
            call(fd, data[: len(data) // 2], position)
            self._look(self.calls, f"killed in the middle of call {self.calls}, {name}")
        return super().around(name, call, args)


class Failing(Disk):
    """The n-th change fails with an error number; with `stays` so do all that follow of its kind."""

    def __init__(
        self, at: int, number: int, other: Path | None = None, *,
        stays: bool = False, thread: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(other, thread=thread)
        self._at = at
        self._number = number
        self._stays = stays
        self.failed = ""

    def around(self, name: str, call: Callable[..., object], args: tuple[object, ...]) -> object:
        if (self.turn == self._at and self.is_counted) or (self._stays and name == self.failed):
            self.failed = name
            raise OSError(self._number, os.strerror(self._number))
        return super().around(name, call, args)


@dataclass
class _Pending:
    """A change that no sync has reached: `revert` takes it back; done with when all `keys` were synced.

    `handles` keep the inodes of the keys from being given to other files; `gone` is the directory
    that it removed, with which all pending changes in it are settled too.
    """

    keys: set[tuple[int, int]]
    revert: Callable[[], object]
    names: bool
    handles: list[int] = field(default_factory=list)
    gone: tuple[int, int] | None = None

    def close(self) -> None:
        for handle in self.handles:
            os.close(handle)


def _reverted(change: _Pending) -> None:
    try:
        change.revert()
    except PermissionError as refused:  # the power asks nobody for his rights
        names = (refused.filename, refused.filename2)
        with writable({os.path.dirname(name) for name in names if name}):
            change.revert()


class Unplugged(Mortal):
    """Dies as `Mortal`; then `power_off` takes back what was not synced.

    A file's bytes, size, owner, mode, attributes and time are safe once the file was synced, its name
    once the directory was; a rename once both directories were.
    """

    def __init__(self, at: int, stash: Path, other: Path | None = None) -> None:
        super().__init__(at, other)
        self._stash = stash
        self._stash.mkdir(exist_ok=True)
        self._pending: list[_Pending] = []
        self._stashed = 0

    def power_off(self, chance: random.Random | None = None) -> None:
        """Lose what was not synced: all of it, or by chance some files, and the last of the names."""
        lost = [change for change in self._pending if self._lost(change, chance)]
        for change in reversed(lost):
            _reverted(change)
        for change in self._pending:
            change.close()
        self._pending = []

    def _lost(self, change: _Pending, chance: random.Random | None) -> bool:
        if chance is None:
            return True
        if not hasattr(self, "_fate"):
            names = [p for p in self._pending if p.names]
            files = {key for p in self._pending for key in p.keys if not p.names}
            kept = chance.randrange(len(names) + 1)
            self._fate = (
                {id(p) for p in names[kept:]},
                {key for key in sorted(files) if chance.random() < 0.5},
            )
        lost_names, lost_files = self._fate
        return id(change) in lost_names if change.names else bool(change.keys & lost_files)

    def sync(self, fd: int) -> None:
        """What was written through any descriptor of this file, or the names in this directory, is safe."""
        settled = {_key(os.fstat(fd))}
        while settled:
            for change in self._pending:
                change.keys -= settled
            done = [change for change in self._pending if not change.keys]
            self._pending = [change for change in self._pending if change.keys]
            settled = {change.gone for change in done if change.gone is not None}
            for change in done:
                change.close()

    def create(self, path: str, mode: int = 0o600) -> int:
        if os.path.lexists(path):
            fd = super().open(path)
            self.truncate_quietly(fd, 0)
            return fd
        fd = super().create(path, mode)
        self._name(path, lambda: os.unlink(path))
        return fd

    def truncate_quietly(self, fd: int, size: int) -> None:
        """A truncation that is part of another call."""
        self._bytes(fd, size, os.fstat(fd).st_size)
        os.ftruncate(fd, size)

    def write(self, fd: int, data: bytes | memoryview, position: int) -> None:
        self._bytes(fd, position, position + len(data))
        super().write(fd, data, position)

    def clone(self, fd: int, source: str, position: int, length: int, at: int) -> bool:
        self._bytes(fd, at, at + length)
        return super().clone(fd, source, position, length, at)

    def truncate(self, fd: int, size: int) -> None:
        self._bytes(fd, size, os.fstat(fd).st_size)
        super().truncate(fd, size)

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        s = os.fstat(fd)
        self._dress(fd, lambda handle: os.fchown(handle, s.st_uid, s.st_gid))
        super().set_owner(fd, uid, gid)

    def set_mode(self, fd: int, mode: int) -> None:
        old = stat.S_IMODE(os.fstat(fd).st_mode)
        self._dress(fd, lambda handle: os.fchmod(handle, old))
        super().set_mode(fd, mode)

    def set_attributes(self, fd: int, wanted: Mapping[str, bytes]) -> None:
        old = {name: os.getxattr(fd, name) for name in os.listxattr(fd)}
        self._dress(fd, lambda handle: Effects().set_attributes(handle, old))
        super().set_attributes(fd, wanted)

    def set_mtime(self, fd: int, mtime_ns: int) -> None:
        s = os.fstat(fd)
        self._dress(fd, lambda handle: os.utime(handle, ns=(s.st_atime_ns, s.st_mtime_ns)))
        super().set_mtime(fd, mtime_ns)

    def rename(self, old: str, new: str) -> None:
        saved = self._save(new)
        super().rename(old, new)

        def revert() -> None:
            os.rename(new, old)
            if saved is not None:
                os.rename(saved, new)

        self._names((old, new), revert)

    def link(self, path: str, new: str) -> None:
        super().link(path, new)
        self._name(new, lambda: os.unlink(new))

    def remove(self, path: str) -> None:
        saved = self._save(path)
        assert saved is not None
        super().remove(path)
        self._name(path, lambda: os.rename(saved, path))

    def make_dir(self, path: str, mode: int = 0o700) -> None:
        super().make_dir(path, mode)
        self._name(path, lambda: shutil.rmtree(path))

    def remove_dir(self, path: str) -> None:
        s = os.stat(path)
        super().remove_dir(path)
        self._name(path, lambda: os.mkdir(path, stat.S_IMODE(s.st_mode)))
        self._pending[-1].gone = _key(s)

    def _save(self, path: str) -> str | None:
        """A second name for a file whose only one is about to go; it must be of the same file system."""
        if not os.path.isfile(path):
            return None
        self._stashed += 1
        saved = f"{self._stash}/{self._stashed}"
        os.link(path, saved)
        return saved

    def _name(self, path: str, revert: Callable[[], object]) -> None:
        self._names((path,), revert)

    def _names(self, paths: tuple[str, ...], revert: Callable[[], object]) -> None:
        handles = [os.open(os.path.dirname(path), os.O_RDONLY) for path in paths]
        keys = {_key(os.fstat(handle)) for handle in handles}
        self._pending.append(_Pending(keys, revert, names=True, handles=handles))

    def _bytes(self, fd: int, start: int, end: int) -> None:
        s = os.fstat(fd)
        old = os.pread(fd, max(0, min(end, s.st_size) - start), start)
        handle = _reopened(fd)

        def revert() -> None:
            os.pwrite(handle, old, start)
            os.ftruncate(handle, s.st_size)
            os.utime(handle, ns=(s.st_atime_ns, s.st_mtime_ns))

        self._pending.append(_Pending({_key(s)}, revert, names=False, handles=[handle]))

    def _dress(self, fd: int, revert: Callable[[int], object]) -> None:
        handle = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)  # its mode may be that of a closed file already
        key = _key(os.fstat(fd))
        self._pending.append(_Pending({key}, lambda: revert(handle), names=False, handles=[handle]))


def _reopened(fd: int) -> int:
    """Another open file: a duplicate would go on holding the locks of a process that died."""
    how = os.O_RDONLY if stat.S_ISDIR(os.fstat(fd).st_mode) else os.O_RDWR
    return os.open(f"/proc/self/fd/{fd}", how)


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
