"""Files taken two at a time: one is copied while another is synced, or both while a processor is free."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from threading import Event, Lock
from typing import TYPE_CHECKING, Final, TypeVar

from segmend.frozen import replace
from segmend.surgery.writing.work import Workplace

if TYPE_CHECKING:
    from concurrent.futures import Future

AT_ONCE: Final = 2
"""One is copied while the other is synced. Not measured on disks with a moving head, which more make seek."""
Item = TypeVar("Item")
Result = TypeVar("Result")


class _Stopped(Exception):
    """Another one failed."""


def each(work: Workplace, act: Callable[[Workplace, Item], Result], items: Collection[Item]) -> list[Result]:
    """What `act` gives for each of the items, in their order.

    After an error no further one is begun; those under way end at their next `check`, and are waited for.
    Raises the error of the first item, in their order, that has one of its own.
    """
    if len(items) < AT_ONCE:
        return [act(work, item) for item in items]
    failed = Event()
    shared = _shared(work, failed)

    def one(item: Item) -> Result:
        shared.check()
        return act(shared, item)

    def note(done: Future[Result]) -> None:
        if not done.cancelled() and done.exception() is not None:
            failed.set()

    # Imported here: most plans have no step of several files, and it brings `logging`.
    threads = import_module("concurrent.futures")
    with threads.ThreadPoolExecutor(AT_ONCE) as pool:
        futures: list[Future[Result]] = [pool.submit(one, item) for item in items]
        for future in futures:
            future.add_done_callback(note)
        try:
            threads.wait(futures, return_when=threads.FIRST_EXCEPTION)
        finally:
            # All are done, or one failed, or this thread was interrupted.
            failed.set()
            pool.shutdown(cancel_futures=True)
    _raise_first(futures)
    return [future.result() for future in futures]


def _shared(work: Workplace, failed: Event) -> Workplace:
    """The same for several threads: who is told of bytes is told by one after the other."""
    lock = Lock()

    def check() -> None:
        work.check()
        if failed.is_set():
            raise _Stopped

    def tell(count: int) -> None:
        with lock:
            work.tell(count)

    return replace(work, check=check, tell=tell)


def _raise_first(futures: Collection[Future[Result]]) -> None:
    errors = [future.exception() for future in futures if not future.cancelled()]
    for error in errors:
        if error is not None and not isinstance(error, _Stopped):
            raise error
