"""`plan quorum` killed anywhere, in apply and in undo: the same again ends it, undo goes back.

CI takes every fifth call, `python -m tests.sweep crash` all.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.judge import copy_tree
from tests.lab.quorums.record import unpacked
from tests.lab.quorums.trial import Case, Scene, picture
from tests.seeds import sampled
from tests.surgery.faulty import Died, Disk, Mortal

from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan

CASES = (
    Case("4.3.1-dynamic", 3, "from", ("log-flip@0.3", "state-gone", "snapshot-cut")),
    Case("4.3.1-dynamic", 1, "alone", ("log-flip@0.3",)),
)


class Loop:
    """One plan, and the dir before and after it."""

    def __init__(self, case: Case, root: Path) -> None:
        base = unpacked(case.base, root / "base")
        self.scene = Scene.of(case, base, root / "nodes")
        assert self.scene.plan().steps
        self.plan, self.state = Plan.load(str(self.scene.plan_file)), root / "state"
        self.before, self.saved = picture(self.scene.home), root / "saved"
        copy_tree(self.scene.home, self.saved)
        self.calls = {"apply": self.count("apply"), "undo": self.count("undo")}

    def count(self, command: str) -> int:
        disk = Disk()
        self.act(command, disk)
        if command == "apply":
            self.after = {name: file[:2] for name, file in picture(self.scene.home).items()}
        return disk.calls

    def act(self, command: str, fx: Disk | None = None) -> None:
        disk = Disk() if fx is None else fx
        if command == "apply":
            apply(self.plan, str(self.state), fx=disk)
        else:
            undo(find(str(self.state), None), fx=disk)

    def again(self, command: str) -> None:
        """As before the command."""
        copy_tree(self.saved, self.scene.home)
        shutil.rmtree(self.state, ignore_errors=True)
        if command == "undo":
            self.act("apply")

    def stops(self, command: str, step: int) -> Iterator[int]:
        """Each call at which it dies with the journal begun."""
        for number in range(1, self.calls[command], step):
            self.again(command)
            with pytest.raises(Died):
                self.act(command, Mortal(number, half=number % 3 == 0))
            if any(run.events for run in runs(str(self.state))):
                yield number


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("command", ["apply", "undo"])
@pytest.mark.usefixtures("no_other_processes")
@pytest.mark.slow
def test_killed_anywhere(case: Case, command: str, tmp_path: Path) -> None:
    loop = Loop(case, tmp_path)
    for number in loop.stops(command, sampled(1, 9)):
        way = command if number % 2 else "undo"
        loop.act(way)
        found = picture(loop.scene.home)
        if way == "undo":
            assert found == loop.before, number
        else:  # New files have the time at which they were made.
            assert {name: file[:2] for name, file in found.items()} == loop.after, number
