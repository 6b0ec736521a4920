"""Really killed at random: `python -m tests.surgery.killed [--seed N] [--count N] [OPERATION...]`.

A trial is one plan of an operation, as root or as a normal user, on one disk or two. `segmend apply` and
`segmend undo` are processes of their own, which get a SIGKILL at a change of the disk or at any moment,
up to three times in one way; then the same command again, or the other one, brings it to its end, and all
bytes are compared. A trial ends behind its tenth kill; told is how many there were of each operation.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from random import Random
from time import monotonic

from tests.cli.run import Ran
from tests.conftest import GOLDEN
from tests.copies import copy_tree
from tests.golden.unpack import unpack
from tests.lab.quorums import trial as quorum_trial
from tests.lab.quorums.record import HERE as QUORUMS
from tests.lab.quorums.record import recorded
from tests.memory import another_disk, prefix
from tests.removal import remove
from tests.surgery.child import as_user, begun_and_heard, owned_by_nobody
from tests.surgery.loop import COMMANDS
from tests.surgery.picture import Tree, picture
from tests.surgery.shows.bed import Bed
from tests.surgery.shows.matrix import cases_of, refusal
from tests.surgery.small_fleet import Fleet, small
from tests.surgery.test_every_operation_killed import WAYS, planned
from tests.surgery.test_harder_killed import diverged, replaced, torn
from tests.surgery.test_kill import suicide
from tests.surgery.test_merge import merge
from tests.surgery.trials import Drawn, each_of, main, nobody_else

from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.runs import runs

Wholes = Callable[[str], Path]
"""A golden directory or a base of voters, unpacked."""
KILLS = 10
ROUNDS = 3 * KILLS
"""At most: some kills come too late."""
GOLDENS = ("0.10.2.2-clean", "1.1.0-clean", "2.8.2-clean", "3.9.2-clean", "4.3.1-clean", "4.3.1-killed")
ONE_DISK = ("free", "restore")
"""What they are asked for lies on one."""
SIGKILLED = -9


@dataclass(frozen=True)
class Draw(Drawn):
    """One of them; without a `case` it is that of `test_every_operation_killed`."""

    operation: str
    case: str | None
    normal: bool
    apart: bool

    @classmethod
    def of(cls, seed: int, number: int, operation: str) -> Draw:
        chance = Random(f"{seed} {number} {operation}")
        golden = chance.choice(GOLDENS)
        names = [each.name for each in cases_of(golden) if refusal(golden, each) is None]
        names = [name for name in names if name.partition("-")[0] == operation]
        if not names:
            golden = "4.3.1-clean"
        case = chance.choice([*names, *HARDER.get(operation, ())] or [None])
        normal, apart = chance.random() < 0.5, chance.random() < 0.5 and operation not in ONE_DISK
        return cls(
            seed, number, golden, operation, case, normal, apart and operation not in ("free", "restore")
        )

    def __str__(self) -> str:
        user = "a normal user" if self.normal else "root"
        disks = "two disks" if self.apart else "one disk"
        return f"{self.again} {self.operation}: {self.golden} {self.case}, {user}, {disks}"


@dataclass(frozen=True)
class Scene:
    """What `make` makes a plan of, and all places that the plan may change."""

    root: Path
    plan_file: Path
    places: Sequence[Path]
    make: Callable[[], object]


def golden_scene(draw: Draw, wholes: Wholes, folder: Path, elsewhere: Path) -> Scene:
    """Two log dirs of a golden broker, perhaps each on a disk of its own."""
    copy_tree(wholes(draw.golden), folder / "whole")
    (folder / "case").mkdir()
    bed = Bed(draw.golden, folder / "whole", folder / "case")
    if draw.apart:
        copy_tree(bed.dirs[1], elsewhere / "d1")
        remove(bed.dirs[1])
        bed.dirs[1] = elsewhere / "d1"
    case = next((each for each in cases_of(draw.golden) if each.name == draw.case), None)
    way = WAYS[draw.operation] if case is None else partial(planned, ask=case.ask)
    return Scene(bed.root, bed.plan_file, (bed.home, elsewhere, bed.state), lambda: way(bed))


def fleet_scene(draw: Draw, wholes: Wholes, folder: Path, _elsewhere: Path) -> Scene:
    """A replica whose leader's lies beside it."""
    small(wholes("4.3.1-fleet"), folder / "small")
    fleet = Fleet.copied(folder / "small", folder / "case")
    side = fleet.root / "side"

    def make() -> None:
        if draw.case == "torn":
            torn(fleet)
            ran = merge(fleet, "--side", side)
        else:
            ran = fleet.graft("orders-3", *(diverged if draw.case == "diverged" else replaced)(fleet))
        assert ran.code in (0, 4), ran.err

    return Scene(fleet.root, fleet.plan_file, (fleet.root / "b2", fleet.root / "b3", side), make)


def voters_scene(draw: Draw, wholes: Wholes, folder: Path, _elsewhere: Path) -> Scene:
    """A controller whose copy of the metadata is hurt, and two others."""
    case = draw.chance("voters").choice([case for case, row in recorded() if row["steps"]])
    scene = quorum_trial.Scene.of(case, wholes(case.base), folder / "case")

    def make() -> None:
        assert scene.plan().steps

    return Scene(scene.root, scene.plan_file, [node.dirs[0] for node in scene.cluster], make)


HARDER: Mapping[str, Mapping[str, Callable[[Draw, Wholes, Path, Path], Scene]]] = {
    "merge": {"torn": fleet_scene},
    "graft": {"diverged": fleet_scene, "replaced": fleet_scene},
    "quorum": {"voters": voters_scene},
}
"""By operation, on other files than those of a golden broker."""


@dataclass
class Trial:
    """A plan, and what its files were before it and are after it."""

    draw: Draw
    scene: Scene
    before: Tree = field(default_factory=dict)
    after: Tree = field(default_factory=dict)
    lasts: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    kills: int = 0

    @property
    def state(self) -> Path:
        return self.scene.root / "journals"

    def look(self) -> Tree:
        return {
            path: row
            for place in self.scene.places if place.exists()
            for path, row in picture(place).items()
        }  # fmt: skip

    def planned(self) -> Tree:
        """Without the times of what is new."""
        old = self.before
        return {
            path: row if row[3:4] == old.get(path, ())[3:4] else (*row[:3], *row[4:])
            for path, row in self.look().items()
        }

    def command(self, name: str, *, call: int = 0, moment: float | None = None) -> Ran:
        """In a process, killed at its n-th change or after so many seconds."""
        what = (str(self.scene.plan_file),) if name == "apply" else ()
        words = [name, *what, "--yes", "--state-dir", str(self.state)]

        def act() -> int:
            code, calls = suicide(call, words)
            (self.scene.root / "calls").write_text(str(calls))
            return code

        ran = begun_and_heard(act, self.scene.root / "heard", moment=moment)()
        self.story.append(f"{name}, call {call}, moment {moment}: {ran.code} {ran.err.strip()[-300:]}")
        assert "Traceback" not in ran.out + ran.err, self.told()
        return ran

    def done(self, name: str) -> None:
        ran = self.command(name)
        assert ran.code in ((1, 5) if name == "apply" else (0,)), self.told()

    def told(self) -> str:
        return "\n".join(["", str(self.draw), *self.story[-8:]])

    def is_back(self, now: Tree, wanted: Tree, what: str) -> None:
        differ = sorted(path for path in now.keys() | wanted.keys() if now.get(path) != wanted.get(path))
        shown = [(path, wanted.get(path), now.get(path)) for path in differ[:3]]
        assert not differ, f"{what}: other bytes: {shown}: {self.told()}"

    def play(self) -> None:
        """Until it was killed often enough."""
        (self.scene.root / "heard").mkdir()
        self.scene.make()
        self.before = self.look()
        for name in COMMANDS:
            begun = monotonic()
            self.done(name)
            self.lasts[name] = monotonic() - begun
            self.calls[name] = int((self.scene.root / "calls").read_text())
            if name == "apply":
                self.after = self.planned()
        self.is_back(self.look(), self.before, "undone")
        chance = self.draw.chance(self.draw.operation)
        for _ in range(ROUNDS):
            if self.kills < KILLS:
                self.round(chance)

    def round(self, chance: Random) -> None:
        """Killed one to three times, then to both ends, or straight back."""
        shutil.rmtree(self.state, ignore_errors=True)  # It is not there if it was killed at once.
        name = chance.choice(COMMANDS)
        if name == "undo":
            self.done("apply")
        for _ in range(chance.choice((1, 1, 2, 3))):
            if not self.killed(name, chance):
                break
            name = chance.choice(self.ways())
        if chance.random() < 0.6:
            if "apply" in self.ways():
                self.done("apply")
            self.is_back(self.planned(), self.after, "applied")
        if "undo" in self.ways():
            self.done("undo")
        self.is_back(self.look(), self.before, "undone")

    def killed(self, name: str, chance: Random) -> bool:
        """False if it came to its end."""
        if chance.random() < 0.5:
            ran = self.command(name, call=chance.randint(1, self.calls[name]))
        else:
            ran = self.command(name, moment=chance.uniform(0, 1.1 * self.lasts[name]))
        if ran.code == SIGKILLED:
            self.kills += self.begun() is not None  # One that came before all is none.
        else:
            assert ran.code in (0, 1, 5), self.told()
        return ran.code == SIGKILLED

    def begun(self) -> PlanRun | None:
        return next((run for run in runs(str(self.state)) if run.events), None)

    def ways(self) -> Sequence[str]:
        """The commands that may follow: of what came to its end and told so the other one alone."""
        run = self.begun()
        if run is None or (run.told and run.state == "undone"):
            return ("apply",)
        return ("undo",) if run.told else COMMANDS


def played(draw: Draw, wholes: Wholes, folder: Path, elsewhere: Path) -> int:
    """How often it was killed; raises AssertionError."""
    scene = HARDER.get(draw.operation, {}).get(draw.case or "", golden_scene)(draw, wholes, folder, elsewhere)
    trial, said = Trial(draw, scene), folder / "kills"

    def act() -> None:
        trial.play()
        said.write_text(str(trial.kills))

    if draw.normal:
        owned_by_nobody(folder)
        owned_by_nobody(elsewhere)
        as_user(act)
    else:
        act()
    return int(said.read_text())


def play(numbers: Iterable[int], seed: int, operations: Sequence[str], home: Path) -> Counter[str]:
    """Play them all; how often each operation was killed."""

    @cache
    def wholes(name: str) -> Path:
        bases = GOLDEN if (GOLDEN / f"{name}.tar.xz").exists() else QUORUMS
        return unpack(bases / f"{name}.tar.xz", home / name)

    def trial(turn: int, folder: Path) -> list[str]:
        number, of = divmod(turn, len(operations))
        draw = Draw.of(seed, number, operations[of])
        elsewhere = Path(tempfile.mkdtemp(prefix=prefix("killed"), dir=another_disk(folder)))
        elsewhere.chmod(0o755)
        try:
            return [draw.operation] * played(draw, wholes, folder, elsewhere)
        except Exception as error:
            error.add_note(str(draw))
            raise
        finally:
            remove(elsewhere)

    turns = (number * len(operations) + of for number in numbers for of in range(len(operations)))
    with nobody_else():
        return each_of(turns, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.killed", tuple(WAYS), play, count=6))
