"""The files of an OUT, which is a directory, or a prefix in an object store such as s3://bucket/report.

Whoever writes or reads tables gives paths, and need not know which of both it is. A file is there whole
or not at all.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from segmend.errors import SegmendError, UsageError, library_words, system_words
from segmend.fleet.misread import refuse_misread
from segmend.fleet.remote import store_of
from segmend.frozen import frozen
from segmend.logdir.file_system import FileStat, Unreadable

MARK: Final = ".segmend-probe-"
"""Files of this beginning are there for a moment, to see who sees them."""
_OF_URLS: Final = r"%#?[]\^|"


@frozen
class StoredFile:
    """A file in a directory of OUT; when it was written, in seconds."""

    path: str
    bytes: int
    written: float

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rpartition("/")[2]


def is_remote(path: str) -> bool:
    """Whether an object store has it."""
    return "://" in path


def make_folder(out: str) -> None:
    """Make sure that files can be written there; SegmendError where that is not possible."""
    if is_remote(out):
        _refuse_url(out)
        mark = f"{out}/{MARK}{uuid.uuid4().hex}"
        try:
            store_of(out).put(mark, b"")
            store_of(out).remove(mark)
        except Unreadable as error:
            raise SegmendError(f"--out {out}: {error.reason}") from error
        return
    refuse_misread(out)
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as error:
        raise SegmendError(f"--out {out}: {error.strerror}") from error
    if not os.access(out, os.W_OK):
        raise SegmendError(f"--out {out}: no permission to write there")


def _refuse_url(out: str) -> None:
    """Delta's library takes the name for a URL, and its files would lie at another place than ours."""
    for each in _OF_URLS:
        if each in out:
            raise UsageError(f"--out {out}: {each} in the name of an object store's OUT is read as a URL's")


@contextmanager
def _written(path: str) -> Iterator[None]:
    """SegmendError where a disk does not take a file, for it is full; what a store says is one already."""
    try:
        yield
    except OSError as error:
        raise SegmendError(str(Unreadable.of(error, path))) from error


def write_table(path: str, table: pa.Table) -> int:
    """Write a Parquet file; how many bytes it has. SegmendError where that is not possible."""
    with _written(path):
        return _write_table(path, table)


def _write_table(path: str, table: pa.Table) -> int:
    if is_remote(path):
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer, compression="zstd")
        content: bytes = buffer.getvalue().to_pybytes()
        store_of(path).put(path, content)
        return len(content)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(table, os.path.abspath(path), compression="zstd")  # see `source`
    return os.stat(path).st_size


def save(path: str, text: str) -> None:
    """Write a file, whole or not at all; SegmendError where that is not possible."""
    save_bytes(path, text.encode("utf-8", errors="backslashreplace"))


def save_bytes(path: str, content: bytes) -> None:
    """The same of bytes."""
    with _written(path):
        if is_remote(path):
            store_of(path).put(path, content)
            return
        new = f"{path}.{uuid.uuid4().hex[:6]}.new"  # another audit may write it, too
        try:
            with open(new, "wb") as file:
                file.write(content)
            os.replace(new, path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            raise


def source(path: str) -> object:
    """What pyarrow reads the file from: it would take a relative path such as `a:1/x` for a URI."""
    return pa.BufferReader(content(path)) if is_remote(path) else os.path.abspath(path)


def content(path: str) -> bytes:
    if is_remote(path):
        return store_of(path).content(path)
    with open(path, "rb") as file:
        return file.read()


def size(path: str) -> int:
    return store_of(path).file_size(path) if is_remote(path) else os.path.getsize(path)


def names(folder: str) -> list[str]:
    """What lies right in it, by name: of files of a thousand runs none is looked at."""
    if is_remote(folder):
        return [path.rpartition("/")[2] for path, _ in _listed(folder)]
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SegmendError(f"{folder}: {system_words(error)}") from error


def entries(folder: str) -> Iterator[StoredFile]:
    """The files right in it; none where it is not there."""
    if is_remote(folder):
        yield from (StoredFile(path=p, bytes=s.size, written=s.mtime_ns / 1e9) for p, s in _listed(folder))
        return
    try:
        with os.scandir(folder) as listed:
            for each in listed:
                if each.is_file(follow_symlinks=False):
                    status = each.stat()
                    yield StoredFile(path=each.path, bytes=status.st_size, written=status.st_mtime)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SegmendError(f"{folder}: {system_words(error)}") from error


def _listed(folder: str) -> Iterator[tuple[str, FileStat]]:
    store = store_of(folder)
    try:
        names = store.listing(folder)
    except Unreadable as error:
        if not error.missing:
            raise
        return
    for name, kind in names.items():
        if kind == "file":
            yield f"{folder}/{name}", store.file_stat(f"{folder}/{name}")


def remove(path: str) -> None:
    if is_remote(path):
        store_of(path).remove(path)
    else:
        os.unlink(path)


def one_line(error: Exception) -> str:
    """What a library of tables says, which likes colours, many lines and the way it came."""
    return library_words(str(error))[:300]
