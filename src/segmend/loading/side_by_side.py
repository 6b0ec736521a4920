"""The directories of one log dir, loaded in order; of many, the later ones in processes of their own.

What comes of it is the same to the byte: each process is a fork of this one, told what it may not know (how
much may be read beyond what the start reads) by being asked what it would read; where that would be granted,
or a process fails, the directory is loaded here.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import zip_longest
from operator import attrgetter
from typing import Any

from segmend.frozen import dataclass, field, frozen, replace
from segmend.loading.beside_a_broker import load_settled
from segmend.loading.dirs import DirState
from segmend.loading.reads import Budget
from segmend.loading.replicas import Loaded, Situation
from segmend.loading.timing.estimate import LoadJob
from segmend.logdir.as_user import AsUser
from segmend.logdir.tree import PartitionDir

MANY = 2_000
"""Directories that are worth a process."""
_MOST_WORKERS = 4
_TELLING = 256
"""Directories by which it is guessed how many logs the others have."""
_SURELY = 1.25

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

    values: tuple[Any, ...]
    job: LoadJob
    asked: tuple[int, ...]
    unasked: int
    refused: dict[str, str]
    rules: frozenset[tuple[int, ...]]
    """What was asked of a release that is not known (`Release.asked`), by this load or one before it."""


def load_directories(
    state: DirState,
    partitions: Sequence[PartitionDir],
    situation: Situation,
    view: AsUser | None,
    workers: int,
) -> Iterator[Loaded]:
    """Load these of a dir; `view` is the file system that counts what it was not asked."""
    shared = workers > 1 and not situation.budget.unlimited and threading.active_count() == 1
    workers = min(workers, _MOST_WORKERS)
    for number, partition in enumerate(partitions):
        left = len(partitions) - number
        if shared and left >= MANY and _asks_enough(view, number, _own(left, workers)):
            yield from _shared(state, partitions[number:], situation, view, workers)
            return
        yield load_settled(state, partition.afresh(), situation)


def _own(count: int, workers: int) -> int:
    """How many of them this process loads; to take an answer of another costs a twelfth of a load."""
    return count * 23 // (24 * workers)


def _asks_enough(view: AsUser | None, loaded: int, own: int) -> bool:
    """Whether this process asks by itself for the attribute `i` of all logs of which it is asked for.

    It is a guess by the directories that were loaded; where it is wrong, `_taken` loads them here.
    """
    if view is None or view.asked_enough:
        return True
    return loaded >= _TELLING and view.asks_enough(own / loaded / _SURELY)


def _shared(
    state: DirState,
    partitions: Sequence[PartitionDir],
    situation: Situation,
    view: AsUser | None,
    workers: int,
) -> Iterator[Loaded]:
    begun = _own(len(partitions), workers)
    size = -(-(len(partitions) - begun) // (workers - 1))
    mine, others = partitions[:begun], range(begun, len(partitions), size)
    parts = [partitions[at : at + size] for at in others]
    forks = [(part, _Fork(partial(_apart, state, part, situation, view))) for part in parts]
    try:
        for partition in mine:
            yield load_settled(state, partition.afresh(), situation)
        for part, fork in forks:
            for partition, one in zip_longest(part, fork.result() or ()):
                yield _taken(state, partition, situation, view, one)
    finally:
        for _, fork in forks:
            fork.end()


def _apart(
    state: DirState, partitions: Sequence[PartitionDir], situation: Situation, view: AsUser | None
) -> list[_Told]:
    """In the other process."""
    if view is not None:
        view.ask_no_more()
    told = []
    for partition in partitions:
        budget, before = _Asked(), 0 if view is None else view.unasked
        loaded = load_settled(state, partition.afresh(), replace(situation, budget=budget))
        unasked = 0 if view is None else view.unasked - before
        rules = frozenset(situation.broker.release.asked or ())
        sizes = tuple(budget.sizes)
        refused = {} if view is None else dict(view.refused)
        values, job = _VALUES(loaded), state.jobs[-1]
        told.append(_Told(values=values, job=job, asked=sizes, unasked=unasked, refused=refused, rules=rules))
    return told


def _taken(
    state: DirState, partition: PartitionDir, situation: Situation, view: AsUser | None, told: _Told | None
) -> Loaded:
    """What the other process found, where it stands."""
    budget = situation.budget
    asks = view is not None and not view.asked_enough
    if told is None or asks or (not budget.spent and any(size <= budget.bytes for size in told.asked)):
        return load_settled(state, partition.afresh(), situation)
    if (noted := situation.broker.release.asked) is not None:
        noted.update(told.rules)
    budget.refused += len(told.asked)
    state.jobs.append(told.job)
    if view is not None:
        view.unasked += told.unasked
        view.refused |= told.refused
    return Loaded(dir_state=state, **dict(zip(_NAMES, told.values, strict=True)))


class _Fork:
    """A process that works something out, and ends."""

    def __init__(self, work: Callable[[], list[_Told]]) -> None:
        self._from, into = os.pipe()
        self._pid: int | None = os.fork()
        if self._pid == 0:
            status = 1
            with suppress(BaseException), os.fdopen(into, "wb") as answer:
                os.close(self._from)
                pickle = import_module("pickle")  # here: few brokers have as many directories
                pickle.dump(work(), answer, pickle.HIGHEST_PROTOCOL)
                status = 0
            os._exit(status)
        os.close(into)

    def result(self) -> list[_Told] | None:
        """What it found; None if it did not get that far."""
        with os.fdopen(self._from, "rb") as answer:
            data = answer.read()
        status = self._wait()
        self._from = -1
        told: list[_Told] | None = import_module("pickle").loads(data) if status == 0 else None
        return told

    def end(self) -> None:
        """Whether it is done or not."""
        if self._from >= 0:
            os.close(self._from)
            self._from = -1
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()

    def _wait(self) -> int:
        assert self._pid is not None
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        return status
