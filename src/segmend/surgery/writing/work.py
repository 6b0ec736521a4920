"""What a step is given to work with."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from segmend.frozen import field, frozen
from segmend.logdir import disk
from segmend.logdir.release import NEWEST, Release
from segmend.surgery.writing.effects import Effects


@frozen
class Workplace:
    """What a step is given to work with.

    `vault` is the directory of this step's old bytes, `token` 32 hex digits that name its temporary
    directories; `check` raises `Cancelled` if the user asked to stop, `tell` is told of bytes done.
    """

    fx: Effects
    vault: str
    token: str = "0" * 32
    release: Release = NEWEST
    check: Callable[[], None] = field(default=lambda *_: None)
    tell: Callable[[int], None] = field(default=lambda *_: None)


def device_of(path: str) -> int:
    """The file system of a path, or of the nearest directory above it that is there."""
    path = disk.real_path(path)
    while disk.path_type(path) is None:
        path = folder(path)
    return disk.file_stat(path).device


def folder(path: str) -> str:
    return posixpath.dirname(path)
