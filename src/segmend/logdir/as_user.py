"""This machine's disk with the eyes of the broker's user: the same bytes, and what he may do with them.

Everything is read by this process, whoever runs it; `denial` says what the other one would be refused. What
this process itself may not read is no answer about him: it stays an `Unreadable` that is `forbidden`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, ParamSpec, TypeVar

from segmend.formats import posix_acl
from segmend.formats.posix_acl import PosixAcl
from segmend.logdir import disk
from segmend.logdir.file_system import (
    READ,
    SEARCH,
    WRITE,
    EntryType,
    Files,
    FileStat,
    HeldBack,
    LockState,
    OpenFile,
    Space,
    Unreadable,
)
from segmend.logdir.log_dir import LogDir
from segmend.logdir.user import ROOT, User

P = ParamSpec("P")
T = TypeVar("T")

DENIED: Final = "Permission denied"
READ_ONLY: Final = "Read-only file system"
IMMUTABLE: Final = "Operation not permitted"
_ATTRIBUTES_ASKED: Final = 40_000
"""Files of which the attribute `i` is asked for: a system call each."""


class AsUser(Files):
    """The disk, and what `user` may do on it. Folders are remembered, so it is for one look at log dirs.

    `unasked` counts the files beyond those of which the attribute `i` was asked for. `refused` has by
    path what the system did not give to this process: what was taken instead is a guess.
    """

    def __init__(self, user: User) -> None:
        self.user = user
        self._folders: dict[str, bool] = {}
        self._frozen: dict[str, str | None] = {}
        self._asked = 0
        self._immutables = 0
        self.unasked = 0
        self.refused: dict[str, str] = {}

    @property
    def attributes(self) -> tuple[int, int, int]:
        """Of how many files the attribute `i` was asked for, of how many not, and how many have it."""
        return self._asked, self.unasked, self._immutables

    def would_find(self, asked: int, unasked: int, immutable: int) -> bool:
        """Whether another process, which may have asked of more files, found in some what this one would.

        They are counted then.
        """
        due = min(asked + unasked, max(_ATTRIBUTES_ASKED - self._asked, 0))
        if due > asked or (due < asked and immutable):
            return False
        self._asked, self.unasked = self._asked + due, self.unasked + asked + unasked - due
        return True

    def listing(self, path: str) -> dict[str, EntryType]:
        return self.seen(path, self._read(disk.listing, path))

    def dir(self, log_dir: LogDir) -> LogDir:
        """A log dir of this disk, with what this user may do in it."""
        return log_dir.through(self, self.seen(log_dir.path, log_dir.entries))

    def seen(self, folder: str, entries: dict[str, EntryType]) -> dict[str, EntryType]:
        """With links to what he cannot reach as links to nothing, which they are to him (`File.exists`)."""
        if self.user.uid == ROOT:
            return entries
        links = (name for name, type in entries.items() if type in ("link-file", "link-dir"))
        closed = [n for n in links if not self._reaches(os.path.dirname(disk.real_path(f"{folder}/{n}")))]
        return {**entries, **dict.fromkeys(closed, "link-broken")} if closed else entries

    def file_stat(self, path: str) -> FileStat:
        try:
            return disk.file_stat(path)
        except Unreadable as error:
            self._note(error)
            raise

    def open(self, path: str) -> OpenFile:
        return self._read(disk.open, path)

    def last_bytes(self, path: str, size: int, unit: int = 1) -> bytes:
        try:  # as `_read` does, for very many files
            return disk.last_bytes(path, size, unit)
        except Unreadable as error:
            self._note(error)
            raise

    def file_size(self, path: str) -> int:
        return self._read(disk.file_size, path)

    def size_and_allocated(self, path: str) -> tuple[int, int]:
        return self._read(disk.size_and_allocated, path)

    def _read(self, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """What the disk says; what it does not give to this process is noted."""
        try:
            return read(*args, **options)
        except Unreadable as error:
            self._note(error)
            raise

    def _note(self, error: Unreadable) -> None:
        if error.forbidden:
            self.refused.setdefault(error.path, str(error))

    def real_path(self, path: str) -> str:
        return disk.real_path(path)

    def space(self, path: str) -> Space:
        return disk.space(path)

    def lock_state(self, path: str) -> LockState | None:
        return disk.lock_state(path)

    def denial(self, path: str, wanted: int) -> str | None:
        """Why he may not use the path so, in the system's words; None where he may, or nobody can tell."""
        if self.user.uid == ROOT and not wanted & WRITE:
            return None
        try:
            status = disk.file_stat(path)
        except Unreadable:
            return None
        if self.user.uid != ROOT and not (
            self._reaches(os.path.dirname(path)) and self._may(wanted, path, status)
        ):
            return DENIED
        return self._unchangeable(path, status) if wanted & WRITE else None

    def fixed(self, path: str) -> str | None:
        return unchangeable(path)

    def held_back(self, folder: str, names: Iterable[str]) -> HeldBack:
        """Which of these files he may not use; each is looked at once, by its status alone."""
        names = list(names)
        frozen = self._frozen_folder(folder)
        unwritable = dict.fromkeys(names, frozen) if frozen else self._immutable(folder, names)
        if self.user.uid == ROOT:
            return HeldBack(unwritable=unwritable)
        usable: set[tuple[int, int, int]] = set()
        unreadable = None
        for name, owned in disk.owners(folder, names):
            if owned in usable:
                continue
            mode, uid, gid = owned
            acl = None if uid == self.user.uid else access_list(f"{folder}/{name}")
            if self.user.may(READ | WRITE, mode, uid, gid, acl):
                if uid == self.user.uid:
                    usable.add(owned)
                continue
            if unreadable is None and not self.user.may(READ, mode, uid, gid, acl):
                unreadable = name
            if not self.user.may(WRITE, mode, uid, gid, acl):
                unwritable[name] = DENIED
        return HeldBack(unreadable=unreadable, unwritable=unwritable)

    def _immutable(self, folder: str, names: Iterable[str]) -> dict[str, str]:
        every = sorted(names, key=lambda name: not name.endswith(".log"))  # every start opens these
        asked = every[: max(_ATTRIBUTES_ASKED - self._asked, 0)]
        self._asked += len(asked)
        self.unasked += len(every) - len(asked)
        immutable = {name: IMMUTABLE for name in asked if disk.is_immutable(f"{folder}/{name}")}
        self._immutables += len(immutable)
        return immutable

    def _may(self, wanted: int, path: str, status: FileStat) -> bool:
        acl = None if self.user.uid in (ROOT, status.uid) else access_list(path)
        return self.user.may(wanted, status.mode, status.uid, status.gid, acl)

    def _reaches(self, folder: str) -> bool:
        """Whether he may search the folder and all above it."""
        if folder not in self._folders:
            self._folders[folder] = True  # of what cannot be told, and against loops
            try:
                real = disk.real_path(folder)
                above = os.path.dirname(real)
                here = real == above or self._may(SEARCH, real, disk.file_stat(real))
                self._folders[folder] = here and (real == above or self._reaches(above))
            except Unreadable:
                pass
        return self._folders[folder]

    def _unchangeable(self, path: str, status: FileStat) -> str | None:
        """What stops even root: a read-only mount, an attribute of the file."""
        frozen = self._frozen_folder(path if status.type == "dir" else os.path.dirname(path))
        return frozen or (IMMUTABLE if disk.is_immutable(path) else None)

    def _frozen_folder(self, folder: str) -> str | None:
        if folder not in self._frozen:
            try:
                self._frozen[folder] = READ_ONLY if disk.space(folder).read_only else None
            except Unreadable:
                self._frozen[folder] = None
        return self._frozen[folder]


def on_this_disk(log_dir: LogDir) -> bool:
    """Whether it is looked at as it lies on this machine: in no store, and in no view of what is planned."""
    return log_dir.files is disk


def unchangeable(path: str) -> str | None:
    """The system's words where an attribute keeps everybody from changing, replacing and removing it."""
    return IMMUTABLE if disk.is_immutable(path) else None


def mount_point(path: str) -> str:
    """Where the file system of a path is mounted, which may be above it, or elsewhere behind a link."""
    place, points = disk.real_path(path), disk.mount_points()
    while place not in points and place != os.path.dirname(place):
        place = os.path.dirname(place)
    return place


def access_list(path: str) -> PosixAcl | None:
    """Who else may use a file, beside its mode; None without one."""
    data = disk.access_list(path)
    return None if data is None else posix_acl.parse(data)[0]


def owner_of_most(dirs: Iterable[LogDir]) -> User | None:
    """Whom most of what lies at the top of the log dirs belongs to; None where nothing tells.

    Nobody runs a broker as the owner of fewer. The group is that of most of his files.
    """
    owners: Counter[int] = Counter()
    groups: Counter[tuple[int, int]] = Counter()
    for log_dir in dirs:
        if not on_this_disk(log_dir):
            return None
        for path in (log_dir.path, *(f"{log_dir.path}/{name}" for name in log_dir.entries)):
            try:
                status = disk.file_stat(path)
            except Unreadable:
                continue
            owners[status.uid] += 1
            groups[status.uid, status.gid] += 1
    if not owners:
        return None
    uid = max(owners, key=lambda each: owners[each])
    known = User.of(uid)
    gid = max((each for each in groups if each[0] == uid), key=lambda each: groups[each])[1]
    return known if known.name is not None else User.of(uid, gid)


def user_of(wanted: str | None, dirs: Iterable[LogDir]) -> tuple[User | None, str | None]:
    """Whom the broker runs as, and what is assumed of him where nobody says it (`--as-user`)."""
    if wanted is not None:
        return User.named(wanted), None
    user = owner_of_most(dirs)
    return user, f"the broker runs as {user}, the owner of most files (--as-user)" if user else None
