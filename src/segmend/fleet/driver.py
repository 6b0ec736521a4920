"""What runs the tasks of an audit. Two of them: this process pool, and `segmend.spark.driver`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from typing import Protocol, TypeVar

from segmend.errors import SegmendError
from segmend.fleet.listing import Place
from segmend.fleet.sql import Sql
from segmend.fleet.sqlite import SQLite
from segmend.fleet.workers import Workers, can_share, cores, fresh_workers, undisturbed

T = TypeVar("T")
R = TypeVar("R")


class Driver(Protocol):
    """Runs plain functions on plain values somewhere, and joins the files they wrote."""

    name: str
    cores: int

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], done: Callable[[int], None] | None = None
    ) -> Iterator[R]:
        """The results in any order; `done` is told how many tasks are finished."""

    def ready(self, places: Sequence[Place], out: str | None = None) -> None:
        """Raise `SegmendError` where tasks would not see these log dirs, or not share `out` with us."""

    def sql(self, files: Mapping[str, Sequence[str]]) -> AbstractContextManager[Sql]:
        """An SQL engine over the Parquet files of each table."""


class LocalDriver:
    """Processes of this machine, no JVM, as many as cores if not told; `workers` are those that are there.

    Where the system lets none share anything, this one alone.
    """

    name = "local"

    def __init__(self, processes: int | None = None, workers: Workers | None = None) -> None:
        self.cores = (processes or cores()) if can_share() else 1
        self._workers = workers

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], done: Callable[[int], None] | None = None
    ) -> Iterator[R]:
        """Run in processes; one task alone runs right here."""
        if len(tasks) <= 1 or self.cores == 1:
            for number, task in enumerate(tasks, 1):
                yield function(task)
                if done:
                    done(number)
            return
        # Threads of pyarrow and delta-rs are not safe across a fork.
        anew = partial(fresh_workers, min(self.cores, len(tasks)), function.__module__)
        with nullcontext(self._workers) if self._workers else anew() as workers:
            with undisturbed(), _none_killed():
                futures = workers.hand_in(function, tasks)
            try:
                for number, future in enumerate(as_completed(futures), 1):
                    yield _result(future)
                    if done:
                        done(number)
            except _WorkerKilled:
                # The broken pool tells each future; one that is cancelled meanwhile ends its thread loudly.
                futures = []
                raise
            finally:
                for future in futures:
                    future.cancel()

    def ready(self, places: Sequence[Place], out: str | None = None) -> None:
        """Processes of this machine see what we see."""

    def sql(self, files: Mapping[str, Sequence[str]]) -> AbstractContextManager[Sql]:
        return closing(SQLite(files))


def _result(future: Future[R]) -> R:
    """What stops a task is no matter of the files it reads: no space for its tables, no memory."""
    try:
        with _none_killed():
            return future.result()
    except OSError as error:
        raise SegmendError(f"a task failed: {error}") from error


class _WorkerKilled(SegmendError):
    """Of a pool that is broken by it."""


@contextmanager
def _none_killed() -> Iterator[None]:
    """_WorkerKilled where a worker was killed, now or while it waited for tasks."""
    try:
        yield
    except BrokenProcessPool:
        raise _WorkerKilled("a worker process was killed; is there enough memory?") from None
