"""A graft killed at a call in the middle: `apply` again ends it, `undo` takes it back."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from tests.golden.judge import copy_tree
from tests.seeds import sampled
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.small_fleet import Fleet
from tests.surgery.test_graft import batches, fall_behind, fork, last

from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import runs
from segmend.surgery.plan import Plan


def diverged(fleet: Fleet) -> tuple[str, ...]:
    """Cut in the middle of a segment, appended to it; a segment and snapshots set aside, others made."""
    mine = fleet.replica("orders-3")
    fall_behind(mine, len(batches(mine)) - 3)
    fork(mine, len(last(mine)[1]) - 1)
    return ()


def replaced(fleet: Fleet) -> tuple[str, ...]:
    """A whole directory set aside, another one made."""
    mine = fleet.replica("orders-3")
    fork(mine, len(last(mine)[1]))
    return ("--whole",)


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a busy machine
@pytest.mark.parametrize("hurt", [diverged, replaced])
def test_killed_in_the_middle(fleet: Fleet, hurt: Callable[[Fleet], tuple[str, ...]]) -> None:
    options = hurt(fleet)
    saved, state = fleet.root / "saved", fleet.state
    before, yes = fleet.tree(), ("--yes", "--state-dir", state)
    copy_tree(fleet.home, saved)
    assert fleet.graft("orders-3", *options).code == 0
    plan = Plan.load(str(fleet.plan_file))
    assert {"append_file", "replace_file"} < {step.KIND for step in plan.steps}
    counting = Disk()
    apply(plan, str(state), fx=counting)
    leader = batches(fleet.replica("orders-3", "b3"))
    for number in range(30, counting.calls, sampled(5, 29)):
        copy_tree(saved, fleet.home)
        shutil.rmtree(state)
        with pytest.raises(Died):
            apply(plan, str(state), fx=Mortal(number, half=True))
        if not any(run.events for run in runs(str(state))):
            continue  # nothing was begun yet; how many calls that takes depends on the depth of the path
        if number % 2:
            assert fleet.run("apply", fleet.plan_file, *yes).code == 1, number
            assert batches(fleet.replica("orders-3")) == leader
        assert fleet.run("undo", *yes).code == 0, number
        assert fleet.tree() == before, number
