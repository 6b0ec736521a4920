"""Rights taken away at random: `python -m tests.surgery.denied [--seed N] [--count N] [OPERATION...]`.

Drawn are the operation, the user (root or a normal one), which right goes (modes, owners, groups, `chattr`,
a read-only mount) of which file or directory, and when: before the plan, before `apply`, after a kill in the
middle of `apply` or of `undo`, before `undo`. Each command then does its work, or is refused with nothing
changed by a line that says what to do; who does exactly that has it done. In the end all bytes are back.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.cli.run import Ran
from tests.conftest import GOLDEN
from tests.copies import copy_tree
from tests.golden.unpack import unpack
from tests.memory import another_disk, prefix
from tests.removal import remove
from tests.surgery.child import NOBODY, begun_and_heard, owned_by_nobody
from tests.surgery.picture import Tree, picture
from tests.surgery.shows.bed import Asked, Bed, Case
from tests.surgery.shows.matrix import CASES
from tests.surgery.test_kill import suicide
from tests.surgery.trials import Drawn, each_of, main, nobody_else

from segmend.surgery.execute.runs import runs
from segmend.surgery.plan import Plan

OPERATIONS = ("drain", "balance", "free", "adopt", "trim", "repair", "graft")
MOMENTS = ("plan", "apply", "in apply, then apply", "in apply, then undo", "undo", "in undo")
FILE_MODES = (0o000, 0o040, 0o200, 0o400, 0o444, 0o555)
DIR_MODES = (0o000, 0o111, 0o200, 0o333, 0o300, 0o400, 0o444, 0o500, 0o555, 0o600)
TRIES = 8
"""So many lines that say what to do are followed one after the other."""


@dataclass(frozen=True)
class Draw(Drawn):
    """One of them; `golden` is the operation's case."""

    normal: bool
    moment: str
    apart: bool

    @classmethod
    def of(cls, seed: int, number: int, operations: Sequence[str]) -> Draw:
        chance = random.Random(f"{seed} {number}")
        operation = chance.choice(operations)
        names = [each.name for each in CASES if each.name.partition("-")[0] == operation]
        return cls(
            seed, number, chance.choice(names), chance.random() < 0.75, chance.choice(MOMENTS),
            chance.random() < 0.5,
        )  # fmt: skip

    @property
    def case(self) -> Case:
        return next(each for each in CASES if each.name == self.golden)

    def __str__(self) -> str:
        user = "a normal user" if self.normal else "root"
        disks = "two disks" if self.apart else "one disk"
        return f"{self.again}: {self.golden}, {user}, {disks}, {self.moment}"


@dataclass
class Trial:
    """A bed, who is at work on it, and what was done to rights so far."""

    draw: Draw
    bed: Bed
    root: Path
    elsewhere: Path
    asked: Asked
    uid: int
    touched: set[Path] = field(default_factory=set)
    story: list[str] = field(default_factory=list)
    mounts: list[Path] = field(default_factory=list)
    reversed: bool = False

    # What is looked at.

    def look(self) -> Tree:
        """All that the plan may change."""
        return picture(self.bed.home) | (picture(self.elsewhere) if self.draw.apart else {})

    def without_rights(self, tree: Tree) -> Tree:
        """All but what was done to rights here."""
        return {path: row[3:] if Path(path) in self.touched else row for path, row in tree.items()}

    # What is done.

    def run(self, *argv: object, at: int = 0) -> Ran:
        """As the user; killed at a change of the disk, if it is not 0."""
        words = [str(each) for each in argv]
        with self.asked.during():
            return begun_and_heard(lambda: suicide(at, words)[0], self.root / "heard", self.uid)()

    def done(self, codes: Sequence[int], *argv: object) -> Ran:
        """The command, after whatever it says is to be done; raises AssertionError."""
        followed: list[str] = []
        for _ in range(TRIES):
            before, journal = picture(self.root), self.events()
            ran = self.run(*argv)
            self.story.append(f"{' '.join(map(str, argv))[-60:]}: {ran.code} {ran.err.strip()[-400:]}")
            assert "Traceback" not in ran.err + ran.out, self.told()
            if ran.code in codes:
                return ran
            assert ran.code in (8, 16, 64), self.told()
            assert len(ran.err.strip().splitlines()) == 1, self.told()
            now = picture(self.root)
            differ = [p for p in before.keys() | now.keys() if before.get(p) != now.get(p)]
            differ = [p for p in differ if not p.startswith(str(self.root / "heard"))]
            assert not differ, f"refused, and changed {sorted(differ)[:4]}: {self.told()}"
            assert self.events() == journal
            hints = self.hints(ran.err)
            self.story.append(f"  {[each[0] for each in hints]}")
            new = {each[0] for each in hints} - {*followed}
            assert new, f"nothing new to do: {self.told()}"
            # What is new to do may ask for another plan once more.
            hints = [each for each in hints if each[0] in {*new, "plan again"}]
            for words, act in hints:
                followed.append(words)
                act()
            if self.reversed:
                return ran
        raise AssertionError(f"too many refusals: {self.told()}")

    def events(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.bed.state.glob("journals/*/journal.jsonl"))]

    def told(self) -> str:
        return "\n".join(["", str(self.draw), *self.story])

    def hints(self, line: str) -> list[tuple[str, Callable[[], object]]]:
        """What a line says is to be done; of two ways the first."""
        found: list[tuple[str, Callable[[], object]]] = []
        bare = r"(?:^|[ ;])(/[^;:]*?): [^;]*?\(((?:ch[a-z]+ [^ ),]+(?:, )?)+)(?:\)| and plan)"
        for path, said in re.findall(bare, line):
            found += [(f"{how} {path}", partial(self.chmod, path, how)) for how in said.split(", ")]
        for how, path in re.findall(r"(chmod u[+][rwx]+) (/[^ ;)]+)", line):
            found.append((f"{how} {path}", partial(self.chmod, path, how)))
        for path in re.findall(r"(/[^;:]*?): is made immutable", line):
            found.append((f"chattr {path}", partial(self.chattr, path)))
        if "mounted read-only; mount it writable" in line:
            found.append(("mount", self.unmount))
        if "and plan again" in line or ("make the plan again" in line and not found):
            back = re.search(r"\(segmend undo ([^)]*)\)", line)
            found += [("undo", partial(self.back, back[1]))] if back else []
            found.append(("plan again", self.plan))
        if not found and re.search("run this as (that user|root)", line) and self.uid:
            found.append(("as root", self.as_root))
        way = re.search(r"segmend plan reverse ([^)]*)\)", line)
        if not found and way:
            found.append(("reverse", partial(self.reverse, way[1])))
        return found

    def back(self, journal: str) -> None:
        self.done((0,), "undo", journal, "--yes", "--state-dir", self.bed.state)

    def reverse(self, journal: str) -> None:
        file = self.root / "back.json"
        self.done((0, 4), "plan", "reverse", journal, "--state-dir", self.bed.state, "-o", file)
        self.done((0, 1, 4, 5), "apply", file, "--yes", "--state-dir", self.bed.state)
        self.reversed = True

    def chattr(self, path: str) -> None:
        subprocess.run(["chattr", "-i", "-a", path], check=True)

    def chmod(self, path: str, how: str) -> None:
        self.touched.add(Path(path))
        subprocess.run([*how.split(), path], check=True)

    def as_root(self) -> None:
        self.uid = 0

    def unmount(self) -> None:
        while self.mounts:
            subprocess.run(["umount", self.mounts.pop()], check=True)

    # The commands.

    def plan(self) -> None:
        words = ("plan", *self.asked.argv, "--kafka", self.bed.version, "-o", self.bed.plan_file)
        self.done((0, 4), *words)

    @property
    def apply_words(self) -> tuple[object, ...]:
        return ("apply", self.bed.plan_file, "--yes", "--state-dir", self.bed.state)

    @property
    def undo_words(self) -> tuple[object, ...]:
        latest = max((run for run in runs(str(self.bed.state)) if run.events), key=lambda run: run.turn)
        return ("undo", latest.path, "--yes", "--state-dir", self.bed.state)

    # The rights.

    def deny(self, chance: random.Random) -> None:
        """One to three rights go."""
        for _ in range(chance.choice((1, 1, 1, 1, 2))):
            with suppress(OSError):  # read-only, or immutable, by now
                self.deny_one(chance)

    def places(self) -> list[Path]:
        """What may be hurt: what the plan touches, what is above and beside it, and segmend's own."""
        bed = self.bed
        found = [*bed.dirs]
        if bed.plan_file.exists():
            text = bed.plan_file.read_text()
            paths = [Path(p) for p in re.findall(r'"(?:path|source|target|log_dir)": ?"(/[^"]*)"', text)]
            found += [*paths, *paths, *(path.parent for path in paths)]
        found += [path for log_dir in bed.dirs for path in log_dir.iterdir()]
        found += [path for log_dir in bed.dirs for path in log_dir.rglob("*")][::9]
        if not bed.state.exists():
            bed.state.mkdir()
            os.chown(bed.state, self.uid, self.uid)
        found += [bed.state, *bed.state.rglob("*")] * 2
        roots = (str(self.root.parent), str(self.elsewhere))
        return [path for path in found if str(path).startswith(roots)]

    def deny_one(self, chance: random.Random) -> None:
        path = chance.choice(self.places())
        if not path.exists() or path.is_symlink():
            return
        is_dir = path.is_dir()
        kind = chance.choice(("mode", "mode", "mode", "owner", "group", "sticky", "chattr", "mount"))
        if not self.draw.normal:
            kind = chance.choice(("chattr", "mount", "mode"))
        self.touched.add(path)
        if kind == "mode":
            how = f"{chance.choice(DIR_MODES if is_dir else FILE_MODES):o}"
            path.chmod(int(how, 8))
        elif kind == "owner":
            how = chance.choice(("755", "777", "666", "700"))
            os.chown(path, 0, 0)
            path.chmod(int(how, 8))
        elif kind == "group":
            how = "2" if is_dir else "0"
            os.chown(path, -1, 0)
            path.chmod(stat.S_IMODE(path.stat().st_mode) | (stat.S_ISGID if is_dir else 0))
        elif kind == "sticky":
            path, how = (path if is_dir else path.parent), "1777"
            self.touched.add(path)
            os.chown(path, 0, 0)
            path.chmod(0o1777)
        elif kind == "chattr":
            how = chance.choice(("+i", "+a"))
            if subprocess.run(["chattr", how, path], capture_output=True).returncode:
                return
        else:
            path, how = chance.choice([*self.bed.dirs, self.bed.state]), "ro"
            if subprocess.run(["mount", "--bind", path, path], capture_output=True).returncode:
                return
            self.mounts.append(path)
            subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)
        self.story.append(f"DENIED {kind} {how} {path}")

    def allow(self) -> None:
        """In the end all can be removed."""
        self.unmount()
        for home in (self.root.parent, self.elsewhere):
            subprocess.run(["chattr", "-R", "-f", "-i", "-a", home], capture_output=True)


def played(draw: Draw, whole: Path, root: Path, elsewhere: Path) -> str:
    """`ok`, or why there was nothing to play; raises AssertionError."""
    chance = draw.chance("rights")
    bed = Bed("4.3.1-clean", whole, root)
    if draw.apart:
        copy_tree(bed.dirs[1], elsewhere / "d1")
        remove(bed.dirs[1])
        bed.dirs[1] = elsewhere / "d1"
    asked = draw.case.ask(bed)
    (root / "heard").mkdir()
    shutil.rmtree(bed.state, ignore_errors=True)
    trial = Trial(draw, bed, root, elsewhere, asked, NOBODY if draw.normal else 0)
    if draw.normal:
        owned_by_nobody(root)
        owned_by_nobody(elsewhere)
    (root / "heard").chmod(0o777)
    try:
        return flow(trial, chance)
    finally:
        trial.allow()


def flow(trial: Trial, chance: random.Random) -> str:
    """From the plan to the way back."""
    moment, bed, first = trial.draw.moment, trial.bed, trial.look()
    if moment == "plan":
        trial.deny(chance)
    trial.plan()
    if not Plan.load(str(bed.plan_file)).steps:
        return "nothing to do"
    if moment == "apply":
        trial.deny(chance)
    if moment.startswith("in apply"):
        ran = trial.run(*trial.apply_words, at=int(2 ** (chance.random() * 8)))
        trial.story.append(f"killed: {ran.code}")
        trial.deny(chance)
    if moment != "in apply, then undo":
        trial.done((0, 1, 4, 5), *trial.apply_words)
    if moment == "undo":
        trial.deny(chance)
    undone = False
    if moment == "in undo":
        ran = trial.run(*trial.undo_words, at=int(2 ** (chance.random() * 8)))
        trial.story.append(f"undo killed: {ran.code}")
        undone = ran.code == 0
        trial.deny(chance)
    if not undone and any(run.events for run in runs(str(bed.state))):
        trial.done((0,), *trial.undo_words)
    trial.unmount()
    before, now = trial.without_rights(first), trial.without_rights(trial.look())
    differ = sorted(p for p in before.keys() | now.keys() if before.get(p) != now.get(p))
    if trial.reversed:
        return "reversed"  # Which writes checkpoints anew, and keeps what was changed.
    assert not differ, f"other bytes: {[(p, before.get(p), now.get(p)) for p in differ[:3]]}: {trial.told()}"
    return "ok" if any("DENIED" in each for each in trial.story) else "nothing denied"


def play(numbers: Iterable[int], seed: int, operations: Sequence[str], home: Path) -> Counter[str]:
    """Play them all; how many ended how."""
    whole = unpack(GOLDEN / "4.3.1-clean.tar.xz", home / "whole")

    def trial(number: int, folder: Path) -> list[str]:
        draw = Draw.of(seed, number, operations)
        elsewhere = Path(tempfile.mkdtemp(prefix=prefix("denied"), dir=another_disk(folder)))
        elsewhere.chmod(0o755)
        try:
            copy_tree(whole, folder / "whole")
            (folder / "case").mkdir()
            return [played(draw, folder / "whole", folder / "case", elsewhere)]
        except Exception as error:
            error.add_note(str(draw))
            raise
        finally:
            remove(elsewhere)

    with nobody_else():
        return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.denied", OPERATIONS, play))
