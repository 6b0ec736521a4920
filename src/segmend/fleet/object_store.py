"""Log dirs in an object store, as `Files`: snapshots in S3, GCS, Azure, over HTTP.

A listing brings sizes and times along, so that a `stat` afterwards costs no request, neither of a
file nor of a directory. Small objects of the same content are read once: S3 and its like tell the
MD5 of each, as its ETag. Large files are read ahead in blocks. Credentials and endpoints come from
the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, AWS_ALLOW_HTTP, ...) or from the instance's role.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

import obstore
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import from_url

from segmend.frozen import frozen
from segmend.logdir.file_system import EntryType, Files, FileStat, OpenFile, Unreadable

BLOCK: Final = 8 << 20
"""What is read ahead once reads follow one another."""

SMALL: Final = 256 << 10
"""An object of at most so many bytes is read whole, once: a request costs as much time as reading so much."""

_FOLDERS_KEPT: Final = 4096
_BYTES_KEPT: Final = 64 << 20
_MD5: Final = re.compile("[0-9a-f]{32}")
_CAUSE: Final = re.compile(r'message: "([^"\n]+)"')
_LACKING: Final = {
    "/latest/api/token": "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "BadScheme": "to use http:// set AWS_ALLOW_HTTP=true",
}
"""What the environment lacks, by what obstore says then: it asks EC2's metadata, or blames a builder."""
_Name = tuple[str, int, int]


@frozen
class _Listed:
    status: FileStat
    etag: str | None

    def names(self, path: str) -> tuple[_Name, _Name | None]:
        """What tells its content from any other: path, size and time; size and MD5, if that is known."""
        size, tag = self.status.size, (self.etag or "").strip('"')
        return (path, size, self.status.mtime_ns), (tag, size, 0) if _MD5.fullmatch(tag) else None


class _KeptObjects:
    """Small objects that were read, the ones asked for last, by what `_Listed.names` gives."""

    def __init__(self) -> None:
        self._found: OrderedDict[_Name, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[_KeptObjects], tuple[()]]:
        return _KeptObjects, ()

    def get(self, key: _Name) -> bytes | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def keep(self, key: _Name, content: bytes) -> None:
        with self._lock:
            self._bytes += len(content) - len(self._found.pop(key, b""))
            self._found[key] = content
            while self._bytes > _BYTES_KEPT:
                self._bytes -= len(self._found.popitem(last=False)[1])


class ObjectStore(Files):
    """All buckets of one scheme; `connect` makes a store of a bucket's URL."""

    def __init__(self, connect: Callable[[str], Any] = from_url) -> None:
        self._connect = connect
        self._stores: dict[str, Any] = {}
        self._folders: dict[str, dict[str, _Listed | None]] = {}
        self._kept = _KeptObjects()
        self._once = 0

    @contextmanager
    def listed_once(self) -> Iterator[None]:
        """Meanwhile a directory is asked for once, however often it is listed."""
        self._folders.clear()
        self._once += 1
        try:
            yield
        finally:
            self._once -= 1

    @property
    def calls(self) -> Any:
        """What is called with a store: functions of obstore's names."""
        return obstore

    def listing(self, path: str) -> dict[str, EntryType]:
        """Names below `path`, up to the next slash; none at all is a missing directory."""
        known = self._folders.get(path.rstrip("/")) if self._once else None
        if known is None:
            known = self._asked_for(path)
        return {name: "dir" if each is None else "file" for name, each in known.items()}

    def _asked_for(self, path: str) -> dict[str, _Listed | None]:
        store, key = self._split(path)
        with _refusals(path):
            listed = self.calls.list_with_delimiter(store, f"{key}/" if key else None)
        known: dict[str, _Listed | None] = {
            meta["path"].rpartition("/")[2]: _listed(meta) for meta in listed["objects"]
        }
        known |= dict.fromkeys(p.rstrip("/").rpartition("/")[2] for p in listed["common_prefixes"])
        if not known:
            raise Unreadable.nothing_at(path)
        if len(self._folders) >= _FOLDERS_KEPT:
            self._folders.clear()
        self._folders[path.rstrip("/")] = known
        return known

    def file_stat(self, path: str) -> FileStat:
        """From the last listing of its directory, or asked of the store."""
        listed = self._told(path)
        return _directory() if listed is None else listed.status

    def _told(self, path: str) -> _Listed | None:
        """What is known of an object, None for a directory; Unreadable where nothing is."""
        folder, _, name = path.rstrip("/").rpartition("/")
        siblings = self._folders.get(folder, {})
        if name in siblings:
            return siblings[name]
        if path.rstrip("/") in self._folders:
            return None
        store, key = self._split(path)
        try:
            if key:  # S3 answers for a bucket, too
                with _refusals(path):
                    return _listed(self.calls.head(store, key))
        except Unreadable as error:
            if not error.missing:
                raise
        self.listing(path)
        return None

    def open(self, path: str) -> RemoteReader:
        listed = self._told(path) or _Listed(status=_directory(), etag=None)
        of_it = self._split(path)
        return RemoteReader(*of_it, path=path, listed=listed, kept=self._kept, calls=self.calls)

    def content(self, path: str) -> bytes:
        store, key = self._split(path)
        with _refusals(path):
            return bytes(self.calls.get(store, key).bytes())

    def put(self, path: str, content: bytes) -> None:
        """Write an object, whole or not at all."""
        store, key = self._split(path)
        with _refusals(path):
            self.calls.put(store, key, content)
        self._folders.pop(path.rpartition("/")[0], None)

    def remove(self, path: str) -> None:
        """Take an object away, if it is there."""
        store, key = self._split(path)
        with _refusals(path):
            self.calls.delete(store, key)
        self._folders.pop(path.rpartition("/")[0], None)

    def _split(self, path: str) -> tuple[object, str]:
        """(the bucket's store, the key in it)."""
        scheme, _, rest = path.partition("://")
        bucket, _, key = rest.partition("/")
        url = f"{scheme}://{bucket}"
        if url not in self._stores:
            _refuse_no_url(path)
            with _refusals(path):
                self._stores[url] = self._connect(url)
        return self._stores[url], key.rstrip("/")


class RemoteReader(OpenFile):
    """An object, read by range requests."""

    def __init__(
        self, store: Any, key: str, *, path: str, listed: _Listed, kept: _KeptObjects, calls: Any
    ) -> None:
        super().__init__(path, listed.status.size)
        self._calls = calls
        self._own_name, self._md5_name = listed.names(path)
        self._kept = kept
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
            self._block, self._start = self._fetched(position, wanted)
            offset = position - self._start
        return self._block[offset : offset + wanted]

    def _fetched(self, position: int, wanted: int) -> tuple[memoryview, int]:
        """A block of the object with that position in it, and where it begins."""
        if self.size <= SMALL:
            return memoryview(self._whole()), 0
        # A first read may be the last one (the tail of an index); the second in a row is a scan.
        in_a_row = position == self._start + len(self._block) and position > 0
        length = min(max(wanted, BLOCK) if in_a_row else wanted, self.size - position)
        return memoryview(self._asked(position, length)), position

    def _whole(self) -> bytes:
        """All of a small object, which is asked for once, and not at all where an equal one was."""
        for name in filter(None, (self._md5_name, self._own_name)):
            if (kept := self._kept.get(name)) is not None:
                return kept
        whole = bytes(self._asked(0, self.size))
        # An ETag that looks like an MD5 may be something else: then it says nothing of other objects.
        told = self._md5_name and hashlib.md5(whole, usedforsecurity=False).hexdigest() == self._md5_name[0]
        self._kept.keep(self._md5_name if self._md5_name and told else self._own_name, whole)
        return whole

    def _asked(self, start: int, length: int) -> Any:
        with _refusals(self.path):
            return self._calls.get_range(self._store, self._key, start=start, length=length)


def _listed(meta: Any) -> _Listed:
    modified = int(meta["last_modified"].timestamp() * 1_000_000_000)
    status = _file(stat.S_IFREG | 0o644, int(meta["size"]), modified)
    return _Listed(status=status, etag=meta.get("e_tag"))


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
        raise Unreadable(path, f"the object store failed: {_reason(str(error))}", errno.EIO) from None


def _refuse_no_url(path: str) -> None:
    """Over an endpoint that is no URL obstore panics."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
        value = os.environ.get(name)
        if path.startswith("s3") and value and "://" not in value:
            raise Unreadable(path, f"{name}={value} is no URL such as https://host:9000", errno.EINVAL)


def _reason(words: str) -> str:
    """What was asked, and why it failed: the innermost cause stands far below, among Rust's names."""
    told, _, below = words.partition("Debug source")
    cause = [*_CAUSE.findall(below)[-1:], *(lack for sign, lack in _LACKING.items() if sign in words)]
    asked, _, answer = " ".join(told.split()).partition(" - ")
    parts = [*asked[:200].split(), *(["-", *answer[:200].split()] if answer else [])]
    return " ".join([*parts, *(f"({each})" for each in cause)])
