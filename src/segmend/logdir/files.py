"""One file of a log dir by its name; made only when asked for, and making one touches no disk."""

from __future__ import annotations

from segmend.formats.names import FileName, parse_file_name
from segmend.logdir import disk
from segmend.logdir.file_system import DEFAULT_LIMIT, EntryType, Files, FileStat, OpenFile, Unreadable


class FileEntry:
    """A file by its name; its `stat` is taken once, on demand, and its bytes never kept.

    `dir_path` is where it lies in `files`; `type` is what the directory entry says. Each method
    that reads raises `Unreadable` when the system refuses.
    """

    __slots__ = ("_stat", "dir_path", "files", "name", "type")

    def __init__(self, files: Files, dir_path: str, name: str, type: EntryType = "file") -> None:
        self.files = files
        self.dir_path = dir_path
        self.name = name
        self.type = type
        self._stat: FileStat | None = None

    @classmethod
    def at(cls, path: str) -> FileEntry:
        dir_path, _, name = path.rpartition("/")
        return cls(disk, dir_path or ("/" if path.startswith("/") else "."), name)

    def beside(self, name: str) -> FileEntry:
        """Another file of the same directory, which need not be there."""
        return FileEntry(self.files, self.dir_path, name)

    @property
    def path(self) -> str:
        return f"{self.dir_path}/{self.name}"

    @property
    def parsed(self) -> FileName:
        return parse_file_name(self.name)

    @property
    def size(self) -> int:
        """Size in bytes, now, or as of the first `stat()`."""
        return self._stat.size if self._stat is not None else self.files.file_size(self.path)

    @property
    def known_size(self) -> int:
        """Its size, 0 where the system does not tell it."""
        try:
            return self.size
        except Unreadable:
            return 0

    def stat(self) -> FileStat:
        """The file's status, taken at the first call."""
        if self._stat is None:
            self._stat = self.files.file_stat(self.path)
        return self._stat

    def read(self, limit: int = DEFAULT_LIMIT) -> bytes:
        """The first `limit` bytes."""
        with self.files.open(self.path) as reader:
            return reader.read(limit)

    def last_bytes(self, size: int, unit: int = 1) -> bytes:
        """Its last `size` bytes, or fewer, before what is no whole entry of `unit` bytes at its end."""
        return self.files.last_bytes(self.path, size, unit)

    def reader(self) -> OpenFile:
        """The file opened for reading: the kernel's `Reader`, and a context manager."""
        return self.files.open(self.path)

    def __repr__(self) -> str:
        return f"FileEntry({self.path!r})"
