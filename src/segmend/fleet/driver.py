"""What runs the tasks of an audit. Two of them: this process pool, and `segmend.spark.driver`."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any, Final, Protocol, TypeVar

from segmend.errors import SegmendError
from segmend.fleet.listing import Place
from segmend.fleet.no_pandas import NoPandas
from segmend.fleet.sql import Sql
from segmend.fleet.sqlite import SQLite

_SELDOM: Final = (50_000, 20, 20)
"""Of a worker: it makes rows, of which nothing is garbage until they are written."""

_LONGEST: Final = 60
"""Seconds until a worker no longer waits for a process that may be gone."""

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
    """Processes of this machine, no JVM. `processes` defaults to the cores we may use."""

    name = "local"

    def __init__(self, processes: int | None = None) -> None:
        self.cores = processes or len(os.sched_getaffinity(0))

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
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["__main__", function.__module__])
        size, handed_in = min(self.cores, len(tasks)), context.Event()
        with ProcessPoolExecutor(size, context, _begin, (handed_in,)) as pool:
            try:
                with _undisturbed():
                    try:
                        futures = [pool.submit(function, task) for task in tasks]
                    finally:
                        handed_in.set()
                for number, future in enumerate(as_completed(futures), 1):
                    yield _result(future)
                    if done:
                        done(number)
            finally:
                # Of a run that is stopped all that waits would be done first.
                pool.shutdown(cancel_futures=True)

    def ready(self, places: Sequence[Place], out: str | None = None) -> None:
        """Processes of this machine see what we see."""

    def sql(self, files: Mapping[str, Sequence[str]]) -> AbstractContextManager[Any]:
        return closing(SQLite(files))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A Ctrl-C waits until the workers are there; the process that they are forked of, too, is never told."""
    resource_tracker.ensure_running()  # it lets the signal in again
    handler, pressed = signal.getsignal(signal.SIGINT), []
    asked = callable(handler) and threading.current_thread() is threading.main_thread()
    if asked:  # another thread, which blocks nothing, may be the one that is told
        signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if asked:
            signal.signal(signal.SIGINT, handler)
        if pressed:
            signal.raise_signal(signal.SIGINT)


def _begin(handed_in: Event) -> None:
    """Of a worker: it ends by a Ctrl-C without a word, for the process that it works for has one.

    Not before all tasks are handed in: a pool that breaks meanwhile looks through them in a thread, and that
    dies of each that is added (Python 3.11).
    """
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
    handed_in.wait(_LONGEST)
    gc.set_threshold(*_SELDOM)
    sys.meta_path.insert(0, NoPandas())
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end_with(whom: BaseProcess | None) -> None:
    """Else a worker whose driver was killed waits for tasks for ever, and what it was forked of for it."""
    if whom is not None:
        whom.join()
        os._exit(1)


def _result(future: Future[R]) -> R:
    """What stops a task is no matter of the files it reads: no space for its tables, no memory."""
    try:
        return future.result()
    except BrokenProcessPool:
        raise SegmendError("a worker process was killed; is there enough memory?") from None
    except OSError as error:
        raise SegmendError(f"a task failed: {error}") from error
