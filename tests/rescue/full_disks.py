"""A disk that gets full under a rescue or an export.

`python -m tests.rescue.full_disks [--seed N] [--count N] [--only N]`; root's. Drawn are a golden directory,
a file system (really mounted), the command, alone or of the fleet, its form, the call of the writer before
which somebody else takes the room, and how much of it is left. The command stops in one line that says what
to do, also when it is given again at once; with room again the same command goes on, and ends as one that
nobody disturbed: with the same exit code, the same files and rows.
"""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.cli.run import Ran, run
from tests.golden.shared import golden
from tests.merge.flipped import GOLDENS
from tests.mounts import TMPFS, mounted
from tests.removal import remove
from tests.rescue.drawn import content
from tests.rescue.test_export import table
from tests.surgery.full_disks import fill_up, make_room
from tests.surgery.trials import agreed, main, playing

from segmend.surgery.writing.effects import Effects

KINDS = ("ext4", "xfs", "btrfs", TMPFS)
WAYS = ("jsonl", "csv", "parquet", "delta", "log-dir", "export")
CALLS = ("create", "write", "truncate", "rename", "make_dir", "sync", "clone")


class Filler:
    """Counts what is written, and takes the room before the call that is due."""

    def __init__(self, disk: Path, due: int | None, left: int) -> None:
        self.calls, self._due, self._disk, self._left = 0, due, disk, left

    @contextmanager
    def laid_on(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in CALLS:
                real = getattr(Effects, name)

                def seen(*given: Any, real: Any = real, **more: Any) -> Any:
                    self._called()
                    return real(*given, **more)

                stack.enter_context(patch.object(Effects, name, seen))
            yield

    def _called(self) -> None:
        self.calls += 1
        if self.calls == self._due and not (self._disk / "filler").exists():
            fill_up(self._disk, self._left)


def rows(out: Path) -> Counter[str]:
    """Of a table that grows."""
    return Counter(map(str, table(out))) if (out / "_delta_log").is_dir() else Counter()


def told(ran: Ran) -> list[str]:
    """What the partitions' lines say."""
    return sorted(json.dumps({**row, "sources": None}) for row in ran.of("partition"))


class Trial:
    def __init__(self, seed: int, number: int, disk: Path) -> None:
        self.draw = Random(f"full rescue {seed} {number}")
        self.disk, self.out = disk, disk / "out"
        name = self.draw.choice(GOLDENS)
        self.dirs = sorted(golden(name).glob("b1/d*"))
        self.way = self.draw.choice(WAYS)
        self.fleet = self.draw.random() < 0.25
        self.did = [name, f"{'fleet ' if self.fleet else ''}{self.way}"]

    def _run(self, out: Path) -> Ran:
        words = ["export"] if self.way == "export" else ["rescue", "--as", self.way]
        words = ["fleet", *words] if self.fleet else words
        driver = ["--driver", "local"] if self.fleet else []
        return run(*words, *self.dirs, "--topic", "[!_]*", "--out", out, *driver, "--json")

    def play(self) -> Iterator[str]:
        whole = self.disk.parent / "whole"
        counting = Filler(self.disk, None, 0)
        with counting.laid_on():
            wanted = self._run(self.out)
        if wanted.code not in (0, 4):
            yield f"undisturbed: {wanted.code} {wanted.err[-300:]}"
        shutil.copytree(self.out, whole)
        remove(self.out)
        due, left = self.draw.randrange(1, counting.calls + 1), self.draw.choice((0, 4096, 20_000, 200_000))
        self.did.append(f"full but for {left} before call {due} of {counting.calls}")
        filler = Filler(self.disk, due, left)
        with filler.laid_on():
            ran = self._run(self.out)
        for which in ("first", "full still"):
            self.did.append(f"{ran.code}")
            if ran.code == 8:
                yield from self._stopped(which, ran)
            elif ran.code != wanted.code:
                yield f"{which}: exit code {ran.code}: {ran.err[-300:]}"
            if which == "first":
                ran = self._run(self.out)
        make_room(self.disk)
        yield from self._ended(self._run(self.out), wanted, whole)

    def _ended(self, ended: Ran, wanted: Ran, whole: Path) -> Iterator[str]:
        if ended.code != wanted.code and not (self.way == "export" and ended.code == 0):
            yield f"with room: exit code {ended.code}, not {wanted.code}: {ended.err[-500:]}"
        elif self.way == "export":
            if rows(self.out) != rows(whole):
                yield "with room: other rows"
        elif content(self.out) != content(whole):
            ours, theirs = content(self.out), content(whole)
            names = [name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)]
            yield f"with room: other files: {sorted(names)[:5]}"
        elif told(ended) != told(wanted):
            yield "with room: another report"

    def _stopped(self, which: str, ran: Ran) -> Iterator[str]:
        if ran.err.count("\n") != 1 or "Traceback" in ran.err:
            yield f"{which}: not one line: {ran.err[-700:]}"
        elif "make room" not in ran.err:
            yield f"{which}: does not say what to do: {ran.err}"


def play(numbers: Iterable[int], seed: int, kinds: Sequence[str], home: Path) -> Counter[str]:
    """Play them all; how many were on which file system."""

    def played(seed: int, number: int, folder: Path) -> str:
        kind = kinds[number % len(kinds)]
        with mounted(kind, folder) as disk:
            trial = Trial(seed, number, disk)
            found = [*trial.play()]
        agreed(found, f"{kind}, {', '.join(trial.did)}")
        return kind

    return playing(played)(numbers, seed, kinds, home)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.rescue.full_disks", KINDS, play, count=30))
