"""Files taken two at a time: one is copied while another is synced, or both while a processor is free."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from threading import Event, Lock
from typing import Final, TypeVar

from segmend.frozen import replace
from segmend.surgery.writing.work import Workplace
from segmend.threads import Threads

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
    return in_turn(work, lambda work, item, _: act(work, item), items)


def in_turn(
    work: Workplace,
    act: Callable[[Workplace, Item, Callable[[], Result | None]], Result],
    items: Collection[Item],
) -> list[Result]:
    """As `each`; `act` is also given what waits for the result of the item before, None for the first."""
    if len(items) < AT_ONCE:
        return [act(work, item, lambda: None) for item in items]
    failed = Event()
    shared = _shared(work, failed)

    def one(item: Item, before: Callable[[], Result | None]) -> Result:
        shared.check()
        with ExitStack() as otherwise:
            otherwise.callback(failed.set)
            result = act(shared, item, before)
            otherwise.pop_all()
        return result

    threads = Threads(AT_ONCE)
    waiting: list[Callable[[], Result]] = []
    try:
        for item in items:
            waiting.append(threads.submit(one, item, waiting[-1] if waiting else lambda: None))
        results = []
        for result in waiting:
            try:
                results.append(result())
            except _Stopped:
                continue  # the one that failed comes behind
        return results
    finally:
        # All are done, or one failed, or this thread was interrupted.
        failed.set()
        threads.stop()


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
