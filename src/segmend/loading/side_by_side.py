"""The directories of one log dir, loaded in order; where that takes long, the later ones by other processes.

What comes of it is the same to the byte: each process is a fork of this one, told what it may not know (how
much may be read beyond what the start reads) by being asked what it would read; where that would be granted,
or a process fails, the directory is loaded here. This process begins at the front and hands out pieces from
the end, until they meet: whatever each directory takes, all end at about the same time.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import zip_longest
from operator import attrgetter
from typing import Final

from segmend.frozen import dataclass, field, frozen, replace
from segmend.loading.beside_a_broker import load_settled
from segmend.loading.dirs import DirState
from segmend.loading.reads import Budget
from segmend.loading.replicas import Loaded, Situation
from segmend.loading.timing.estimate import LoadJob
from segmend.logdir.as_user import AsUser
from segmend.logdir.partition_dir import PartitionDir

LONG: Final = 0.15
"""Seconds for which this process would still load alone that are worth the begin of others."""
_MOST_WORKERS: Final = 4
_TELLING: Final = 16
"""Directories by which it is guessed what the others take."""
_AT_ONCE: Final = 8
"""Directories that another process is given at once."""
_AHEAD: Final = 2
"""Pieces that it is given before it has answered, so that it need not wait for this one."""
_SURELY: Final = 1.25
_RARELY: Final = 8
_WORD: Final = 4

_NAMES = tuple(name for name in vars(Loaded)["__slots__"] if name != "dir_state")
_VALUES = attrgetter(*_NAMES)


@dataclass(slots=True, kw_only=True)
class _Asked(Budget):
    """Grants nothing, and remembers what was asked for."""

    sizes: list[int] = field(default_factory=list)

    def takes(self, size: int) -> bool:
        self.sizes.append(size)
        return False


@frozen
class _Told:
    """One load in another process: the values of `Loaded`, and what it changed besides."""

    values: tuple[object, ...]
    job: LoadJob
    asked: tuple[int, ...]
    attributes: tuple[int, int, int]
    refused: dict[str, str]
    rules: tuple[tuple[int, ...], ...]
    """What was asked of a release that is not known (`Release.asked`), and by no load before it there."""


def load_directories(
    state: DirState,
    partitions: Sequence[PartitionDir],
    situation: Situation,
    view: AsUser | None,
    workers: int,
) -> Iterator[Loaded]:
    """Load these of a dir; `view` is the file system that counts what it was not asked."""
    budget, workers = situation.budget, min(workers, _MOST_WORKERS)
    shared = workers > 1 and not budget.unlimited and threading.active_count() == 1
    begun, granted, reading = time.monotonic(), budget.segments, 0
    for number, partition in enumerate(partitions):
        left = len(partitions) - number
        if shared and number >= _TELLING and (time.monotonic() - begun) * left > LONG * number:
            spent = (granted - budget.segments) * left > budget.segments * number * workers * _SURELY
            if budget.spent or spent or reading * _RARELY <= number:
                yield from _shared(state, partitions[number:], situation, view, workers)
                return
        before = budget.segments
        loaded = load_settled(state, partition.afresh(), situation)
        reading += budget.segments < before
        yield loaded


def _shared(
    state: DirState,
    partitions: Sequence[PartitionDir],
    situation: Situation,
    view: AsUser | None,
    workers: int,
) -> Iterator[Loaded]:
    size = max(min(len(partitions) // (_AT_ONCE * workers), _AT_ONCE), 1)
    pieces = [partitions[at : at + size] for at in range(0, len(partitions), size)]
    forks = [_Fork(partial(_apart, state, pieces, situation, view)) for _ in range(workers - 1)]
    given: dict[int, _Fork] = {}
    try:
        for number, piece in enumerate(pieces):
            answer = given[number].result(number) if number in given else None
            for partition, one in zip_longest(piece, answer or ()):
                _hand_out(forks, given, range(number + 1, len(pieces)))
                yield _taken(state, partition, situation, view, one)
    finally:
        for fork in forks:
            fork.end()


def _hand_out(forks: Sequence[_Fork], given: dict[int, _Fork], pieces: range) -> None:
    """Give each process the last pieces that none has."""
    for fork in forks:
        fork.hear()
        while fork.wants_more and len(given) < len(pieces):
            number = pieces[-1 - len(given)]
            given[number] = fork
            fork.give(number)


def _apart(
    state: DirState,
    pieces: Sequence[Sequence[PartitionDir]],
    situation: Situation,
    view: AsUser | None,
    number: int,
) -> list[_Told]:
    """In the other process."""
    told, release = [], situation.broker.release
    for partition in pieces[number]:
        budget, rules = _Asked(), set(release.asked or ())
        before = (0, 0, 0) if view is None else view.attributes
        if view is not None:
            view.refused = {}
        loaded = load_settled(state, partition.afresh(), replace(situation, budget=budget))
        asked, unasked, immutable = before if view is None else view.attributes
        told.append(
            _Told(
                values=_VALUES(loaded), job=state.jobs.pop(), asked=tuple(budget.sizes),
                attributes=(asked - before[0], unasked - before[1], immutable - before[2]),
                refused={} if view is None else view.refused,
                rules=tuple((release.asked or rules) - rules),
            )
        )  # fmt: skip
    return told


def _taken(
    state: DirState, partition: PartitionDir, situation: Situation, view: AsUser | None, told: _Told | None
) -> Loaded:
    """What the other process found, where it stands."""
    budget = situation.budget
    if (
        told is None
        or (not budget.spent and any(size <= budget.bytes for size in told.asked))
        or not (view is None or view.would_find(*told.attributes))
    ):
        return load_settled(state, partition.afresh(), situation)
    if (noted := situation.broker.release.asked) is not None:
        noted.update(told.rules)
    budget.refused += len(told.asked)
    state.jobs.append(told.job)
    if view is not None:
        view.refused = told.refused | view.refused
    return Loaded(dir_state=state, **dict(zip(_NAMES, told.values, strict=True)))


class _Fork:
    """A process that works off what it is given by number, in turn, and ends with this one."""

    def __init__(self, work: Callable[[int], list[_Told]]) -> None:
        self._pickle = import_module("pickle")  # here: few brokers take as long
        # This process keeps both ends of the first: who writes to nobody is ended by the system.
        (self._numbers, self._to), (self._from, into) = os.pipe(), os.pipe()
        self._waiting: deque[int] = deque()
        self._heard = bytearray()
        self._results: dict[int, list[_Told]] = {}
        self._ended, self._pid = False, -1
        try:
            self._pid = os.fork()
        except OSError:  # no more processes are allowed
            self._ended = True
        if self._pid == 0:
            with suppress(BaseException), os.fdopen(into, "wb") as answers:
                os.close(self._to)
                while number := os.read(self._numbers, _WORD):
                    answer = self._pickle.dumps(work(int.from_bytes(number)), self._pickle.HIGHEST_PROTOCOL)
                    answers.write(len(answer).to_bytes(_WORD) + answer)
                    answers.flush()
            os._exit(0)
        os.close(into)
        os.set_blocking(self._from, False)

    @property
    def wants_more(self) -> bool:
        return not self._ended and len(self._waiting) < _AHEAD

    def give(self, number: int) -> None:
        self._waiting.append(number)
        os.write(self._to, number.to_bytes(_WORD))

    def result(self, number: int) -> list[_Told] | None:
        """What it found; None if it did not get that far."""
        os.set_blocking(self._from, True)
        while number not in self._results and not self._ended:
            self.hear()
        os.set_blocking(self._from, False)
        return self._results.pop(number, None)

    def hear(self) -> None:
        """Take what it has answered."""
        with suppress(BlockingIOError):
            data = os.read(self._from, 1 << 16)
            self._ended = not data
            self._heard += data
        while (end := _WORD + int.from_bytes(self._heard[:_WORD])) <= len(self._heard) and self._heard:
            self._results[self._waiting.popleft()] = self._pickle.loads(self._heard[_WORD:end])
            del self._heard[:end]

    def end(self) -> None:
        """Whether it is done or not."""
        for each in (self._numbers, self._to, self._from):
            os.close(each)
        if self._pid > 0:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
