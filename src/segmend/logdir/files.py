"""One file of a log dir by its name; made only when asked for, and making one touches no disk."""

from __future__ import annotations

from segmend.formats.names import FileName, parse_file_name
from segmend.logdir import disk


class FileEntry:
    """A file by its name; its `stat` is taken once, on demand, and its bytes never kept.

    `dir_path` is where it lies; `type` is what the directory entry says. Each method that
    touches the disk raises `disk.Unreadable` when the system refuses.
    """

    __slots__ = ("_stat", "dir_path", "name", "type")

    def __init__(self, dir_path: str, name: str, type: disk.EntryType = "file") -> None:
        self.dir_path = dir_path
        self.name = name
        self.type = type
        self._stat: disk.FileStat | None = None

    @property
    def path(self) -> str:
        """The full path, as the log dir was given."""
        return f"{self.dir_path}/{self.name}"

    @property
    def parsed(self) -> FileName:
        """What the name means to a broker."""
        return parse_file_name(self.name)

    @property
    def size(self) -> int:
        """Size in bytes, now, or as of the first `stat()`."""
        return self._stat.size if self._stat is not None else disk.file_size(self.path)

    def stat(self) -> disk.FileStat:
        """The file's status, taken at the first call."""
        if self._stat is None:
            self._stat = disk.file_stat(self.path)
        return self._stat

    def read(self, limit: int = disk.DEFAULT_LIMIT) -> bytes:
        """The first `limit` bytes."""
        return disk.read(self.path, limit)

    def reader(self) -> disk.FileReader:
        """The file opened for reading: the kernel's `Reader`, and a context manager."""
        return disk.FileReader(self.path)

    def __repr__(self) -> str:
        return f"FileEntry({self.path!r})"
