"""Any damage, and what each command says of it: `python -m tests.outside.drawn [--seed N] [--count N]`.

A golden directory gets one to four hurts of `damage.py`, as root or as a user who may not read everything.
Each reading command then looks at it in a process of its own, and `held.py` compares.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.copies import fresh
from tests.golden.shared import GOLDEN
from tests.outside.agreed import played
from tests.outside.damage import hurt_once
from tests.outside.held import Heard, preload
from tests.surgery.child import NOBODY
from tests.surgery.drawn import GOLDENS
from tests.surgery.trials import Drawn, each_of, main


@dataclass(frozen=True)
class Draw(Drawn):
    """One of them."""

    hurts: int
    uid: int

    @classmethod
    def of(cls, seed: int, number: int, goldens: Sequence[str]) -> Draw:
        chance = random.Random(f"{seed} {number}")
        uid = NOBODY if os.geteuid() == 0 and chance.random() < 0.4 else 0
        return cls(seed, number, chance.choice(goldens), chance.choice((1, 1, 1, 2, 3, 4)), uid)

    def made(self, folder: Path) -> tuple[list[Path], str]:
        """The log dirs, hurt, and what was done to them."""
        draw = self.chance("hurt")
        fresh(GOLDEN / f"{self.golden}.tar.xz", folder)
        home = folder / "b1"
        for path in (each for each in folder.iterdir() if each != home):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        dirs = sorted(home.glob("d*"))
        if self.uid:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, self.uid, self.uid, follow_symlinks=False)
        said = [hurt_once(dirs, draw) for _ in range(self.hurts)]
        for path in folder.rglob("*"):
            if self.uid:
                os.chown(path, self.uid, self.uid, follow_symlinks=False)
        return dirs, "; ".join(said)


def play(numbers: Iterable[int], seed: int, goldens: Sequence[str], home: Path) -> Counter[str]:
    """Play them all; how many ended how."""

    def trial(number: int, folder: Path) -> list[str]:
        draw = Draw.of(seed, number, goldens)
        dirs, said = draw.made(folder / "the disks")
        heard = Heard(folder, draw.uid)
        os.chown(folder, draw.uid, draw.uid)
        sound = fresh(GOLDEN / f"{draw.golden}.tar.xz", folder / "sound")
        told = played(heard, dirs, sound / "b1", draw.release, draw.chance("asked"))
        if heard.complaints:
            what = f"{draw.again}: {draw.golden} uid {draw.uid}: {said}"
            raise AssertionError("\n".join([ascii(what), *(ascii(each)[:3000] for each in heard.complaints)]))
        return [told]

    preload()
    return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.outside.drawn", GOLDENS, play))
