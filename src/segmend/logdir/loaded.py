"""A small file, read and parsed at once: its value, its damage, or why it could not be read."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Generic, Self, TypeVar

from segmend.formats.damage import Damage
from segmend.frozen import frozen
from segmend.logdir.file_system import DEFAULT_LIMIT, FOLDERS, READ, Unreadable
from segmend.logdir.files import FileEntry

T = TypeVar("T")


@frozen
class LoadedFile(Generic[T]):
    """`value` is None when the file is missing, unreadable, or too damaged to mean anything."""

    entry: FileEntry | None = None
    data: bytes | None = None
    value: T | None = None
    damages: tuple[Damage, ...] = ()
    unreadable: Unreadable | None = None

    @property
    def missing(self) -> bool:
        return self.entry is None

    @property
    def healthy(self) -> bool:
        return self.data is not None and not self.damages

    def readable(self) -> Self:
        """This very value; raises `Unreadable` for a file that is there and was refused."""
        if self.unreadable is not None:
            raise self.unreadable
        return self


def load(
    entry: FileEntry | None,
    parse: Callable[[bytes], tuple[T | None, tuple[Damage, ...]]],
    limit: int = DEFAULT_LIMIT,
) -> LoadedFile[T]:
    """Read and parse a small file, or its first `limit` bytes; never raises."""
    if entry is None:
        return LoadedFile()
    if entry.type in FOLDERS:
        return LoadedFile(entry=entry, unreadable=Unreadable(entry.path, "is a directory", errno.EISDIR))
    denied = entry.files.denial(entry.path, READ)
    if denied is not None:
        return LoadedFile(entry=entry, unreadable=Unreadable(entry.path, denied.lower()))
    try:
        data = entry.read(limit)
    except Unreadable as error:
        return LoadedFile(entry=entry, unreadable=error)
    value, damages = parse(data)
    return LoadedFile(entry=entry, data=data, value=value, damages=damages)
