"""Several things done at once, by threads.

`concurrent.futures` can do more, but brings `logging` and half of a compiler, and takes longer to import
than a small disk to repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

SLICE_BYTES: Final = 32 << 20
"""A slice of files for one thread: big enough that handing it over costs nothing."""
SLICE_FILES: Final = 256

Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class _Job(Generic[Result]):
    """Something to be done; what is raised while it is entered goes to whoever wants its result."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self.work = work
        self._value: Result | None = None
        self._error: BaseException | None = None
        self._undone = Lock()
        self._undone.acquire()

    def do(self) -> None:
        with self:
            self._value = self.work()

    def drop(self) -> None:
        """It will not be done: whoever waits for it is told so, and does not wait for ever."""
        self.__exit__(None, RuntimeError("stopped"), None)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        self._error = error
        self._undone.release()
        return True

    def result(self) -> Result:
        """Wait for it; gives what it gave, raises what it raised."""
        with self._undone:
            if self._error is not None:
                raise self._error
            return cast(Result, self._value)


class Threads:
    """Up to so many threads, begun as there is work for them. Who has them must `stop` them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._stopped = False
        self._threads: list[Thread] = []
        self._waiting: SimpleQueue[_Job[Any] | None] = SimpleQueue()

    def submit(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **named: Arguments.kwargs
    ) -> Callable[[], Result]:
        job = _Job(lambda: work(*args, **named))
        self._waiting.put(job)
        if len(self._threads) < self._most:
            # An iteration over checks that nobody ends keeps them; it must not keep the process.
            thread = Thread(target=self._run, daemon=True)
            thread.start()
            self._threads.append(thread)
        return job.result

    def _run(self) -> None:
        while (job := self._waiting.get()) is not None:
            if self._stopped:
                job.drop()
            else:
                job.do()

    def stop(self) -> None:
        """Begin nothing more, and wait for what was begun."""
        self._stopped = True
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()


class Jobs:
    """Slices of work: the first inline, since threads only cost a small disk, then in threads.

    They are begun in the order in which they came, so that one may wait for what came before it.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = Threads(threads)
        self._bytes = 0

    def submit(
        self, size: int, work: Callable[Arguments, Result], *args: Arguments.args, **named: Arguments.kwargs
    ) -> Callable[[], Result]:
        self._bytes += size
        if self._threads < 2 or self._bytes < SLICE_BYTES:
            result = work(*args, **named)
            return lambda: result
        return self._pool.submit(work, *args, **named)

    def stop(self) -> None:
        """Begin nothing more, and wait for what was begun."""
        self._pool.stop()


def slices(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Files of these sizes in slices for `Jobs`: the first of each, and the first of the next."""
    first = number = size = 0
    for number, more in enumerate(sizes, 1):
        size += more
        if size >= SLICE_BYTES or number - first >= SLICE_FILES:
            yield first, number
            first, size = number, 0
    if first < number:
        yield first, number


def done_by(most: int, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What `work` gives for each, in their order; raises what the first of them raised."""
    threads = Threads(most)
    try:
        waiting = [threads.submit(work, each) for each in items]
        return [result() for result in waiting]
    finally:
        threads.stop()
