"""Hears of each call to the disk in this process, or in Spark's Python workers, which a file tells of.

Workers are told by the environment (`HANDS`), through a `sitecustomize` before them on the path: they count
together in a folder, and who makes the call that is due waits until what is to happen has happened.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from segmend.logdir import disk
from segmend.logdir.disk import FileReader

CALLS = ("listing", "names", "file_stat", "file_size", "size_and_allocated", "_open")
HANDS = "SEGMEND_TEST_HANDS"
PATIENCE = 30
_for_good = ExitStack()


@contextmanager
def heard(called: Callable[[object], None]) -> Iterator[None]:
    """In the block `called` is given the path of each call."""
    with ExitStack() as stack:
        for name in CALLS:
            real = getattr(disk, name)

            def seen(path: Any, *rest: Any, real: Any = real, **more: Any) -> Any:
                called(path)
                return real(path, *rest, **more)

            stack.enter_context(patch.object(disk, name, seen))
        really = FileReader._preadv

        def read(reader: FileReader, *rest: Any) -> int:
            called(reader.path)
            return really(reader, *rest)

        stack.enter_context(patch.object(FileReader, "_preadv", read))
        yield


class Together:
    """Calls counted by several processes in one folder."""

    def __init__(self, folder: Path) -> None:
        self._due, self._count = folder / "due", folder / "count"
        self._reached, self._done = folder / "reached", folder / "done"

    def begin(self, root: Path, due: int | None) -> None:
        """From now on, of what lies below `root`."""
        for each in (self._due, self._reached, self._done):
            each.unlink(missing_ok=True)
        self._count.write_text("0")
        self._due.write_text(f"{due or 0} {root}")

    @property
    def calls(self) -> int:
        return int(self._count.read_text())

    @property
    def is_reached(self) -> bool:
        return self._reached.exists()

    @property
    def was_in_a_task(self) -> bool:
        """Whether it was a worker that made the call that was due."""
        return self.is_reached and self._reached.read_text() != str(os.getpid())

    def done(self) -> None:
        """What was to happen has happened."""
        self._done.touch()

    def called(self, path: object) -> None:
        try:
            due, _, root = self._due.read_text().partition(" ")
        except OSError:
            return
        if not str(path).startswith(root):
            return
        with self._count.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            count = int(file.read()) + 1
            file.seek(0)
            file.write(str(count))
        if count == int(due):
            self._reached.write_text(str(os.getpid()))
            end = time.monotonic() + PATIENCE
            while not self._done.exists() and time.monotonic() < end:
                time.sleep(0.002)


@contextmanager
def in_workers(folder: Path) -> Iterator[Together]:
    """Spark that is begun in the block has workers that count in `folder`, with this process."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("from tests.rescue import looked_at\nlooked_at.begun()\n")
    paths = [str(folder), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    told = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), HANDS: str(folder)}
    together = Together(folder)
    with patch.dict(os.environ, told), heard(together.called):
        yield together


def begun() -> None:
    """In a process that finds this before it on the path: for as long as it lives."""
    _for_good.enter_context(heard(Together(Path(os.environ[HANDS])).called))
