"""Kafka's own `.lock` in every log dir, held while we work; and no broker running.

Follows `LogManager.lockLogDirs` and `FileLock`: a broker takes a POSIX record lock on `.lock` and does
not start without it. Ours is a lock of the open file (`F_OFD_SETLK`), which excludes a record lock as
another record lock does, but is not dropped when this process closes some other descriptor of the
file. A broker since 3.8 removes `.lock` when it stops, so where it is missing it is made, and removed
in the end; one that is there stays.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from segmend.errors import BrokerRunning, SegmendError
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LOCK
from segmend.logdir.processes import brokers, writers
from segmend.surgery.writing.effects import FULL, Effects

_SET: Final[int] = getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK)
_NO_SUCH_LOCK: Final = (errno.EINVAL, errno.ENOSYS)


def without_lock(dirs: Sequence[str]) -> list[str]:
    """The dirs where `.lock` will have to be made."""
    return [path for path in dirs if not os.path.lexists(f"{path}/{LOCK}")]


def refuse_running(dirs: Sequence[str]) -> None:
    """Raise `BrokerRunning` if a lock is held, files of the dirs are open for writing, or a broker has them.

    Must be called before the locks are taken: a look at a lock may drop our own.
    """
    for path in dirs:
        state = disk.lock_state(f"{path}/{LOCK}")
        if state is not None and state.held:
            raise _held(path, state.pid)
    for writer in writers(dirs):
        raise BrokerRunning(
            f"{writer.path}: process {writer.pid} ({writer.command}) has it open for writing; stop it first"
        )
    for broker in brokers(dirs):
        raise BrokerRunning(
            f"{broker.path}: process {broker.pid} ({broker.command}) is a broker with this log dir; "
            "stop it first"
        )


def _held(path: str, pid: int | None) -> BrokerRunning:
    """A broker's lock has a process; ours has none, since it is one of an open file."""
    if pid is not None and pid > 0:
        return BrokerRunning(f"{path}: its .lock is held by process {pid}: a broker runs here; stop it first")
    return BrokerRunning(f"{path}: its .lock is held: another segmend is at work here, or a broker runs")


@contextmanager
def alone(fx: Effects, dirs: Sequence[str]) -> Iterator[None]:
    """Keep every other segmend out, and leave no trace in the dirs. Raises `BrokerRunning`.

    Taken before it is written down how the dirs are: what another one does there meanwhile is no state to
    go back to. Where a file system locks no directory (NFS), `.lock` alone does it; of a dir that cannot be
    opened those speak who look at it.
    """
    with ExitStack() as stack:
        for path in dirs:
            try:
                fd = fx.open_dir(path)
                stack.callback(fx.close, fd)
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BrokerRunning(f"{path}: another segmend is at work here; nothing was changed") from None
            except OSError:
                continue
        yield


class Locks:
    """The locks of log dirs. Where a full disk has no room to make one (XFS), no broker can make it either.

    So long as it is full its dir is offline to a broker that starts, or keeps it from starting; so the lock
    is taken as soon as there is room.
    """

    def __init__(self, fx: Effects, dirs: Sequence[str], made: Collection[str], stack: ExitStack) -> None:
        self._fx = fx
        self._made = made
        self._stack = stack
        self._waiting = list(dirs)
        self.held: set[str] = set()
        self.full: set[str] = set()

    def take(self) -> None:
        """Take those that are not held. Raises `BrokerRunning`."""
        for path in self._waiting:
            try:
                self._stack.enter_context(_locked(self._fx, path, remove=path in self._made))
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self.full.add(path)
            else:
                self.held.add(path)
                self.full.discard(path)
        self._waiting = [path for path in self._waiting if path in self.full]


@contextmanager
def locked(fx: Effects, dirs: Sequence[str], made: Sequence[str]) -> Iterator[Locks]:
    """Hold the locks of all dirs, and give these; those in `made` are removed in the end. `BrokerRunning`."""
    with ExitStack() as stack:
        locks = Locks(fx, dirs, made, stack)
        locks.take()
        yield locks


@contextmanager
def _locked(fx: Effects, path: str, *, remove: bool) -> Iterator[None]:
    fd = _open(fx, path)
    try:
        _take(fd, path)
        _refuse_gone(fd, path)
        well = False
        try:
            yield
            well = True
        finally:
            if remove:
                # Still holding it: whoever opened it finds it locked, who comes now makes his own. If
                # something failed already, that is what the user is told, and not this. It is synced with the
                # time of the directory, which comes back next.
                with suppress(*(() if well else (OSError,))):
                    fx.remove(f"{path}/{LOCK}")
    finally:
        fx.close(fd)


def _open(fx: Effects, path: str) -> int:
    name = f"{path}/{LOCK}"
    try:
        return fx.open(name)
    except FileNotFoundError:
        fd = fx.create(name, 0o644)
    try:
        home = disk.file_stat(path)
        # A `.lock` of root, left behind by a kill, would keep the broker from starting.
        fx.set_owner(fd, home.uid, home.gid)
        fx.set_mode(fd, stat.S_IMODE(home.mode) & 0o666)
    except (OSError, Unreadable):
        os.close(fd)
        with suppress(OSError):
            fx.remove(name)
        raise
    return fd


def _refuse_gone(fd: int, path: str) -> None:
    """A broker that stops removes it (since 3.8): a lock on a file that is gone keeps nobody out."""
    try:
        there = os.path.samestat(os.stat(f"{path}/{LOCK}"), os.fstat(fd))
    except FileNotFoundError:
        there = False
    if not there:
        raise BrokerRunning(f"{path}: a broker has just stopped here and removed its .lock; try again")


def _take(fd: int, path: str) -> None:
    request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        try:
            fcntl.fcntl(fd, _SET, request)
        except OSError as error:
            if error.errno not in _NO_SUCH_LOCK:
                raise
            fcntl.fcntl(fd, fcntl.F_SETLK, request)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise _held(path, None) from None
        raise SegmendError(f"{path}/{LOCK}: cannot be locked here: {os.strerror(error.errno or 0)}") from None
