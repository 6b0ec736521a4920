"""`plan merge` killed at every call of apply and of undo, by root and by a normal user."""

from pathlib import Path

import pytest
from tests.memory import swift
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.loop import Loop
from tests.surgery.picture import picture
from tests.surgery.small_fleet import Fleet
from tests.surgery.test_merge import NAME, elected, flip_batches, garbage, headers, merge

from segmend.surgery.plan import Plan


def hurt(fleet: Fleet) -> None:
    """Patched, cut and appended to, written beside and put in its place; records that go to a side file."""
    mine, theirs = fleet.replica(NAME), fleet.replica(NAME, "b3")
    elected(fleet)
    flip_batches(mine, 1)
    garbage(mine, theirs)
    log = sorted(mine.glob("*.log"))[2]
    log.write_bytes(log.read_bytes()[: headers(log)[-1].position])


def killed_everywhere(fleet: Fleet) -> None:
    side = fleet.root / "kept" / "side"
    side.parent.mkdir()
    ran = merge(fleet, "--side", side)
    assert ran.code == 4, ran.err  # One batch is sound nowhere.
    plan = Plan.load(str(fleet.plan_file))
    kinds = {step.KIND for step in plan.steps}
    assert {"append_file", "patch_file", "quarantine", "move_dir", "make_dir", "replace_file"} <= kinds
    home, whole = fleet.replica(NAME).parent, fleet.tree()
    loop = Loop(plan, fleet.state, lambda: picture(home) | picture(side.parent))
    assert loop.everywhere() == sum(disk.calls - 1 for disk in loop.calls.values()) > 300
    assert fleet.tree() == whole


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a busy machine
@pytest.mark.parametrize("user", ["root", "normal"])
def test_killed_at_every_call(user: str, small: Path, tmp_path: Path) -> None:
    with swift(tmp_path) as folder:
        fleet = Fleet.copied(small, folder)
        hurt(fleet)
        if user == "normal":
            owned_by_nobody(folder)
            as_user(lambda: killed_everywhere(fleet))
        else:
            killed_everywhere(fleet)
