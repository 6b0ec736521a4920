"""Log dirs in an object store, as `Files`: snapshots in S3, GCS, Azure, over HTTP.

A listing brings sizes and times along, so that a `stat` afterwards costs no request, neither of a
file nor of a directory; one answer tells all that lies below a directory, if that is not too much.
Small objects of the same content are read once: S3 and its like tell the MD5 of each, as its ETag. Of
a large one that is read from a place on, one answer brings all the rest, as far as it is wanted.
Credentials and endpoints come from the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL,
AWS_ALLOW_HTTP, ...) or from the instance's role.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import obstore
from obstore.exceptions import (
    BaseError,
    InvalidPathError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from obstore.store import from_url

from segmend.errors import library_words
from segmend.formats import offset_index, time_index
from segmend.formats.byte_columns import nonzero_size
from segmend.formats.names import parse_file_name
from segmend.frozen import frozen
from segmend.logdir.file_system import EntryType, Files, FileStat, OpenFile, Unreadable

if TYPE_CHECKING:
    from obstore import Bytes, ObjectMeta

Calls = Any
"""The module obstore, or what else has functions of its names."""

BLOCK: Final = 1 << 20
"""Pieces of an answer that goes on to the end of an object; a read of so much is the first of a scan."""

SMALL: Final = 256 << 10
"""A request costs as much time as reading so many bytes: less is never asked for, and an object that has no
more is read once, whole.
"""

_PAGE: Final = 1000
"""So many objects a store tells in one answer."""
_FOLDERS_KEPT: Final = 4096
_BYTES_KEPT: Final = 64 << 20
_LEAPT: Final = 4 << 20
"""So much of an answer is left unread for what lies behind it, rather than that another one is asked for."""
_INDEXES: Final = (offset_index.SUFFIX, time_index.SUFFIX)
_MD5: Final = re.compile("[0-9a-f]{32}")
_CAUSE: Final = re.compile(r'message: "([^"\n]+)"')
_LACKING: Final = {
    "/latest/api/token": "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "BadScheme": "to use http:// set AWS_ALLOW_HTTP=true",
    "computeMetadata": "no credentials: set GOOGLE_APPLICATION_CREDENTIALS",
    **dict.fromkeys(
        ("No NameNode", "No fs.defaultFS"),
        "say hdfs://HOST:PORT/, or have HADOOP_CONF_DIR name the cluster's configuration",
    ),
}
"""What the environment lacks, by what obstore says then: it asks EC2's metadata, or blames a builder."""
_RECENT: Final = 3 << 20
"""So much of what was read last a reader keeps at least: the last two batches are looked at anew, and brokers
take 1 MiB in one if nothing else is said.
"""
_INDEX_LIMIT: Final = 64 << 20
"""Of a larger index nobody wants all (`index_file.LIMIT_BYTES`)."""
_LAST: Final = -1
_TO_ZEROS: Final = -2
_Name = tuple[str, int, int]


@frozen
class _Listed:
    status: FileStat
    etag: str | None

    def names(self, path: str) -> tuple[_Name, _Name | None]:
        """What tells its content from any other: path, size and time; size and MD5, if that is known."""
        size, tag = self.status.size, (self.etag or "").strip('"')
        return (path, size, self.status.mtime_ns), (tag, size, 0) if _MD5.fullmatch(tag) else None


class _Fetched(NamedTuple):
    """Bytes of an object, and where they begin."""

    content: memoryview = memoryview(b"")
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.content)


class _KeptObjects:
    """What was asked for last: of an object what begins there, or what was `_LAST` read of it.

    Of an index all up to the zeros at its end, `_TO_ZEROS`.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[_Name, int], _Fetched] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[_KeptObjects], tuple[()]]:
        return _KeptObjects, ()

    def get(self, name: _Name, start: int) -> _Fetched | None:
        with self._lock:
            if (name, start) in self._found:
                self._found.move_to_end((name, start))
            return self._found.get((name, start))

    def keep(self, name: _Name, start: int, block: _Fetched) -> None:
        with self._lock:
            self._bytes += len(block.content) - len(self._found.pop((name, start), _Fetched()).content)
            self._found[name, start] = block
            while self._bytes > _BYTES_KEPT:
                self._bytes -= len(self._found.popitem(last=False)[1].content)


class ObjectStore(Files):
    """All buckets of one scheme; `connect` makes a store of a bucket's URL."""

    def __init__(self, connect: Callable[[str], object] = from_url) -> None:
        self._connect = connect
        self._stores: dict[str, object] = {}
        self._folders: dict[str, dict[str, _Listed | None]] = {}
        self._large: set[str] = set()
        """Directories with more below them than one answer tells."""
        self._kept = _KeptObjects()
        self._once = 0

    @contextmanager
    def listed_once(self) -> Iterator[None]:
        """Meanwhile a directory is asked for once, however often it is listed; what it lacks is not there."""
        if not self._once:
            self._folders.clear()
            self._large.clear()
        self._once += 1
        try:
            yield
        finally:
            self._once -= 1

    @property
    def calls(self) -> Calls:
        """What is called with a store: functions of obstore's names."""
        return obstore

    def listing(self, path: str) -> dict[str, EntryType]:
        """Names below `path`, up to the next slash; none at all is a missing directory."""
        known = self._known_once(path) if self._once else self._asked_for(path)
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
        self._keep({path.rstrip("/"): known})
        return known

    def _known_once(self, path: str) -> dict[str, _Listed | None]:
        """What is in a directory, while each is asked for once."""
        folder = path.rstrip("/")
        self._ask_below(folder)
        known = self._folders.get(folder)
        return self._asked_for(path) if known is None else known

    def _ask_below(self, folder: str) -> None:
        """For all below a directory, if it is not known, and if one answer tells it."""
        if folder in self._folders or folder in self._large:
            return
        page = self._page(folder)
        if page is None:
            self._large.add(folder)
        elif not page:
            raise Unreadable.nothing_at(folder)
        else:
            self._keep(_by_folder(folder, page))

    def _page(self, path: str) -> list[ObjectMeta] | None:
        """All objects below a directory; None where one answer does not tell them, or may mislead."""
        store, key = self._split(path)
        with _refusals(path):
            try:
                page: list[ObjectMeta] = next(
                    iter(self.calls.list(store, f"{key}/" if key else None, chunk_size=_PAGE)), []
                )
            except InvalidPathError:  # of some object, wherever it lies
                return None
        return None if len(page) >= _PAGE or any(map(_may_be_folder, page)) else page

    def _keep(self, folders: Mapping[str, dict[str, _Listed | None]]) -> None:
        if len(self._folders) >= _FOLDERS_KEPT:
            self._folders.clear()
        self._folders |= folders

    def path_type(self, path: str) -> EntryType | None:
        """Nearly always it is a directory, whose listing is wanted next: so that is what is asked for."""
        try:
            self.listing(path)
        except Unreadable as error:
            if not error.missing:
                raise
            return super().path_type(path)
        return "dir"

    def file_stat(self, path: str) -> FileStat:
        """From the last listing of its directory, or asked of the store."""
        listed = self._told(path)
        return _directory() if listed is None else listed.status

    def _told(self, path: str) -> _Listed | None:
        """What is known of an object, None for a directory; Unreadable where nothing is."""
        folder, _, name = path.rstrip("/").rpartition("/")
        store, key = self._split(path)
        if path.rstrip("/") in self._folders:
            return None
        if "/" in key and self._once:
            if folder not in self._folders and "/" in key.rpartition("/")[0]:
                # Who asks for a file of one partition asks mostly for those of others, too.
                self._ask_below(folder.rpartition("/")[0])
            self._known_once(folder)
        siblings = self._folders.get(folder, {})
        if name in siblings:
            return siblings[name]
        if siblings and self._once:
            raise Unreadable.nothing_at(path)
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
        self, store: object, key: str, *, path: str, listed: _Listed, kept: _KeptObjects, calls: Calls
    ) -> None:
        super().__init__(path, listed.status.size)
        self._calls = calls
        self._own_name, self._md5_name = listed.names(path)
        self._kept = kept
        self._store = store
        self._key = key
        self._recent: deque[_Fetched] = deque([kept.get(self._own_name, _LAST) or _Fetched()])
        self._stream: Iterator[bytes] | None = None
        self._stream_at = 0

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
        # Who has read headers to the end goes back to the last batches, which may begin some blocks before.
        for block in reversed(self._recent):
            if block.start <= position < block.end:
                break
        else:
            self._recent.append(block := self._fetched(position, wanted))
            held = sum(len(each.content) for each in self._recent)
            while (held := held - len(self._recent[0].content)) >= _RECENT:
                self._recent.popleft()
        return block.content[position - block.start :][:wanted]

    def _fetched(self, position: int, wanted: int) -> _Fetched:
        """A block of the object with that position in it."""
        if self.size <= SMALL:
            return self._whole()
        if known := self._kept.get(self._own_name, _TO_ZEROS):
            zeros = _Fetched(memoryview(bytes(min(wanted, self.size - position))), position)
            return known if position < known.end else zeros
        # A first read may be the last one (the tail of an index); the second in a row is a scan.
        behind = position - self._recent[-1].end
        goes_on = wanted >= BLOCK or (position > 0 and 0 <= behind <= _LEAPT)
        if goes_on and (self._stream is not None or self.size - position > SMALL):
            return self._streamed(position)
        start = position - position % SMALL
        end = min(-(-(position + wanted) // SMALL) * SMALL, self.size)
        if kept := self._kept.get(self._own_name, start):
            return kept
        block = _Fetched(memoryview(self._asked(start, end - start)), start)
        if end - start <= SMALL:
            self._kept.keep(self._own_name, start, block)
        return block

    def _streamed(self, position: int) -> _Fetched:
        """What is there of an answer that goes on to the end; one that broke off is asked for again."""
        if self._stream is None or not self._stream_at <= position <= self._stream_at + _LEAPT:
            told = {"range": (position, self.size)}
            with _refusals(self.path):
                answer = self._calls.get(self._store, self._key, options=told)
                self._stream, self._stream_at = iter(answer.stream(min_chunk_size=BLOCK)), position
        with suppress(BaseError, OSError, ValueError):
            for piece in self._stream:
                start, self._stream_at = self._stream_at, self._stream_at + len(piece)
                if position < self._stream_at:
                    return _Fetched(memoryview(piece), start)
        self._stream = None
        return _Fetched(memoryview(self._asked(position, min(BLOCK, self.size - position))), position)

    def extents(self) -> Iterator[tuple[int, int]]:
        """Of an index all before the zeros at its end; who asks wants to know what is in all of it."""
        if not self._key.endswith(_INDEXES) or not SMALL < self.size <= _INDEX_LIMIT:
            yield from super().extents()
            return
        known = self._kept.get(self._own_name, _TO_ZEROS)
        if known is None:
            content = memoryview(self._asked(0, self.size))
            known = _Fetched(memoryview(bytes(content[: nonzero_size(content)])))
            self._kept.keep(self._own_name, _TO_ZEROS, known)
        if known.content:
            yield 0, known.end

    def close(self) -> None:
        """No answer is wanted any more. Who opens a large object again wants mostly what was read last."""
        self._stream = None
        if self.size > SMALL and self._recent[-1].content:
            self._kept.keep(self._own_name, _LAST, self._last_read())

    def _last_read(self) -> _Fetched:
        """The last block, with those that it follows."""
        blocks = [self._recent[-1]]
        for before in islice(reversed(self._recent), 1, None):
            if before.end != blocks[0].start:
                break
            blocks.insert(0, before)
        if len(blocks) == 1:
            return blocks[0]
        return _Fetched(memoryview(b"".join(each.content for each in blocks)), blocks[0].start)

    def _whole(self) -> _Fetched:
        """All of a small object, which is asked for once, and not at all where an equal one was."""
        for name in filter(None, (self._md5_name, self._own_name)):
            if (kept := self._kept.get(name, 0)) is not None:
                return kept
        whole = _Fetched(memoryview(self._asked(0, self.size)))
        # An ETag that looks like an MD5 may be something else: then it says nothing of other objects.
        told = (
            self._md5_name
            and hashlib.md5(whole.content, usedforsecurity=False).hexdigest() == self._md5_name[0]
        )
        self._kept.keep(self._md5_name if self._md5_name and told else self._own_name, 0, whole)
        return whole

    def _asked(self, start: int, length: int) -> Bytes:
        with _refusals(self.path):
            return self._calls.get_range(self._store, self._key, start=start, length=length)


def _by_folder(top: str, page: Iterable[ObjectMeta]) -> dict[str, dict[str, _Listed | None]]:
    """What is in each directory, of all objects below one."""
    scheme, _, rest = top.partition("://")
    bucket = f"{scheme}://{rest.partition('/')[0]}"
    folders: dict[str, dict[str, _Listed | None]] = {}
    for meta in page:
        folder, _, name = f"{bucket}/{meta['path']}".rpartition("/")
        folders.setdefault(folder, {})[name] = _listed(meta)
        while folder != top:
            folder, _, name = folder.rpartition("/")
            folders.setdefault(folder, {})[name] = None
    return folders


def _may_be_folder(meta: ObjectMeta) -> bool:
    """Whether an object may stand for a directory, as tools make one: no bytes, and no name of a file."""
    name = meta["path"].rpartition("/")[2]
    return not meta["size"] and name[:1] != "." and parse_file_name(name).kind == "other"


def _listed(meta: ObjectMeta) -> _Listed:
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
        words = _reason(str(error))
        if "403 Forbidden" in words:  # of a listing there is no exception of its own
            raise Unreadable(path, f"permission denied: {words}", errno.EACCES) from None
        raise Unreadable(path, f"the object store failed: {words}", errno.EIO) from None


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
    asked, _, answer = library_words(told).partition(" - ")
    parts = [*asked[:200].split(), *(["-", *answer[:200].split()] if answer else [])]
    return " ".join([*parts, *(f"({each})" for each in cause)])
