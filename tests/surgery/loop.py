"""One plan stopped at every call that changes a disk: the same again ends it, the other way goes back.

Unlike `Story`, which has every kind of step and every state of its world, this takes any operation's plan,
on files of any size: after each stop one of the two ways is gone, and what `look` sees is compared.
"""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from tests.surgery.faulty import Died, Disk, Failing, Mortal
from tests.surgery.picture import Tree
from tests.surgery.story import plans_read_once

from segmend.errors import SegmendError
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.runs import SeveralJournals, find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan
from segmend.surgery.writing.effects import Effects

COMMANDS = ("apply", "undo")
Stopped = Callable[[], Disk]


class Loop:
    """`look` sees all that the plan may change; `other` is what counts as a second disk.

    `calls` has the disk as it was counted in each command that nothing stopped.
    """

    def __init__(self, plan: Plan, state: Path, look: Callable[[], Tree], other: Path | None = None) -> None:
        self.plan, self.state, self.look, self.other = plan, state, look, other
        self.before = look()
        self.calls = {"apply": Disk(other), "undo": Disk(other)}
        self.act("apply", self.calls["apply"])
        self.after = self.planned()
        self.act("undo", self.calls["undo"])
        assert look() == self.before

    def act(self, command: str, fx: Effects | None = None) -> None:
        """The command, to its end if nothing stops it."""
        effects = Disk(self.other) if fx is None else fx
        if command == "apply":
            apply(self.plan, str(self.state), fx=effects)
        else:
            undo(self._latest(), fx=effects)

    def _latest(self) -> PlanRun:
        """What was at work last: each case has a state dir of its own, and may plan twice."""
        try:
            return find(str(self.state), None)
        except SeveralJournals as several:
            return several.choice[-1]

    def planned(self) -> Tree:
        """As it is now, without the times of what is new: they are those at which it was made."""
        return {
            path: row if row[3:4] == self.before.get(path, ())[3:4] else (*row[:3], *row[4:])
            for path, row in self.look().items()
        }

    def each_call(self, command: str) -> Iterator[Stopped]:
        """Killed before each call, and in the middle of every third one that writes."""
        for at in range(1, self.calls[command].calls):
            yield partial(Mortal, at, self.other, half=at % 3 == 0)

    def each_call_of_a_thread(self, command: str, *numbers: int) -> Iterator[Stopped]:
        """The same by the calls of each thread that is not the first, and each of them refused each way."""
        threads = self.calls[command].threads
        for thread in sorted({*threads} - {0}):
            for at in range(1, threads.count(thread) + 1):
                yield partial(Mortal, at, self.other, half=at % 3 == 0, thread=thread)
                for number in numbers:
                    yield partial(Failing, at, number, self.other, stays=at % 2 == 0, thread=thread)

    def play(self, command: str, stops: Iterator[Stopped]) -> int:
        """Stop it everywhere, and go on in turns to either end; how often it was stopped."""
        stopped = 0
        for number, stop in enumerate(stops):
            shutil.rmtree(self.state, ignore_errors=True)
            if command == "undo":
                self.act("apply")
            if not self.is_stopped(command, stop()):
                continue
            stopped += 1
            if any(run.events for run in runs(str(self.state))):
                self.both(number)
            assert self.look() == self.before, (command, number)
        return stopped

    def everywhere(self, step: int = 1, first: int = 0) -> int:
        """Each command killed at one call of so many; how often both were stopped."""
        with plans_read_once():
            return sum(self.play(each, islice(self.each_call(each), first, None, step)) for each in COMMANDS)

    def both(self, number: int) -> None:
        """From where it is to the planned end, in every second case, and back."""
        if number % 2:
            self.act("apply")
            assert self.planned() == self.after, number
        self.act("undo")

    def is_stopped(self, command: str, fx: Disk) -> bool:
        """False if it came to its end before: two threads do not share their work the same way each time."""
        try:
            self.act(command, fx)
        except (Died, SegmendError, OSError):
            return True
        self.act("undo" if command == "apply" else "apply")
        if command == "undo":
            self.act("undo")
        return False
