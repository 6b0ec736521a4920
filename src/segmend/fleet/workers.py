"""The processes of a local driver: what they are forked of, how they begin, and when they end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Final, TypeVar

from segmend.fleet.no_pandas import NoPandas

T = TypeVar("T")
R = TypeVar("R")

_SELDOM: Final = (50_000, 20, 20)
"""Of a worker: it makes rows, of which nothing is garbage until they are written."""


_GATE: Final[list[Connection]] = []
"""Of a worker: one that can be read from while tasks may begin, and from which nobody reads."""


def cores() -> int:
    """The cores that we may use."""
    return len(os.sched_getaffinity(0))


def can_share() -> bool:
    """Whether the system gives us what processes share: not where /dev/shm is read-only, full or not there.

    A pool needs several locks, for all of which there must be room at once; it begins no process here.
    """
    try:
        ProcessPoolExecutor(1, multiprocessing.get_context("fork")).shutdown()
    except (ImportError, OSError):
        return False
    return True


class Workers:
    """A pool that begins nothing before all tasks are handed in.

    Python 3.11's goes through all tasks where a worker dies, and fails or never ends if one is added then.
    A pipe is the gate: unlike a lock, one who is killed at it holds up nobody.
    """

    def __init__(self, pool: ProcessPoolExecutor, gate: Connection, key: Connection) -> None:
        self._pool, self._gate, self._key = pool, gate, key

    def hand_in(self, function: Callable[[T], R], tasks: Sequence[T]) -> list[Future[R]]:
        """Raises `BrokenProcessPool` where a worker was killed before."""
        if self._gate.poll():
            self._gate.recv_bytes()
        try:
            return [self._pool.submit(_run, function, task) for task in tasks]
        finally:
            self._key.send_bytes(b"")

    def fork(self) -> None:
        """All of them, now: with the first task, and before threads of its own, the pool does so."""
        self._pool.submit(int)


@contextmanager
def forks_of_this(size: int | None = None) -> Iterator[Workers]:
    """Workers that are forks of this process as it is now, and import nothing again; as many as cores.

    For one that has loaded what they need and asked nobody for anything yet: of threads (Python's, pyarrow's,
    delta-rs') a fork has nothing but the locks.
    """
    with _workers(size or cores(), multiprocessing.get_context("fork")) as workers:
        with undisturbed():
            workers.fork()
        yield workers


@contextmanager
def fresh_workers(size: int, module: str) -> Iterator[Workers]:
    """Workers that share nothing with this process, which may have threads; `module` is what they import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", module])
    resource_tracker.ensure_running()  # it lets in the signal that is blocked here
    with undisturbed():
        forkserver.ensure_running()
    with _workers(size, context) as workers:
        yield workers


@contextmanager
def _workers(size: int, context: BaseContext) -> Iterator[Workers]:
    """Whoever leaves it waits for the tasks that run, but for those whom a Ctrl-C drives out."""
    (told, tell), (gate, key) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    initial = told, gate, dict(os.environ)
    with told, tell, gate, key, ProcessPoolExecutor(size, context, _begin, initial) as pool:
        try:
            yield Workers(pool, gate, key)
        except (KeyboardInterrupt, GeneratorExit):
            tell.send_bytes(b"")
            raise
        finally:
            # Of a run that is stopped all that waits would be done first.
            pool.shutdown(cancel_futures=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A Ctrl-C waits until the processes are there, to which it is never told."""
    handler, pressed = signal.getsignal(signal.SIGINT), []
    asked = callable(handler) and threading.current_thread() is threading.main_thread()
    if asked:  # another thread, which blocks nothing, may be the one that is told
        signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if asked:
            signal.signal(signal.SIGINT, handler)
        if pressed:
            signal.raise_signal(signal.SIGINT)


def _begin(told: Connection, gate: Connection, environ: Mapping[str, str]) -> None:
    """Of a worker: a Ctrl-C at a terminal, of which each process hears, is the driver's business.

    The environment is the driver's of today: the server of forks has that of the first run, perhaps without
    the keys of an object store, or with those of another one.
    """
    _GATE.append(gate)
    for name in {*os.environ} - environ.keys():
        del os.environ[name]
    os.environ.update(environ)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end, args=(multiprocessing.parent_process(), told), daemon=True).start()
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    sys.meta_path.insert(0, NoPandas())


def _run(function: Callable[[T], R], task: T) -> R:
    _GATE[0].poll(None)
    return function(task)


def _end(driver: BaseProcess, told: Connection) -> None:
    """When the driver says so, or is gone: else a worker of one that was killed waits for tasks for ever."""
    connection.wait([driver.sentinel, told])
    os._exit(1)
