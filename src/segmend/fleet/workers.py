"""The processes of a local driver: what they are forked of, how they begin, and when they end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any, Final

from segmend.fleet.no_pandas import NoPandas

_SELDOM: Final = (50_000, 20, 20)
"""Of a worker: it makes rows, of which nothing is garbage until they are written."""

_LONGEST: Final = 60
"""Seconds until a worker no longer waits for a process that may be gone."""

_FILES: Final = 1 << 16
"""Above every number of an open file of a process that has done nothing yet; limits may be a billion."""


@contextmanager
def forks_of_this() -> Iterator[None]:
    """Workers that are started meanwhile are forks of this process as it is now, and import nothing again.

    For one that has loaded what they need and asked nobody for anything yet: of threads (Python's, pyarrow's,
    delta-rs') a fork has nothing but the locks.
    """
    resource_tracker.ensure_running()
    starts = util.spawnv_passfds
    util.spawnv_passfds = _fork  # type: ignore[assignment]
    try:
        with undisturbed():
            pass
    finally:
        util.spawnv_passfds = starts
    try:
        yield
    finally:
        forkserver._forkserver._stop()  # type: ignore[attr-defined]


def _fork(_program: str, _arguments: Sequence[str], passed: Sequence[int]) -> int:
    """Of the standard library's fork server: what it would start a Python for, which imports all again."""
    process = os.fork()
    if process:
        return process
    try:
        gc.freeze()  # of what is here nothing is put away, and closes a file that has its number by then
        for low, high in pairwise((2, *sorted(passed), _FILES)):
            os.closerange(low + 1, high)
        listener, alive, *key = passed
        named: dict[str, Any] = dict(zip(("authkey_r",), key, strict=False))  # from Python 3.14 on
        forkserver.main(listener, alive, [], **named)
    finally:
        os._exit(0)


@contextmanager
def undisturbed() -> Iterator[None]:
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


def begin(handed_in: Event) -> None:
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
