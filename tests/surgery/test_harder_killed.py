"""Plans that are harder to stop: killed anywhere, the same again ends it, undo takes it back.

A merge is killed at every call of apply and of undo, by root and by a normal user; of grafts CI takes some
calls, of `plan quorum` every ninth one, `python -m tests.sweep crash` more.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.on_disk import batches_of
from tests.lab.quorums.record import unpacked
from tests.lab.quorums.trial import Case, Scene
from tests.memory import swift
from tests.seeds import sampled
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.loop import Loop
from tests.surgery.picture import picture
from tests.surgery.small_fleet import Fleet
from tests.surgery.test_graft import batches, fall_behind, fork, last
from tests.surgery.test_merge import NAME, elected, flip_batches, garbage, merge

from segmend.surgery.plan import Plan

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # on a busy machine


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


@pytest.mark.parametrize("hurt", [diverged, replaced])
def test_a_graft(fleet: Fleet, hurt: Callable[[Fleet], tuple[str, ...]]) -> None:
    options = hurt(fleet)
    assert fleet.graft("orders-3", *options).code == 0
    plan = Plan.load(str(fleet.plan_file))
    assert {"append_file", "replace_file"} < {step.KIND for step in plan.steps}
    loop = Loop(plan, fleet.state, fleet.tree)
    loop.act("apply")
    assert batches(fleet.replica("orders-3")) == batches(fleet.replica("orders-3", "b3"))
    loop.act("undo")
    assert loop.everywhere(sampled(5, 25)) > 10


def torn(fleet: Fleet) -> None:
    """Patched, cut and appended to, written beside and put in its place; records that go to a side file."""
    mine, theirs = fleet.replica(NAME), fleet.replica(NAME, "b3")
    elected(fleet)
    flip_batches(mine, 1)
    garbage(mine, theirs)
    log = sorted(mine.glob("*.log"))[2]
    log.write_bytes(log.read_bytes()[: batches_of(log)[-1].position])


def killed_everywhere(fleet: Fleet, first: int, step: int) -> None:
    side = fleet.root / "kept" / "side"
    side.parent.mkdir()
    ran = merge(fleet, "--side", side)
    assert ran.code == 4, ran.err  # One batch is sound nowhere.
    plan = Plan.load(str(fleet.plan_file))
    kinds = {step.KIND for step in plan.steps}
    assert {"append_file", "patch_file", "quarantine", "move_dir", "make_dir", "replace_file"} <= kinds
    home, whole = fleet.replica(NAME).parent, fleet.tree()
    loop = Loop(plan, fleet.state, lambda: picture(home) | picture(side.parent))
    calls = sum(len(range(first, disk.calls - 1, step)) for disk in loop.calls.values())
    assert loop.everywhere(step, first) == calls > 300 // step
    assert fleet.tree() == whole


@pytest.mark.parametrize("user", ["root", "normal"])
def test_a_merge(user: str, small: Path, tmp_path: Path) -> None:
    """In CI killed at every second call as one user, at those between as the other."""
    step = sampled(1, 2)
    with swift(tmp_path) as folder:
        fleet = Fleet.copied(small, folder)
        torn(fleet)
        if user == "normal":
            owned_by_nobody(folder)
            as_user(lambda: killed_everywhere(fleet, step - 1, step))
        else:
            killed_everywhere(fleet, 0, step)


CASES = (
    Case("4.3.1-dynamic", 3, "from", ("log-flip@0.3", "state-gone", "snapshot-cut")),
    Case("4.3.1-dynamic", 1, "alone", ("log-flip@0.3",)),
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("no_other_processes")
def test_a_quorum(case: Case, tmp_path: Path) -> None:
    scene = Scene.of(case, unpacked(case.base, tmp_path / "base"), tmp_path / "nodes")
    assert scene.plan().steps
    loop = Loop(Plan.load(str(scene.plan_file)), tmp_path / "state", lambda: picture(scene.home))
    assert loop.everywhere(sampled(1, 9)) > 10
