"""Two operators, each with a plan of his own: `python -m tests.surgery.two_surgeons [--seed N] [--count N]`.

Damage of one to three operations lies on a copy of a golden directory. Each of the two makes a plan, now and
then of the same thing, with a state dir of his own or a shared one; then both are applied and taken back in
any order, some by `--dry-run` first, some killed on the way and given again. A sound batch is live or set
aside for good, and what one takes away with his undo was never live before; a refusal changes nothing, and
does not speak of lost lines of a journal, since nobody took any; `check` finds no error that was not there
before or beside the other's work. In the end each takes his own back, in an order that is drawn or as what is
printed says, and all is as it was, to the last time of a file.
"""

from __future__ import annotations

import hashlib
import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path

import crc32c
from tests.cli.run import Ran
from tests.conftest import GOLDEN
from tests.golden.unpack import unpack
from tests.surgery.chains import HIDDEN, UNFIT, Outsider, generic
from tests.surgery.drawn import GOLDENS
from tests.surgery.picture import Tree
from tests.surgery.shows.bed import Bed
from tests.surgery.shows.matrix import cases_of, refusal
from tests.surgery.story import difference
from tests.surgery.trials import each_of, main, nobody_else

from segmend.surgery.execute.preconditions import LOST, LOST_OR_NOT

SURGEONS = ("anna", "boris")
TURNS = 9
PARTS = ("tail", "old", "appended", "before")
"""What steps keep of a log."""
DONE = (1, 5)
"""What an `apply` says that did something."""


def batches(*roots: Path) -> set[str]:
    """The hashes of all batches, or messages, with a right checksum in logs below, or parts of them."""
    logs = (p for root in roots if root.exists() for p in root.rglob("*") if p.name in PARTS or is_log(p))
    files = (path.read_bytes().rstrip(b"\0") + bytes(64) for path in logs if path.is_file())
    # The ends of a killed broker's indexes are MiB of zeros.
    return {found for data in files for found in _batches(data)}


def is_log(path: Path) -> bool:
    return path.suffix == ".log"


def _batches(data: bytes) -> Iterator[str]:
    """Behind a length that is none, what comes next is looked for at every byte."""
    at = 0
    while at + 26 <= len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "big", signed=True) + 12
        piece = data[at : at + size]
        if size < 26 or len(piece) < size or not _sound(piece):
            at += 1
            continue
        yield hashlib.sha256(piece).hexdigest()
        at += size


def _sound(piece: bytes) -> bool:
    if piece[16] == 2:
        return len(piece) >= 61 and crc32c.crc32c(piece[21:]) == int.from_bytes(piece[17:21], "big")
    return piece[16] in (0, 1) and zlib.crc32(piece[16:]) == int.from_bytes(piece[12:16], "big")


@dataclass
class Theatre(Outsider):
    """The dirs, and the two: `asked` of each, his `plan`s, his state dir."""

    asked: dict[str, Sequence[object]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    states: dict[str, Path] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)
    """The batches that were live when it began."""
    usual: Counter[str] = field(default_factory=Counter)
    before: Tree = field(default_factory=dict)

    @property
    def places(self) -> tuple[Path, ...]:
        return (*super().places, *self.states.values())

    def act(self, who: str, command: str, *more: object, die: int = 0) -> Ran:
        """One command of one of them, and what holds after it."""
        state = self.states[who]
        word = self.files[who] if command == "apply" else self.journal(who)
        if word is None:
            return Ran(16, "", "")
        live = batches(self.bed.home)
        errors = self.errors()
        before = self.bed.tree()
        ran = self.run(command, word, "--yes", "--state-dir", state, *more, die=die)
        self.no_line_is_lost(ran)
        if "--dry-run" in more or ran.code in (8, 16, 64):
            told = difference(before, self.bed.tree())
            assert told == {}, f"refused or rehearsed, and changed: {told}"
            return ran
        gone = self.sound - batches(*self.places)
        assert not gone, f"LOST: {len(gone)} batches are nowhere"
        if command == "undo" and ran.code == 0:
            self.still_live(live)
        if ran.code >= 0:
            worse = (self.errors() - errors - self.usual).keys() - HIDDEN
            assert not worse, f"check finds more: {worse}"
        return ran

    def still_live(self, live: set[str]) -> None:
        """What was so before an undo, and from the beginning."""
        away = (live & self.sound) - batches(self.bed.home)
        assert not away, f"an undo took {len(away)} batches away that were live from the beginning"

    def no_line_is_lost(self, ran: Ran) -> None:
        """Nobody took one: of who was killed before the first it is not known, and said so."""
        assert LOST not in ran.err.replace(LOST_OR_NOT, ""), ran.err
        assert LOST_OR_NOT not in ran.err or any("killed" in line for line in self.said), ran.err

    def journal(self, who: str) -> str | None:
        """His own, newest first, of his plan."""
        plan = (self.bed.root / self.files[who]).read_bytes()
        for path in sorted(self.states[who].glob("journals/*"), reverse=True):
            if (path / "plan.json").is_file() and (path / "plan.json").read_bytes() == plan:
                return str(path)
        return None

    def planned_by(self, who: str) -> bool:
        name = self.planned(*self.asked[who])
        if name is not None:
            self.files[who] = name
        return name is not None

    def turn(self) -> None:
        who, chance = self.chance.choice(SURGEONS), self.chance
        command = chance.choice(["apply", "apply", "undo"])
        if chance.random() < 0.15:
            rehearsed = self.act(who, command, "--dry-run").code
            done = self.act(who, command).code
            assert rehearsed in (8, 16, 64) or done in (0, *DONE), "not as rehearsed"
            return
        if chance.random() < 0.25:
            ran = self.act(who, command, die=int(exp(chance.uniform(0, log(150)))))
            if ran.code < 0 and chance.random() < 0.7:
                ran = self.act(who, chance.choice([command, "apply", "undo"]))
                assert ran.code in (0, *DONE, 8, 16), ran
            return
        ran = self.act(who, command)
        assert ran.code in (0, *DONE, 8, 16), ran
        if command == "apply" and "make the plan again" in ran.err and chance.random() < 0.5:
            self.again(who)

    def again(self, who: str) -> None:
        """The refusal says so: what is made now fits."""
        if self.open_of(who):
            return
        if self.planned_by(who):
            ran = self.act(who, "apply")
            assert ran.code in DONE, ran

    def open_of(self, who: str) -> list[str]:
        """His journals that are to be taken back."""
        rows = self.fork("journal", "list", "--json", "--state-dir", self.states[who])().of("journal")
        return [str(row["path"]) for row in rows if row["state"] in ("applied", "applying", "undoing")]

    def taken_back(self) -> None:
        """Each his own, in any order; who is refused waits for the other."""
        for _ in range(8):
            mine = {path: who for who in SURGEONS for path in self.open_of(who)}  # It may be both's.
            if not mine:
                break
            for path, who in self.chance.sample(sorted(mine.items()), len(mine)):
                before, live = self.bed.tree(), batches(self.bed.home)
                ran = self.run("undo", path, "--yes", "--state-dir", self.states[who])
                self.no_line_is_lost(ran)
                if ran.code == 0:
                    self.still_live(live)
                else:
                    assert ran.code == 8, ran
                    assert difference(before, self.bed.tree()) == {}, ran
        assert not mine, "neither can go back"
        left = difference(self.before, self.bed.tree())
        assert left == {}, f"all taken back: other bytes {list(left.items())[:3]}"


def played(seed: int, number: int, goldens: Sequence[str], folder: Path) -> list[str]:
    chance = random.Random(f"{seed} {number} two surgeons")
    golden = chance.choice(goldens)
    root = folder / "a case"
    root.mkdir()
    root.chmod(0o755)
    bed = Bed(golden, unpack(GOLDEN / f"{golden}.tar.xz", folder / "whole"), root)
    cases = [case for case in cases_of(golden) if refusal(golden, case) is None and case.name not in UNFIT]
    asked: list[tuple[object, ...]] = []
    for case in chance.sample(cases, chance.randint(1, 3)):
        try:
            asked.append(case.ask(bed).argv)
        except (StopIteration, OSError, IndexError, ValueError, AssertionError):
            continue  # what one damage needs another took
    asked += chance.sample(list(generic(bed, chance)), 2)
    theatre = Theatre(bed, chance, [f"--seed {seed} --only {number}: {golden}"])
    theatre.home.mkdir()
    shared = chance.random() < 0.5
    for who in SURGEONS:
        theatre.states[who] = root / ("shared state" if shared else f"state of {who}")
        theatre.asked[who] = (*chance.choice(asked), "--kafka", bed.version)
    if chance.random() < 0.4:
        theatre.asked["boris"] = theatre.asked["anna"]
    theatre.want()
    theatre.before, theatre.sound, theatre.usual = bed.tree(), batches(bed.home), theatre.errors()
    try:
        if not all([theatre.planned_by(who) for who in SURGEONS]):
            return ["no plan"]
        for _ in range(chance.randint(2, TURNS)):
            theatre.turn()
        theatre.taken_back()
    except Exception as error:
        error.add_note("\n".join(map(str, theatre.said)))
        raise
    codes = [line.split()[1] for line in theatre.said if line.startswith("  -> ")]
    return ["shared" if shared else "own", *(f"exit {code}" for code in codes)]


def play(numbers: Iterable[int], seed: int, goldens: Sequence[str], home: Path) -> Counter[str]:
    """How many of each end, and how many trials disagree, which are printed."""
    with nobody_else():
        return each_of(numbers, home, lambda number, folder: played(seed, number, goldens, folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.two_surgeons", GOLDENS, play, count=40))
