"""Folders in memory. A run that is killed removes nothing: what it left goes when the next one begins."""

import getpass
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.removal import remove

MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes; they take up 2 GB."""
MADE = re.compile(r"segmend-[a-z]+-(\d+)(?:-\w+)?")


def prefix(what: str) -> str:
    """How the name of such a folder begins: it tells whose it is."""
    return f"segmend-{what}-{os.getpid()}-"


def may_be_used() -> bool:
    """Whether folders may be made there."""
    return os.access(MEMORY, os.W_OK | os.X_OK)


def has_room() -> bool:
    """And whether all files of the tests have room there."""
    return may_be_used() and shutil.disk_usage(MEMORY).free > ROOM


def another_disk(than: Path) -> Path | None:
    """Where files may be made on another file system, if there is one."""
    places = (MEMORY, Path("/var/tmp"), Path("/tmp"))
    usable = (place for place in places if os.access(place, os.W_OK | os.X_OK))
    return next((place for place in usable if place.stat().st_dev != than.stat().st_dev), None)


@contextmanager
def swift(home: Path | None = None) -> Iterator[Path]:
    """A folder in memory, if that can be: for trees that are made and removed a thousand times."""
    folder = Path(tempfile.mkdtemp(prefix=prefix("swift"), dir=MEMORY if has_room() else home))
    try:
        yield folder
    finally:
        remove(folder)


def remove_leftovers(memory: Path) -> None:
    """Remove what processes of this user made there that are no more."""
    for folder, maker in _made(memory):
        if not _runs(maker):
            with suppress(OSError):  # another run may be at it, too
                remove(folder)


def _made(memory: Path) -> Iterator[tuple[Path, int]]:
    """The folders of this user's tests, and the process that made each."""
    for folder in memory.glob("segmend-*"):
        if match := MADE.fullmatch(folder.name):
            with suppress(FileNotFoundError):  # another run removes them, too
                if folder.lstat().st_uid == os.geteuid():
                    yield folder, int(match[1])
    # Those of pytest itself, which takes the lock of a killed run for alive for three days.
    for lock in memory.glob(f"pytest-of-{getpass.getuser()}/pytest-*/.lock"):
        with suppress(OSError, ValueError):
            yield lock.parent, int(lock.read_text())


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
