"""Surgery at random: `python -m tests.surgery.drawn [--seed N] [--count N] [GOLDEN...]`.

Drawn are the golden directory, the operation with its cause, damage on top of that, the user (root or a
normal one), one disk or two, where and how it is stopped, and by which way it goes on. Each goes through
plan, apply (stopped, perhaps twice), apply, check, undo; all bytes are compared. What disagrees is told with
the options that play it again.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import GOLDEN, golden_names
from tests.golden.unpack import unpack
from tests.outside.held import of_forecast
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.faulty import Died, Disk, Failing, Mortal, Unplugged
from tests.surgery.loop import COMMANDS, Loop
from tests.surgery.shows.bed import Bed, Case
from tests.surgery.shows.matrix import cases_of, refusal
from tests.surgery.story import ERRORS, plans_read_once
from tests.surgery.trials import Drawn, each_of, main, nobody_else

from segmend.errors import SegmendError
from segmend.surgery.execute.runs import runs
from segmend.surgery.plan import Plan

STOPPED = (Died, SegmendError, OSError)
STOPS = 6
"""So many of a plan and command."""
OF_THE_STATE = "quarantine-restore"
"""It has the place where journals are, which is made anew for each stop here."""
GOLDENS = [name for name in golden_names() if not name.endswith("-fleet")]


@dataclass(frozen=True)
class Draw(Drawn):
    """One of them."""

    case: Case
    hurts: int
    normal: bool
    two_disks: bool

    @classmethod
    def of(cls, seed: int, number: int, goldens: Sequence[str]) -> Draw:
        chance = random.Random(f"{seed} {number}")
        golden = chance.choice(goldens)
        cases = [each for each in cases_of(golden) if refusal(golden, each) is None]
        return cls(
            seed, number, golden, chance.choice([each for each in cases if each.name != OF_THE_STATE]),
            chance.choice([0, 0, 1, 2, 3]), chance.random() < 0.5, chance.random() < 0.5,
        )  # fmt: skip

    def __str__(self) -> str:
        user = "a normal user" if self.normal else "root"
        disks = "two disks" if self.two_disks else "one disk"
        what = f"{self.golden} {self.case.name}, {self.hurts} hurts more, {user}, {disks}"
        return f"{self.again}: {what}"


def hurt(path: Path, chance: random.Random) -> None:
    """A file cut, zeroed, flipped, lengthened, or gone."""
    data = bytearray(path.read_bytes())
    at, kind = chance.randrange(len(data) or 1), chance.choice(["flip", "cut", "zero", "more", "gone"])
    if kind == "flip" and data:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == "zero":
        data[at : at + 300] = bytes(len(data[at : at + 300]))
    if kind == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:at] if kind == "cut" else data + chance.randbytes(77 * (kind == "more")))


def played(draw: Draw, whole: Path, root: Path) -> str:
    """`ok`, or why there was nothing to play; raises AssertionError."""
    bed = Bed(draw.golden, whole, root)
    asked = draw.case.ask(bed)
    chance = draw.chance("hurts")
    files = [path for path in sorted(bed.home.rglob("*")) if path.is_file() and path.stat().st_size < 1 << 22]
    for path in chance.sample(files, draw.hurts):
        hurt(path, chance)
    if not draw.normal:
        return planned(draw, bed, asked.argv, asked.during)
    owned_by_nobody(root)
    said = root / "said.json"

    def act() -> None:
        said.write_text(json.dumps(planned(draw, bed, asked.argv, asked.during)))

    as_user(act)
    return str(json.loads(said.read_text()))


def planned(draw: Draw, bed: Bed, argv: Sequence[object], during: Any) -> str:
    """The plan made, and stopped."""
    before = bed.tree()
    with during():
        ran = bed.run("plan", *argv, "--kafka", bed.version, "-o", bed.plan_file)
    assert bed.tree() == before, "planning changed something"
    if ran.code in (8, 16):
        assert ran.err.strip(), "no plan, and no reason"
        assert "Traceback" not in ran.err, ran.err
        return f"refused ({draw.case.name}: {ran.err.strip()[-160:]})"
    assert ran.code in (0, 4), (ran.code, ran.err)
    plan = Plan.load(str(bed.plan_file))
    if not plan.steps:
        return "nothing to do"
    with during():
        loop = Loop(plan, bed.state, bed.tree, bed.dirs[-1] if draw.two_disks else None)
        check = Checked(bed, draw, loop)
        check.said_as_much(ran.code, plan)
        for command in COMMANDS:
            for turn in range(STOPS):
                check.stopped(command, draw.chance((command, turn)))
    return "ok"


@dataclass
class Checked:
    """A plan stopped by chance, and what `check` says after it."""

    bed: Bed
    draw: Draw
    loop: Loop

    def __post_init__(self) -> None:
        shutil.rmtree(self.bed.state, ignore_errors=True)
        self.loop.act("apply")
        self.found, self.start = self.findings(), self.bad_start()
        self.loop.act("undo")
        assert self.loop.look() == self.loop.before, "undone: other bytes"

    def said_as_much(self, code: int, plan: Plan) -> None:
        """The plan is no all-clear over a start that a forecast says is bad, nor an alarm over a good one."""
        why = code, [*map(str, plan.left)], f"the start: {self.start}", plan.forecast
        assert (code == 4) == bool(plan.left or self.start), why

    def bad_start(self) -> str:
        """What a forecast of these dirs says is not well; nothing of what is deleted later, or not known."""
        given = [each.given for each in self.loop.plan.dirs]
        ran = self.bed.run("forecast", *given, "--kafka", self.bed.version, "--json")
        assert ran.code in (0, 4), (ran.code, ran.err[-600:])
        if ran.json[-1]["supposed"]:
            return ""
        rows = [row | {"unknown": []} if row["type"] == "broker" else row for row in ran.json]
        return str([row for row in rows if of_forecast([row, rows[-1]])]) if of_forecast(rows) else ""

    def findings(self) -> list[str]:
        ran = self.bed.run("check", *self.bed.dirs, "--kafka", self.bed.version, "--json", "--max", 0)
        assert ran.code in (0, 4), (ran.code, ran.err[-600:])
        return sorted(f"{row['code']} {row['file']}" for row in ran.of("finding"))

    def stopped(self, command: str, chance: random.Random) -> None:
        """Once, perhaps a second time in what came next; then to both ends."""
        loop, said = self.loop, [command]
        shutil.rmtree(self.bed.state, ignore_errors=True)
        if command == "undo":
            loop.act("apply")
        self.stop(command, chance, said)
        if any(run.events for run in runs(str(self.bed.state))):
            if chance.random() < 0.4:
                self.stop(chance.choice(COMMANDS), chance, said)
            if chance.random() < 0.6:
                loop.act("apply")
                assert loop.planned() == loop.after, f"{said}: applied: other bytes"
                assert self.findings() == self.found, f"{said}: check finds something else"
            with suppress(*STOPPED):
                loop.act("undo")
        assert loop.look() == loop.before, f"{said}: undone: other bytes"

    def stop(self, command: str, chance: random.Random, said: list[str]) -> None:
        fx = self.drawn(command, chance)
        said.append(f"{command} {type(fx).__name__} at {vars(fx).get('_at')}")
        with suppress(*STOPPED):
            self.loop.act(command, fx)
        if isinstance(fx, Unplugged):
            fx.power_off(chance if chance.random() < 0.5 else None)
            shutil.rmtree(self.bed.root / "stash", ignore_errors=True)

    def drawn(self, command: str, chance: random.Random) -> Disk:
        calls = self.loop.calls[command]
        thread = chance.choice([None, None, *sorted({*calls.threads})])
        last = calls.calls if thread is None else calls.threads.count(thread)
        at, other = chance.randint(1, last), self.loop.other
        kind = chance.choice(["killed", "half", "refused", "for good", "unplugged"])
        if kind == "unplugged":
            return Unplugged(at, self.bed.root / "stash", other)
        if kind in ("killed", "half"):
            return Mortal(at, other, half=kind == "half", thread=thread)
        return Failing(at, chance.choice(ERRORS), other, stays=kind == "for good", thread=thread)


def play(numbers: Iterable[int], seed: int, goldens: Sequence[str], home: Path) -> Counter[str]:
    """Play them all; how many ended how."""

    def trial(number: int, folder: Path) -> list[str]:
        draw = Draw.of(seed, number, goldens)
        (folder / "case").mkdir()
        try:
            said = played(draw, unpack(GOLDEN / f"{draw.golden}.tar.xz", folder / "whole"), folder / "case")
        except Exception as error:
            error.add_note(str(draw))
            raise
        if said.startswith("refused"):
            print(f"{draw}: {said}", flush=True)
        return [said.partition(" (")[0]]

    with plans_read_once(), nobody_else():
        return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.drawn", GOLDENS, play))
