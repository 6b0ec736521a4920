"""Each of the releases that a broker's disks may be of, where they do not tell which.

No list says which changes matter: a release that was guessed notes by which of them an answer was given
(`Release.asked`). These part what lies between the oldest and the newest; one of each part is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from segmend.logdir.release import Asked, Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.gates import refused_metadata

Answer = TypeVar("Answer")


def each_release(
    broker: BrokerDirs, ask: Callable[[BrokerDirs], Answer]
) -> Iterator[tuple[BrokerDirs, Answer]]:
    """The broker as it is taken for, and its answer; then those with whose rules it may be another one.

    Each answer is to be complete when the next is taken. Who could not read the metadata did not write it.
    """
    yield broker, ask(broker)
    guess, asked = broker.guess, broker.release.asked
    if asked is None:
        return
    done = [broker.release]
    while True:
        parts = [
            guess.oldest.padded,
            *sorted(each for each in _padded(asked) if guess.oldest < each <= guess.newest),
        ]
        ends = [*parts[1:], (99, 0, 0, 0)]
        missing = (
            low for low, end in zip(parts, ends, strict=True) if not any(low <= r.padded < end for r in done)
        )
        low = next(missing, None)
        if low is None:
            return
        other = broker.of_release(Release(_short(low), asked))
        done.append(other.release)
        if refused_metadata(other) is None or refused_metadata(broker) is not None:
            yield other, ask(other)


def _padded(asked: Asked) -> set[tuple[int, int, int, int]]:
    return {Release(each).padded for each in asked}


def _short(numbers: tuple[int, int, int, int]) -> tuple[int, ...]:
    """As one writes a release: without zeros at its end."""
    return next(numbers[:n] for n in range(2, 5) if not any(numbers[n:]))
