"""`plan merge` killed in the middle of apply and of undo: the same again ends it, undo goes back."""

from __future__ import annotations

import shutil

import pytest
from tests.golden.judge import copy_tree
from tests.surgery.faulty import Died, Disk, Mortal
from tests.surgery.picture import picture
from tests.surgery.small_fleet import Fleet
from tests.surgery.test_graft import batches
from tests.surgery.test_merge import NAME, elected, flip, garbage, headers, merge

from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import find, runs
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan


def hurt(fleet: Fleet) -> None:
    """Patched, cut and appended to, written beside and put in its place; records that go to a side file."""
    mine, theirs = fleet.replica(NAME), fleet.replica(NAME, "b3")
    elected(fleet)
    flip(mine, 1)
    garbage(mine, theirs)
    log = sorted(mine.glob("*.log"))[2]
    log.write_bytes(log.read_bytes()[: headers(log)[-1].position])


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a busy machine
@pytest.mark.parametrize("command", ["apply", "undo"])
def test_killed_in_the_middle(fleet: Fleet, command: str) -> None:
    hurt(fleet)
    side, state, saved = fleet.root / "side", fleet.state, fleet.root / "saved"
    side.mkdir()
    before = fleet.tree()
    copy_tree(fleet.home, saved)
    ran = merge(fleet, "--side", side)
    assert ran.code == 4, ran.err  # One batch is sound nowhere.
    plan = Plan.load(str(fleet.plan_file))
    kinds = {step.KIND for step in plan.steps}
    assert {"append_file", "patch_file", "quarantine", "move_dir", "make_dir", "replace_file"} <= kinds
    counting = Disk()
    apply(plan, str(state), fx=counting)
    merged, kept = batches(fleet.replica(NAME)), picture(side).keys()
    if command == "undo":
        counting = Disk()
        undo(find(str(state), None), fx=counting)
    for number in range(25 if command == "apply" else 3, counting.calls, 7):
        copy_tree(saved, fleet.home)
        shutil.rmtree(state)
        shutil.rmtree(side / NAME, ignore_errors=True)
        fx = Mortal(number, half=number % 3 == 0)
        if command == "undo":
            apply(plan, str(state))
        with pytest.raises(Died):
            apply(plan, str(state), fx=fx) if command == "apply" else undo(find(str(state), None), fx=fx)
        if not any(run.events for run in runs(str(state))):
            continue
        if number % 2:
            apply(plan, str(state))
            assert batches(fleet.replica(NAME)) == merged, number
            assert picture(side).keys() == kept, number
        undo(find(str(state), None))
        assert fleet.tree() == before, number
        assert not (side / NAME).exists(), number
