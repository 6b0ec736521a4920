"""Several things done at once, by threads.

`concurrent.futures` can do more, but brings `logging` and half of a compiler, and takes longer to import
than a small disk to repair.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def done_by(threads: int, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What `work` gives for each, in their order; then raises what it raised first."""
    waiting = deque(enumerate(items))
    results: dict[int, Result] = {}
    failed: list[BaseException] = []

    def run() -> None:
        while not failed:
            try:
                number, item = waiting.popleft()
            except IndexError:
                return
            try:
                results[number] = work(item)
            except BaseException as error:
                failed.append(error)

    others: list[Thread] = []
    try:
        for _ in range(min(threads, len(waiting)) - 1):
            others.append(Thread(target=run))
            others[-1].start()
        run()
    finally:
        waiting.clear()
        for each in (thread for thread in others if thread.ident is not None):
            each.join()
    if failed:
        raise failed[0]
    return [results[number] for number in sorted(results)]
