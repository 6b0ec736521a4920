"""The processes of a local driver: what they are forked of, how they begin, and when they end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Final

from segmend.fleet.no_pandas import NoPandas

_SELDOM: Final = (50_000, 20, 20)
"""Of a worker: it makes rows, of which nothing is garbage until they are written."""


def cores() -> int:
    """The cores that we may use."""
    return len(os.sched_getaffinity(0))


@contextmanager
def forks_of_this(size: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Workers that are forks of this process as it is now, and import nothing again; as many as cores.

    For one that has loaded what they need and asked nobody for anything yet: of threads (Python's, pyarrow's,
    delta-rs') a fork has nothing but the locks.
    """
    with _pool(size or cores(), multiprocessing.get_context("fork")) as pool:
        with undisturbed():
            pool.submit(int)  # with the first task, and before its own threads, it forks all of them
        yield pool


@contextmanager
def fresh_workers(size: int, module: str) -> Iterator[ProcessPoolExecutor]:
    """Workers that share nothing with this process, which may have threads; `module` is what they import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", module])
    resource_tracker.ensure_running()  # it lets in the signal that is blocked here
    with undisturbed():
        forkserver.ensure_running()
    with _pool(size, context) as pool:
        yield pool


@contextmanager
def _pool(size: int, context: BaseContext) -> Iterator[ProcessPoolExecutor]:
    """Whoever leaves it waits for the tasks that run, but for those whom a Ctrl-C drives out."""
    told, tell = context.Pipe(duplex=False)
    with told, tell, ProcessPoolExecutor(size, context, _begin, (told,)) as pool:
        try:
            yield pool
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


def _begin(told: Connection) -> None:
    """Of a worker: a Ctrl-C at a terminal, of which each process hears, is the driver's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end, args=(multiprocessing.parent_process(), told), daemon=True).start()
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    sys.meta_path.insert(0, NoPandas())


def _end(driver: BaseProcess, told: Connection) -> None:
    """When the driver says so, or is gone: else a worker of one that was killed waits for tasks for ever."""
    connection.wait([driver.sentinel, told])
    os._exit(1)
