"""Chains of surgery as an outsider does it: `python -m tests.surgery.chains [--seed N] [--count N]`.

Damage of several operations lies on a copy of a golden directory whose path has a blank. Two to five
acts are drawn: a plan made and applied (killed, twice at once, by one who may not), plans composed, a second
plan over the first, undo in whatever order, the way back of a plan in the middle, records that came since,
dirs called otherwise meanwhile. No byte may be lost, no refusal may change anything, exit codes are those of
`errors.py`, each printed command is pasted and does what it says, and `check` finds no error that was not
there. In the end all is taken back by what is printed: where nobody wrote, to the last time of a file.
"""

import json
import os
import random
import re
import shlex
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path

from tests.checks.test_next_commands import BROUGHT_TO_LIGHT
from tests.cli.run import Ran
from tests.conftest import GOLDEN
from tests.faults.on_disk import lengthen
from tests.golden.unpack import unpack
from tests.surgery.child import NOBODY, begun_and_heard
from tests.surgery.desk import left_code_of
from tests.surgery.drawn import GOLDENS
from tests.surgery.picture import Tree
from tests.surgery.shows.bed import Bed
from tests.surgery.shows.matrix import cases_of, refusal
from tests.surgery.story import difference
from tests.surgery.test_kill import suicide
from tests.surgery.trials import each_of, main

from segmend.errors import EXIT_CODES
from segmend.logdir.disk import FileReader

UNFIT = ("balance", "quarantine-restore", "free")
"""They have plans applied, or need more than the dirs."""
MANNERS = (
    "plainly",
    "plainly",
    "killed",
    "killed and back",
    "two at once",
    "by a stranger",
    "rehearsed",
    "other backups",
)
PASTED = re.compile(r"segmend (undo|plan reverse) ('[^']*'|[^\s'`);]+)")
HIDDEN = {*BROUGHT_TO_LIGHT, "N20", "N27"}
"""Faults that others hide: also what lines, or the cluster's metadata, tell as soon as they can be read."""
PARTS = 8
"""In so many a file may lie."""
ALL_CODES = sum(EXIT_CODES)


def covered(piece: bytes, every: bytes) -> bool:
    """Whether it is there, perhaps in parts: the head of what was cut stays, its end is with the journal."""
    for _ in range(PARTS):
        shortest, longest = 0, len(piece)
        while shortest < longest:
            middle = (shortest + longest + 1) // 2
            if piece[:middle] in every:
                shortest = middle
            else:
                longest = middle - 1
        piece = piece[shortest:]
        if not piece:
            return True
    return False


def contents(*roots: Path) -> list[bytes]:
    """What is in every file below; without the zeros at the end of a killed broker's indexes."""
    files = (path for root in roots if root.exists() for path in sorted(root.rglob("*")))
    return [data(path) for path in files if path.is_file()]


def data(path: Path) -> bytes:
    """The bytes of a file that take room."""
    with FileReader(str(path)) as reader:
        return b"".join(reader.read(end - start, start) for start, end in reader.extents()).rstrip(b"\0")


@dataclass
class Outsider:
    """Who has a shell on the machine: `wanted` are the bytes that must be somewhere, `said` what was done."""

    bed: Bed
    chance: random.Random
    said: list[str] = field(default_factory=list)
    wanted: set[bytes] = field(default_factory=set)
    foreign: bool = False
    """Whether somebody else wrote since: then not all goes back."""
    plans: int = 0

    @property
    def home(self) -> Path:
        return self.bed.root / "state home"

    @property
    def state(self) -> Path:
        return self.home / "segmend"

    @property
    def places(self) -> tuple[Path, ...]:
        """Where bytes may lie."""
        return self.bed.home, self.home, *(self.bed.root / name for name in ("elsewhere", "disks elsewhere"))

    def fork(self, *argv: object, die: int = 0, uid: int = 0) -> Callable[[], Ran]:
        """The command as a process of its own, begun; the call waits for its end."""
        words = [str(each) for each in argv]
        self.said.append(shlex.join(["segmend", *words]) + (f"  # killed at {die}" if die else ""))

        def act() -> int:
            os.chdir(self.bed.root)
            os.environ["XDG_STATE_HOME"] = str(self.home)
            return suicide(die, words)[0]

        heard = begun_and_heard(act, self.bed.root, uid)

        def ended() -> Ran:
            ran = heard()
            self.said.append(f"  -> {ran.code} {(ran.err.strip() or ran.out.strip())[-300:]}")
            return ran

        return ended

    def run(self, *argv: object, die: int = 0, uid: int = 0) -> Ran:
        """The command, to its end or its death."""
        before = self.bed.tree()
        ran = self.fork(*argv, die=die, uid=uid)()
        self.judge(ran, before, died=bool(die))
        if argv[0] != "plan":
            self.look()
        return ran

    def judge(self, ran: Ran, before: Tree, *, died: bool = False) -> None:
        """What holds for every command."""
        assert "Traceback" not in ran.err, ran.err
        assert ran.code == -signal.SIGKILL if died and ran.code < 0 else 0 <= ran.code <= ALL_CODES, ran.code
        refused = ran.code in (16, 64) or "nothing was changed" in ran.err
        if refused and ran.code > 0:
            assert difference(before, self.bed.tree()) == {}, "refused, and changed"

    def look(self) -> None:
        """Every byte is somewhere."""
        held = contents(*self.places)
        missing = self.wanted - {*held}
        if missing:
            every = b"\0\1\0".join(held)
            gone = [each for each in missing if not covered(each, every)]
            assert not gone, f"LOST: {len(gone)} pieces, {gone[0][:80]!r}"

    def want(self) -> None:
        """What is there now, by whoever, is to be kept."""
        self.wanted |= {*contents(self.bed.home)}

    def errors(self) -> Counter[str]:
        """The errors that `check` finds, by code; also what others explain so far, as less than that."""
        ran = self.bed.run("check", *self.bed.dirs, "--kafka", self.bed.version, "--json", "--max", 0)
        assert ran.code in (0, 4), (ran.code, ran.err)
        return Counter(row["code"] for row in ran.of("finding") if row["severity"] == "error" or row["cause"])

    def begun(self) -> list[dict[str, str]]:
        """All journals."""
        return self.fork("journal", "list", "--json")().of("journal")

    def planned(self, *argv: object) -> str | None:
        """The file of a plan with steps, None if there is none."""
        self.plans += 1
        name = f"plan {self.plans}.json"
        before = self.bed.tree()
        ran = self.run("plan", *argv, "-o", name)
        assert difference(before, self.bed.tree()) == {}, "planning changed something"
        assert ran.code in (0, 4, 8, 16), ran.code
        if ran.code in (8, 16):
            assert ran.err.strip(), "no plan, and no reason"
            return None
        if not json.loads((self.bed.root / name).read_bytes())["steps"]:
            return None
        assert f"next: segmend apply {shlex.quote(name)}" in ran.out, ran.out[-300:]
        return name

    def applied(self, name: str, manner: str, *, hurts: bool = False) -> None:
        """A plan applied, one way or the other; one that `hurts` brings back what was wrong."""
        errors, tree = self.errors(), self.bed.tree()
        command = ("apply", name, "--yes")
        death = int(exp(self.chance.uniform(0, log(250))))
        if manner == "other backups":
            command = (*command, "--backup-dir", self.bed.root / "elsewhere" / "old bytes")
        if manner == "by a stranger":
            ran = self.run(*command, uid=NOBODY)
            assert ran.code in (8, 16), "one who may not did it"
            assert difference(tree, self.bed.tree()) == {}
        if manner == "rehearsed":
            ran = self.run(*command, "--dry-run")
            assert difference(tree, self.bed.tree()) == {}
            assert ran.code in (0, 8), ran.code
            assert (self.run(*command).code in (1, 5)) is (ran.code == 0), "not as rehearsed"
            return
        if manner.startswith("killed"):
            ran = self.run(*command, die=death)
            stopped = [row["journal"] for row in self.begun() if row["state"] == "applying"]
            if manner.endswith("back") and ran.code < 0 and stopped:
                again = self.run("undo", stopped[-1], "--yes", die=int(exp(self.chance.uniform(0, log(150)))))
                if again.code < 0:
                    again = self.run("undo", stopped[-1], "--yes")
                assert again.code == 0, again
                assert difference(tree, self.bed.tree()) == {}, "killed and taken back: other bytes"
        if manner == "two at once":
            both = [self.fork(*command), self.fork(*command)]
            ran, other = (each() for each in both)
            assert {ran.code, other.code} <= {1, 5, 8, 64}, (ran, other)
            assert not {1, 5}.isdisjoint({ran.code, other.code}) or ran.code == other.code == 8, (ran, other)
        ran = self.run(*command)
        assert ran.code in (1, 5, 8, 16), ran
        if ran.code in (1, 5):
            worse = (self.errors() - errors).keys() - HIDDEN
            assert hurts or not worse, f"check finds more: {worse}"
            if difference(tree, self.bed.tree()):  # else it was applied before
                self.back_and_again(ran, tree)

    def back_and_again(self, ran: Ran, tree: Tree) -> None:
        """What is printed for the way back, pasted now and then; once more it is applied again."""
        if self.chance.random() < 0.4:
            after = self.bed.tree()
            back = self.pasted(ran)
            assert back.code == 0, back
            assert difference(tree, self.bed.tree()) == {}, "undone as printed: other bytes"
            again = self.pasted(back)
            assert again.code in (1, 5), again
            moved = difference(
                times_of_new_left_out(after, tree), times_of_new_left_out(self.bed.tree(), tree)
            )
            assert moved == {}, "applied again as printed: other bytes"

    def pasted(self, ran: Ran) -> Ran:
        """The last command that was printed."""
        text = ran.out + ran.err
        found = [match[0] for match in PASTED.finditer(text)]
        assert found, f"no command in {text[-400:]}"
        words = shlex.split(found[-1])[1:]
        if words[0] == "undo":
            return self.run(*words, "--yes")
        self.plans += 1
        name = f"plan {self.plans}.json"
        planned = self.run(*words, "-o", name)
        assert planned.code in (0, 4, 8), planned
        if planned.code == 8 or "next: segmend apply" not in planned.out:
            return planned
        return self.run("apply", name, "--yes")

    def undone(self, name: str) -> Ran:
        """A journal taken back, and first what it names."""
        for _ in range(20):
            ran = self.run("undo", name, "--yes")
            if ran.code != 8 or "first: segmend undo" not in ran.err:
                return ran
            other = PASTED.search(ran.err)
            assert other is not None
            first = self.undone(shlex.split(other[2])[0])
            if first.code == 8:  # it names `plan reverse`
                return first
        raise AssertionError("one undo names the other for ever")


def times_of_new_left_out(tree: Tree, before: Tree) -> Tree:
    """A file that is made has the time at which it was made."""
    return {
        path: row if row[3:4] == before.get(path, ())[3:4] else (*row[:3], *row[4:])
        for path, row in tree.items()
    }


class Acts:
    """What may come next; each is a method."""

    def __init__(self, who: Outsider, asked: Sequence[tuple[object, ...]]) -> None:
        self.who, self.asked, self.chance = who, asked, who.chance

    def operate(self) -> None:
        """One plan, made now and applied."""
        if name := self.who.planned(*self.one()):
            self.who.applied(name, self.chance.choice(MANNERS))

    def compose(self) -> None:
        """Two made now, applied as one; or the one, and then the other is too old or still fits."""
        names = [name for name in (self.who.planned(*self.one()), self.who.planned(*self.one())) if name]
        if len(names) == 2 and self.chance.random() < 0.6:
            if name := self.who.planned("compose", *names):
                self.who.applied(name, self.chance.choice(MANNERS))
            return
        for name in names:
            self.who.applied(name, "plainly")

    def undo(self) -> None:
        """Any journal."""
        if begun := self.who.begun():
            chosen = self.chance.choice(begun)["journal"]
            ran = self.who.run("undo", chosen, "--yes")
            assert ran.code in (0, 1, 5, 8), ran
            if ran.code == 8 and self.chance.random() < 0.5:
                self.who.undone(chosen)

    def reverse(self) -> None:
        """The way back from today's files, though nobody was there."""
        applied = [row["journal"] for row in self.who.begun() if row["state"] == "applied"]
        if applied and (name := self.who.planned("reverse", self.chance.choice(applied))):
            self.who.applied(name, self.chance.choice(MANNERS), hurts=True)

    def somebody_writes(self) -> None:
        """Something at the end of some log, as a broker appends a batch."""
        who = self.who
        logs = [
            path for d in who.bed.dirs for path in d.glob("*-?/*.log") if "cluster" not in path.parent.name
        ]
        path = self.chance.choice(sorted(logs))
        who.said.append(f"# appended to {path}")
        since = b"what came since, by whomever: %d" % self.chance.getrandbits(60)
        lengthen(path, since)
        who.foreign = True
        who.wanted.add(since)

    def called_otherwise(self) -> None:
        """The disks lie elsewhere for a while: nothing is to be done there, and nothing lost."""
        who = self.who
        other = who.bed.root / "disks elsewhere"
        who.bed.home.rename(other)
        begun = who.begun()
        for words in (["undo", row["journal"], "--yes"] for row in begun):
            before = who.bed.root / "disks"
            ran = who.fork(*words)()
            assert ran.code in (8, 16), ran
            assert not before.exists(), "made a place of its own"
            assert "Traceback" not in ran.err, ran.err
        who.look()
        other.rename(who.bed.home)

    def restore(self) -> None:
        """One thing of those set aside; the list says so."""
        who = self.who
        kept = [row for row in who.fork("quarantine", "list", "--json")().json if row["state"] == "kept"]
        if not kept:
            return
        row = self.chance.choice(kept)
        who.plans += 1
        name = f"plan {who.plans}.json"
        ran = who.run("quarantine", "restore", row["item"], "-o", name)
        assert ran.code == 8 or ran.code == left_code_of(who.bed.root / name), ran
        if ran.code != 8:
            who.applied(name, "plainly", hurts=True)
            after = {each["item"]: each["state"] for each in who.fork("quarantine", "list", "--json")().json}
            assert after[row["item"]] == ("restored" if row["kind"] == "dir" else "kept"), after

    def journals_elsewhere(self) -> None:
        """The state dir lies elsewhere for a while; a journal was copied."""
        who, copied = self.who, self.who.bed.root / "copied"
        if not who.state.exists():
            return
        moved = who.home / "moved"
        who.state.rename(moved)
        for row in who.fork("journal", "list", "--json", "--state-dir", moved)().of("journal"):
            if row["state"] == "applied":
                ran = who.run("undo", row["journal"], "--yes", "--state-dir", moved)
                assert ran.code in (0, 8), ran  # what --backup-dir took lies where it lay
        moved.rename(who.state)
        applied = [row for row in who.begun() if row["state"] == "applied"]
        if applied and not copied.exists():
            shutil.copytree(self.chance.choice(applied)["path"], copied)
            ran = who.run("undo", copied, "--dry-run")
            assert ran.code in (0, 8), ran
            shutil.rmtree(copied)

    def one(self) -> tuple[object, ...]:
        return (*self.chance.choice(self.asked), "--kafka", self.who.bed.version)

    def play(self) -> None:
        names = ["operate"] * 5 + ["compose"] * 2 + ["undo"] * 2
        names += ["reverse", "called_otherwise", "restore", "restore", "journals_elsewhere"]
        names += ["somebody_writes"] * (self.chance.random() < 0.3)
        self.operate()
        for _ in range(self.chance.randint(1, 4)):
            getattr(self, self.chance.choice(names))()


def generic(bed: Bed, chance: random.Random) -> Iterator[tuple[object, ...]]:
    """Operations that need no damage."""
    known = {path.name for path in bed.whole.glob("d*/*-[0-9]") if not path.name.startswith("__")}
    homes = sorted(path for d in bed.dirs for path in d.glob("*-[0-9]") if path.name in known)
    for home in chance.sample(homes, 3):
        topic = home.name.rpartition("-")[0]
        other = next(d for d in bed.dirs if d != home.parent)
        yield "move", *bed.dirs, "--partition", home.name, "--to", other
        yield "rename", *bed.dirs, "--topic", topic, "--to", "new.{topic}", "--even-stray"
        yield "delete", *bed.dirs, "--partition", home.name, "--replica", bed.other(home.name).parent
    yield "drain", *bed.dirs, "--from", chance.choice(bed.dirs)
    yield "repair", *bed.dirs
    yield "trim", *bed.dirs


def taken_back(who: Outsider, before: Tree) -> None:
    """By the printed commands alone."""
    for _ in range(12):
        open_ones = [row for row in who.begun() if row["state"] in ("applied", "applying", "undoing")]
        if not open_ones:
            break
        chosen = who.chance.choice(open_ones)["journal"]
        ran = who.undone(chosen)
        if ran.code not in (0, 1, 5):
            assert who.foreign, ran
            assert ran.code == 8, ran
            if "plan reverse" in ran.err:
                who.pasted(ran)
            return
    if not who.foreign:
        assert not open_ones or len(open_ones) < 12
        left = difference(before, who.bed.tree())
        assert left == {}, f"all taken back: other bytes {list(left.items())[:3]}"


def played(seed: int, number: int, goldens: Sequence[str], folder: Path) -> list[str]:
    """One chain: each command that was given; what is raised has a note of all that was typed."""
    chance = random.Random(f"{seed} {number} chain")
    golden = chance.choice(goldens)
    root = folder / "a case"
    root.mkdir()
    root.chmod(0o755)
    bed = Bed(golden, unpack(GOLDEN / f"{golden}.tar.xz", folder / "whole"), root)
    cases = [case for case in cases_of(golden) if refusal(golden, case) is None and case.name not in UNFIT]
    asked = []
    for case in chance.sample(cases, chance.randint(1, 4)):
        try:
            asked.append(case.ask(bed).argv)
        except (StopIteration, OSError, IndexError, ValueError, AssertionError):
            continue  # what one damage needs another took
    asked += chance.sample(list(generic(bed, chance)), 3)
    who = Outsider(bed, chance, [f"--seed {seed} --only {number}: {golden}"])
    who.home.mkdir()
    who.want()
    before = bed.tree()
    try:
        Acts(who, asked).play()
        taken_back(who, before)
    except Exception as error:
        error.add_note("\n".join(who.said))
        raise
    return ["ok", *(line.split()[1] for line in who.said if line.startswith("segmend "))]


def play(numbers: Iterable[int], seed: int, goldens: Sequence[str], home: Path) -> Counter[str]:
    """How many of each command were given, and how many chains disagree, which are printed."""
    return each_of(numbers, home, lambda number, folder: played(seed, number, goldens, folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.chains", GOLDENS, play))
