"""What a command writes is taken away meanwhile: `python -m tests.outside.taken [--seed N] [COMMAND ...]`.

At a drawn step (the n-th time that the command itself opens, lists, makes or renames something of OUT) all of
OUT, what is in it, or one file of it is removed or cut, or a file stands in its place: as cleaners of
temporary directories do, and colleagues. The command ends with an exit code of its own and without a
traceback; where it ends with 8 it says in one line why. The same command after that does all of its work
again: of forms whose bytes do not differ from run to run, the same.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from segmend.cli.main import main as segmend
from tests.fleet.build import three_brokers
from tests.outside.held import Heard, preload
from tests.removal import remove
from tests.surgery.trials import agreed, each_of, main

STEPS = {"open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate"}
LOCAL = ("--driver", "local")
AUDIT = ("fleet", "audit", "DIRS", "--out", "OUT", *LOCAL)
FORMS = ("log-dir", "parquet", "delta", "jsonl", "csv")
COMMANDS = {
    "audit": AUDIT,
    "second audit": AUDIT,
    "fleet rescue": ("fleet", "rescue", "DIRS", "--out", "OUT", *LOCAL),
    "fleet export": ("fleet", "export", "DIRS", "--out", "OUT", *LOCAL),
    **{form: ("rescue", "DIRS", "--out", "OUT", "--as", form) for form in FORMS},
    "export": ("export", "DIRS", "--out", "OUT"),
    "capacity": ("fleet", "capacity", "OUT"),
    "vacuum": ("fleet", "vacuum", "OUT", "--keep", "1"),
    "diff-runs": ("fleet", "diff-runs", "OUT"),
}  # fmt: skip
OF_AN_AUDIT = ("second audit", "capacity", "vacuum", "diff-runs")
SAME_BYTES = ("fleet rescue", "log-dir", "jsonl", "csv")


def everything(out: Path, _draw: random.Random) -> None:
    shutil.rmtree(out, ignore_errors=True)


def what_is_in_it(out: Path, _draw: random.Random) -> None:
    for each in [*out.iterdir()] if out.is_dir() else []:
        remove(each) if each.is_dir() else each.unlink()


def one(out: Path, draw: random.Random) -> None:
    if there := sorted(out.rglob("*")):
        path = draw.choice(there)
        remove(path) if path.is_dir() else path.unlink()


def a_file_instead(out: Path, draw: random.Random) -> None:
    everything(out, draw)
    out.write_text("of somebody else")


def cut(out: Path, draw: random.Random) -> None:
    if there := sorted(each for each in out.rglob("*") if each.is_file() and each.stat().st_size):
        path = draw.choice(there)
        os.truncate(path, draw.randrange(path.stat().st_size))


REPORTS = ("_rescue.txt", "_rescue.jsonl")
HOW = (everything, what_is_in_it, one, a_file_instead, cut)


def disturbed(words: Sequence[str], out: Path, at: int, disturb: Callable[[], None]) -> Callable[[], int]:
    """The command, of whose steps in `out` this one is disturbed; for a process of its own."""
    seen = 0

    def step(event: str, args: tuple[object, ...]) -> None:
        nonlocal seen
        if event not in STEPS or not args or not isinstance(args[0], str | bytes):
            return
        if seen < at and os.fsdecode(args[0]).startswith(str(out)):
            seen += 1
            if seen == at:
                disturb()

    def call() -> int:
        sys.addaudithook(step)
        return segmend(words)

    return call


def content(out: Path) -> dict[str, bytes]:
    files = (each for each in out.rglob("*") if each.is_file() and each.name not in REPORTS)
    return {str(each.relative_to(out)): each.read_bytes() for each in files}


class Trials:
    """The fleet, an OUT with an audit in it, and what an undisturbed command writes."""

    def __init__(self, home: Path) -> None:
        preload()
        self.dirs = [str(each / "data") for each in sorted(three_brokers(home / "fleet").iterdir())]
        self.audited = home / "audited"
        self.home, self.whole = home, dict[str, dict[str, bytes]]()
        assert Heard(home).run(*self.words("audit", self.audited)).code == 0

    def words(self, name: str, out: Path) -> list[str]:
        given = {"DIRS": self.dirs, "OUT": [str(out)]}
        return [word for each in COMMANDS[name] for word in given.get(each, [each])]

    def undisturbed(self, name: str) -> dict[str, bytes]:
        if name not in self.whole:
            out = self.home / "whole"
            assert Heard(self.home).run(*self.words(name, out)).code == 0
            self.whole[name] = content(out)
            shutil.rmtree(out)
        return self.whole[name]

    def play(self, draw: random.Random, of: Sequence[str], folder: Path) -> list[str]:
        name, how = draw.choice(of), draw.choice(HOW)
        at = draw.randrange(1, draw.choice((4, 30, 120)))
        out, heard = folder / "OUT", Heard(folder)
        if name in OF_AN_AUDIT:
            shutil.copytree(self.audited, out)
        words, salt = self.words(name, out), random.Random(draw.random())
        ran = heard.do(name, disturbed(words, out, at, lambda: how(out, salt)))
        said = f"{name}: {how.__name__} at step {at}: {ran.code} {ran.err[-200:]!r}"
        if ran.code & 8 and not (ran.err + ran.out).strip():
            heard.say("exit 8 without a word")
        if name in SAME_BYTES:
            self.again(name, out, heard)
        agreed(heard.complaints, said)
        return [f"{name} {ran.code}"]

    def again(self, name: str, out: Path, heard: Heard) -> None:
        """The same command with what is left of OUT; a refusal is an answer, too."""
        if out.is_file():
            out.unlink()
        ran = heard.run(*self.words(name, out))
        if ran.code == 0 and content(out) != (whole := self.undisturbed(name)):
            heard.say("again", [each for each in whole if content(out).get(each) != whole[each]])
        elif ran.code not in (0, 8, 16):
            heard.say("again", ran.code, ran.err)


def played(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
    trials = Trials(home)
    return each_of(
        numbers, home, lambda number, folder: trials.play(random.Random(f"{seed} {number}"), of, folder)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.outside.taken", [*COMMANDS], played, count=60))
