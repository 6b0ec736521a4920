"""Copies of small trees, made again and again: what they are made of is read once."""

import functools
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.golden.shared import is_golden
from tests.golden.unpack import unpack
from tests.memory import swift

Copied = list[tuple[str, os.stat_result, bytes | None]]
"""All of a directory, itself first: path from there, status, of a file its bytes."""


def tree_of(folder: Path) -> Copied:
    """What a copy of it is made of, name by name in their order."""
    found: Copied = [("", folder.stat(), None)]
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            found += [(os.path.join(path.name, name), *kept) for name, *kept in tree_of(path)]
        else:
            found.append((path.name, *content(path)))
    return found


@functools.lru_cache(maxsize=8)
def remembered(folder: Path) -> Copied:
    """The same of a tree that nobody changes."""
    return tree_of(folder)


def content(path: Path) -> tuple[os.stat_result, bytes]:
    """The status of a file, and its bytes: of a preallocated index without the zeros that it ends with."""
    status = path.stat()
    with open(path, "rb", buffering=0) as stream:
        if status.st_size <= 1 << 20:
            return status, stream.read()
        data = stream.read(1 << 16)
        with suppress(OSError):  # behind it there is but a hole
            at = os.lseek(stream.fileno(), len(data), os.SEEK_DATA)
            data += bytes(at - len(data)) + stream.read().rstrip(b"\0")
    return status, data


def make_tree(target: Path, copied: Copied) -> None:
    """Make it: a file system that keeps the order of names lists it the same."""
    for name, status, data in copied:
        if data is None:
            os.makedirs(f"{target}/{name}", exist_ok=True)
        else:
            make_file(f"{target}/{name}", status, data)
    for name, status, _ in (each for each in reversed(copied) if each[2] is None):
        given(f"{target}/{name}", status)  # what came into it changed its time


def make_file(path: str, status: os.stat_result, data: bytes) -> None:
    """A copy with its times; zeros that were left out are a hole."""
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        assert os.write(out, data) == len(data), "no room"
        if len(data) < status.st_size:
            os.truncate(out, status.st_size)
        given(out, status)
    finally:
        os.close(out)


def given(path: str | int, status: os.stat_result) -> None:
    """Give it the mode and the times of another."""
    os.chmod(path, status.st_mode & 0o7777)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@functools.lru_cache(maxsize=8)
def _packed(archive: Path) -> list[tuple[str, os.stat_result, list[tuple[int, bytes]]]]:
    """All that an archive holds, name by name in their order: of a file its bytes, without the holes."""
    with swift() as work:
        paths = sorted(unpack(archive, work).rglob("*"))
        return [(str(path.relative_to(work)), path.stat(), [*_extents(path)]) for path in paths]


def _extents(path: Path) -> Iterator[tuple[int, bytes]]:
    """Where a file has data, and which."""
    if path.is_dir():
        return
    with open(path, "rb") as stream, suppress(OSError):  # ENXIO: no data from there on
        end = 0
        while True:
            at = os.lseek(stream.fileno(), end, os.SEEK_DATA)
            end = os.lseek(stream.fileno(), at, os.SEEK_HOLE)
            yield at, os.pread(stream.fileno(), end - at, at)


def fresh(archive: Path, into: Path) -> Path:
    """Unpack it as `unpack` does; who wants it again and again has it from memory."""
    packed = _packed(archive)
    into.mkdir(parents=True, exist_ok=True)
    for name, status, extents in packed:
        path = f"{into}/{name}"
        if stat.S_ISDIR(status.st_mode):
            os.makedirs(path, exist_ok=True)
            continue
        out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            assert all(os.pwrite(out, data, at) == len(data) for at, data in extents), "no room"
            os.truncate(out, status.st_size)
            os.utime(out, ns=(status.st_mtime_ns, status.st_mtime_ns))
        finally:
            os.close(out)
    for name, status, _ in reversed(packed):
        if stat.S_ISDIR(status.st_mode):
            os.utime(f"{into}/{name}", ns=(status.st_mtime_ns, status.st_mtime_ns))
    return into


def copy_into(source: Path, target: Path) -> None:
    """A copy with modes and times, over and beside what is there."""
    make_tree(target, tree_of(source))


def copy_tree(source: Path, target: Path) -> None:
    """A copy in the place of what is there, with holes and times; what is golden is read once a process."""
    shutil.rmtree(target, ignore_errors=True)
    if is_golden(source):
        make_tree(target, remembered(source))
    else:
        target.mkdir(parents=True)
        subprocess.run(["cp", "-a", "--sparse=always", f"{source}/.", str(target)], check=True)


def copy_file(source: Path, target: Path) -> None:
    """The same of a file."""
    make_file(str(target), *content(source))
