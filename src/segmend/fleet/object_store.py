"""Log dirs in an object store, as `Files`: snapshots in S3, GCS, Azure, over HTTP.

A listing brings sizes and times along, so that a `stat` afterwards costs no request. Large
files are read ahead in blocks. Credentials and endpoints come from the environment
(AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, AWS_ALLOW_HTTP, ...) or from the instance's role.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import obstore
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import from_url

from segmend.logdir.file_system import EntryType, Files, FileStat, OpenFile, Unreadable

BLOCK: Final = 8 << 20
"""What is read ahead once reads follow one another."""

_FOLDERS_KEPT: Final = 4096


class ObjectStore(Files):
    """All buckets of one scheme; `connect` makes a store of a bucket's URL."""

    def __init__(self, connect: Callable[[str], Any] = from_url) -> None:
        self._connect = connect
        self._stores: dict[str, Any] = {}
        self._folders: dict[str, dict[str, FileStat]] = {}

    def listing(self, path: str) -> dict[str, EntryType]:
        """Names below `path`, up to the next slash; none at all is a missing directory."""
        store, key = self._split(path)
        with _refusals(path):
            found = obstore.list_with_delimiter(store, f"{key}/" if key else None)
        files = {meta["path"].rpartition("/")[2]: _status(meta) for meta in found["objects"]}
        entries: dict[str, EntryType] = dict.fromkeys(files, "file")
        entries |= dict.fromkeys((p.rstrip("/").rpartition("/")[2] for p in found["common_prefixes"]), "dir")
        if not entries:
            raise Unreadable.nothing_at(path)
        if len(self._folders) >= _FOLDERS_KEPT:
            self._folders.clear()
        self._folders[path.rstrip("/")] = files
        return entries

    def file_stat(self, path: str) -> FileStat:
        """From the last listing of its directory, or asked of the store."""
        folder, _, name = path.rpartition("/")
        known = self._folders.get(folder, {}).get(name)
        if known is not None:
            return known
        store, key = self._split(path)
        try:
            with _refusals(path):
                return _status(obstore.head(store, key))
        except Unreadable as error:
            if not error.missing:
                raise
        self.listing(path)
        return _directory()

    def open(self, path: str) -> RemoteReader:
        """A reader of one object."""
        size = self.file_stat(path).size
        return RemoteReader(*self._split(path), path=path, size=size)

    def content(self, path: str) -> bytes:
        """The whole of one object."""
        store, key = self._split(path)
        with _refusals(path):
            return bytes(obstore.get(store, key).bytes())

    def put(self, path: str, content: bytes) -> None:
        """Write an object, whole or not at all."""
        store, key = self._split(path)
        with _refusals(path):
            obstore.put(store, key, content)
        self._folders.pop(path.rpartition("/")[0], None)

    def remove(self, path: str) -> None:
        """Take an object away, if it is there."""
        store, key = self._split(path)
        with _refusals(path):
            obstore.delete(store, key)
        self._folders.pop(path.rpartition("/")[0], None)

    def _split(self, path: str) -> tuple[Any, str]:
        """(the bucket's store, the key in it)."""
        scheme, _, rest = path.partition("://")
        bucket, _, key = rest.partition("/")
        url = f"{scheme}://{bucket}"
        if url not in self._stores:
            with _refusals(path):
                self._stores[url] = self._connect(url)
        return self._stores[url], key.rstrip("/")


class RemoteReader(OpenFile):
    """An object, read by range requests."""

    def __init__(self, store: Any, key: str, *, path: str, size: int) -> None:
        super().__init__(path, size)
        self._store = store
        self._key = key
        self._block: memoryview = memoryview(b"")
        self._start = 0

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill `buffer` from `position`; short only at the end."""
        wanted = max(0, min(len(buffer), self.size - position))
        filled = 0
        while filled < wanted:
            piece = self._at(position + filled, wanted - filled)
            if not piece:
                break
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def _at(self, position: int, wanted: int) -> memoryview:
        offset = position - self._start
        if not 0 <= offset < len(self._block):
            # A first read may be the last one (the tail of an index); the second in a row is a scan.
            in_a_row = position == self._start + len(self._block) and position > 0
            length = min(max(wanted, BLOCK) if in_a_row else wanted, self.size - position)
            with _refusals(self.path):
                data = obstore.get_range(self._store, self._key, start=position, length=length)
            self._block, self._start, offset = memoryview(data), position, 0
        return self._block[offset : offset + wanted]


def _status(meta: Any) -> FileStat:
    modified = int(meta["last_modified"].timestamp() * 1_000_000_000)
    return _file(stat.S_IFREG | 0o644, int(meta["size"]), modified)


def _directory() -> FileStat:
    return _file(stat.S_IFDIR | 0o755, 0, 0)


def _file(mode: int, size: int, modified: int) -> FileStat:
    return FileStat(size=size, allocated=size, mtime_ns=modified, mode=mode)


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    """What a store says becomes what a disk would have said."""
    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise Unreadable.nothing_at(path) from None
    except (PermissionDeniedError, UnauthenticatedError, PermissionError):
        raise Unreadable(path, "permission denied", errno.EACCES) from None
    except (BaseError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise Unreadable(path, f"the object store failed: {reason}", errno.EIO) from None
