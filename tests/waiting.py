"""Waiting for what others do: brokers, Spark, a store."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.lab.errors import LabError

Answer = TypeVar("Answer")


def until(
    what: str,
    ask: Callable[[], Answer],
    seconds: float = 60,
    good: Callable[[Answer], object] = bool,
    *,
    every: float = 0.1,
    despite: type[Exception] | tuple[type[Exception], ...] = (),
    strict: bool = True,
) -> Answer:
    """The first answer that is good; with an error in `despite` it is asked again.

    Raises `LabError`, which tells what was waited for and what was answered last; who is not `strict` gets
    the last answer, or its error.
    """
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        try:
            answer = ask()
            if good(answer) or (late and not strict):
                return answer
            told = repr(answer)
        except despite as error:
            if late and not strict:
                raise
            told = repr(error)
        if late:
            raise LabError(f"{what}: not within {seconds:.0f} s, at last {told:.500}")
        time.sleep(every)


def steady(ask: Callable[[], Answer], quiet: float, at_most: float, *, every: float = 0.5) -> Answer:
    """The answer that was the same for so many seconds, or the last one."""
    begun = since = time.monotonic()
    last = ask()
    while time.monotonic() < min(since + quiet, begun + at_most):
        time.sleep(every)
        if (answer := ask()) != last:
            last, since = answer, time.monotonic()
    return last
