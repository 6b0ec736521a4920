"""Two segmends that are given one plan at one moment: one does it, the other says how it is by then."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.surgery.child import in_a_child
from tests.surgery.faulty import Disk
from tests.surgery.world import World, make, plan_of

from segmend.errors import BrokerRunning
from segmend.surgery.execute import lock
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import acknowledge
from segmend.surgery.execute.run import Outcome
from segmend.surgery.execute.runs import find, runs
from segmend.surgery.execute.undo import undo

Act = Callable[[Disk], Outcome]
FIRST = "open_dir"
"""The first look; from then on each has the log dirs for itself."""
LATER = ("make_dir", "rename")
"""The directory of the journal; its plan."""


class Late(Disk):
    """Another process does something just before the first of these calls; it gives 0."""

    def __init__(self, moment: str, act: Callable[[Disk], int]) -> None:
        self._moment, self._act = moment, act
        self.met = True  # all calls are looked up while it is made
        super().__init__()
        self.met = False

    def __getattribute__(self, name: str) -> object:
        if name == object.__getattribute__(self, "_moment") and not self.met:
            self.met = True
            assert in_a_child(lambda: self._act(Disk())) == 0
        return super().__getattribute__(name)


def told(outcome: Outcome) -> int:
    acknowledge(Disk(), outcome.run, lambda: 0.0)
    return 0


def applying(world: World) -> Act:
    plan = plan_of(world)
    return lambda fx: apply(plan, str(world.state), fx=fx)


@pytest.mark.parametrize("moment", [FIRST, *LATER])
def test_the_second_of_two_applies_finds_it_applied(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the first has begun, on a file system that locks no directory."""
    if moment in LATER:
        monkeypatch.setattr(lock, "alone", lambda *_: nullcontext())
    world = make(tmp_path)
    before, act = world.tree(), applying(world)
    fx = Late(moment, lambda other: told(act(other)))
    outcome = act(fx)
    assert (fx.met, outcome.state, outcome.steps) == (True, "applied", 0)
    after = world.tree()
    assert act(Disk()).steps == 0
    assert (world.tree() == after, after == before) == (True, False)
    assert undo(find(str(world.state), None), fx=Disk()).state == "undone"
    assert world.tree() == before


@pytest.mark.parametrize("moment", LATER)
def test_who_comes_when_another_has_begun_is_refused(tmp_path: Path, moment: str) -> None:
    world = make(tmp_path)
    act = applying(world)

    def refused(other: Disk) -> int:
        with pytest.raises(BrokerRunning, match="another segmend is at work here; nothing was changed"):
            act(other)
        return 0

    fx = Late(moment, refused)
    assert (act(fx).state, fx.met) == ("applied", True)
    assert len(os.listdir(world.state / "journals")) == 1


def test_the_second_of_two_undos_finds_it_undone(tmp_path: Path) -> None:
    world = make(tmp_path)
    before = world.tree()
    told(applying(world)(Disk()))
    run = find(str(world.state), None)
    outcome = undo(run, fx=Late(FIRST, lambda fx: told(undo(run, fx=fx))))
    assert (outcome.state, outcome.steps, world.tree() == before) == ("undone", 0, True)


def test_who_is_slow_to_tell_is_not_refused_for_it(tmp_path: Path) -> None:
    world = make(tmp_path)
    act = applying(world)
    first = act(Disk())
    assert in_a_child(lambda: told(act(Disk()))) == 0
    told(first)
    assert [(run.state, run.told) for run in runs(str(world.state))] == [("applied", True)]
    assert os.listdir(world.state / "journals") == [first.run.name]
