"""Files with other names, as those of a snapshot by `cp -al`: these keep the old bytes, wherever it stops."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from tests.faults.hands import flipped
from tests.faults.hurts import on
from tests.seeds import sampled
from tests.surgery.faulty import Died, Disk, Mortal, Unplugged
from tests.surgery.patient import PatientOf
from tests.surgery.picture import picture
from tests.surgery.world import make, plan_of, steps

from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.journal import acknowledge
from segmend.surgery.execute.runs import find
from segmend.surgery.execute.undo import undo
from segmend.surgery.plan import Plan
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.effects import Effects


class Snapped:
    """A world with a snapshot of hard links beside it, and a plan of steps that change files in place."""

    def __init__(self, root: Path) -> None:
        self.world = make(root / "world")
        self.shots = root / "snapshot"
        self.files = [*sorted(self.world.a.rglob("*.log")), self.world.a / "recovery-point-offset-checkpoint"]
        for path in self.files:
            link = self.shots / path.relative_to(self.world.a)
            link.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, link)
        self.plan: Plan = plan_of(
            self.world,
            [
                s
                for s in steps(self.world)[:-1]
                if isinstance(s, PatchFile | AppendFile | CutFile | ReplaceFile | MoveDir)
            ],
        )
        self.shot, self.before = picture(self.shots), self.world.tree()

    def disk(self) -> Disk:
        """One on which the second log dir lies on another disk."""
        return Disk(self.world.b)

    def is_one(self) -> bool:
        """Whether each file is one with its other name."""
        return all(path.samefile(self.shots / path.relative_to(self.world.a)) for path in self.files)

    def apply(self, fx: Effects) -> None:
        acknowledge(fx, apply(self.plan, str(self.world.state), fx=fx).run, lambda: 0.0)

    def undo(self, fx: Effects) -> None:
        acknowledge(fx, undo(find(str(self.world.state), None), fx=fx).run, lambda: 0.0)


def calls(root: Path, command: str) -> int:
    snapped = Snapped(root)
    disk = snapped.disk()
    if command == "undo":
        snapped.apply(snapped.disk())
        snapped.undo(disk)
    else:
        snapped.apply(disk)
    return disk.calls


def powerless(at: int, snapped: Snapped) -> Unplugged:
    stash = snapped.shots.with_name("stash")
    return Unplugged(at, stash, snapped.world.b)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["apply", "undo"])
@pytest.mark.parametrize("how", ["killed", "unplugged"])
def test_stopped_anywhere(swift_path: Path, command: str, how: str) -> None:
    step = sampled(1, 9)
    for at in range(1, calls(swift_path / "count", command) + 1, step):
        root = swift_path / f"{at}"
        snapped = Snapped(root)
        if command == "undo":
            snapped.apply(snapped.disk())
        fx = Mortal(at, snapped.world.b) if how == "killed" else powerless(at, snapped)
        with contextlib.suppress(Died):
            (snapped.apply if command == "apply" else snapped.undo)(fx)
        if isinstance(fx, Unplugged):
            fx.power_off()
        assert picture(snapped.shots) == snapped.shot, at
        if snapped.world.tree() != snapped.before:
            snapped.undo(snapped.disk())
        assert snapped.world.tree() == snapped.before, at
        assert picture(snapped.shots) == snapped.shot, at
        assert snapped.is_one(), at


def test_a_name_that_was_changed_meanwhile_stays_another_file(tmp_path: Path) -> None:
    snapped = Snapped(tmp_path)
    snapped.apply(snapped.disk())
    assert not snapped.is_one()
    # A plan stays the same whatever becomes of its files: by that it finds what it left on the way.
    assert Plan.from_json(json.loads(snapped.plan.render())).sha256 == snapped.plan.sha256
    changed = snapped.shots / "cut-0" / "0.log"
    changed.write_bytes(changed.read_bytes()[:-1] + b"!")
    os.utime(changed, ns=(1, (snapped.world.a / "cut-0" / "0.log").stat().st_mtime_ns))
    snapped.undo(snapped.disk())
    assert snapped.world.tree() == snapped.before
    assert not changed.samefile(snapped.world.a / "cut-0" / "0.log")
    assert changed.read_bytes().endswith(b"!")


def test_the_plan_says_so_and_the_snapshot_keeps_its_bytes(patient_of: PatientOf, tmp_path: Path) -> None:
    patient = patient_of(on("rolled", flipped(8)))
    hurt = patient.tree()
    for log in patient.dirs[0].rglob("*.log"):
        os.link(log, tmp_path / f"{log.parent.name}-{log.name}")
    shots = {path: path.read_bytes() for path in tmp_path.glob("*.log")}
    planned = patient.mend("--from", patient.other)
    assert (planned.code, "has 1 other name (a snapshot of hard links?)" in planned.out) == (0, True)
    patient.apply()
    assert {path: path.read_bytes() for path in shots} == shots
    assert patient.codes("--deep") <= {"K17"}
    patient.undo()
    assert patient.tree() == hurt
