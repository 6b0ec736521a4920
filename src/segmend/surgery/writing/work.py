"""What a step is given to work with."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable

from segmend.frozen import field, frozen
from segmend.logdir import disk
from segmend.logdir.release import NEWEST, Release
from segmend.surgery.writing.effects import Effects, sync_dir


@frozen
class Workplace:
    """What a step is given to work with.

    `vault` is the directory of this step's old bytes, `token` 32 hex digits that name its temporary
    directories; `check` raises `Cancelled` if the user asked to stop, `tell` is told of bytes done. `later`
    takes the directories whose names are synced before the journal says that the step is done; None: at once.
    """

    fx: Effects
    vault: str
    token: str = "0" * 32
    release: Release = NEWEST
    check: Callable[[], None] = field(default=lambda *_: None)
    tell: Callable[[int], None] = field(default=lambda *_: None)
    later: set[str] | None = None

    def sync_names(self, path: str) -> None:
        """Bring the names in a directory to the disk: the last thing that is done there."""
        if self.later is None:
            sync_dir(self.fx, path)
        else:
            self.later.add(path)


def device_of(path: str) -> int:
    """The file system of a path, or of the nearest directory above it that is there."""
    return disk.file_stat(_there(path)).device


def crosses(one: str, other: str) -> bool:
    """Whether what goes from one directory to another is copied: no rename leaves a file system or mount."""
    here, there = _there(one), _there(other)
    return (
        disk.file_stat(here).device != disk.file_stat(there).device
        or disk.mount_id(here) != disk.mount_id(there)
    )  # fmt: skip


def nearest(path: str) -> str:
    """The path, or what is nearest above it and there."""
    while disk.path_type(path) is None:
        path = folder(path)
    return path


def _there(path: str) -> str:
    return nearest(disk.real_path(path))


def folder(path: str) -> str:
    return posixpath.dirname(path)


def is_plain(path: str) -> bool:
    """Whether it is absolute and without detours; also something that a system call takes."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return path.startswith("/") and posixpath.normpath(path) == path and "\0" not in path and path[1:2] != "/"
