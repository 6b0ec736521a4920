"""A graft killed at a call of apply or undo: the same again ends it, undo takes it back."""

from collections.abc import Callable

import pytest
from tests.seeds import sampled
from tests.surgery.loop import Loop
from tests.surgery.small_fleet import Fleet
from tests.surgery.test_graft import batches, fall_behind, fork, last

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
def test_killed_anywhere(fleet: Fleet, hurt: Callable[[Fleet], tuple[str, ...]]) -> None:
    options = hurt(fleet)
    assert fleet.graft("orders-3", *options).code == 0
    plan = Plan.load(str(fleet.plan_file))
    assert {"append_file", "replace_file"} < {step.KIND for step in plan.steps}
    loop = Loop(plan, fleet.state, fleet.tree)
    loop.act("apply")
    assert batches(fleet.replica("orders-3")) == batches(fleet.replica("orders-3", "b3"))
    loop.act("undo")
    assert loop.everywhere(sampled(5, 17)) > 10
