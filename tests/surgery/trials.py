"""Trials drawn by their numbers, one after the other; the command lines of those who draw them."""

from __future__ import annotations

import argparse
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from tests.golden.shared import Shared
from tests.memory import swift
from tests.removal import remove
from tests.seeds import SEED
from tests.surgery.story import plans_read_once

from segmend.surgery.execute import lock

Play = Callable[[Iterable[int], int, Sequence[str], Path], Counter[str]]


@dataclass(frozen=True)
class Drawn:
    """A golden directory, and by which numbers it was drawn: with the same two all is the same."""

    seed: int
    number: int
    golden: str

    @property
    def release(self) -> str:
        return self.golden.partition("-")[0]

    @property
    def again(self) -> str:
        """The options that play it once more."""
        return f"--seed {self.seed} --only {self.number}"

    def chance(self, salt: object) -> Random:
        return Random(f"{self.seed} {self.number} {salt}")


@contextmanager
def nobody_else() -> Iterator[None]:
    """Leaves out the looks through /proc before an `apply`, which take as long as the surgery itself."""
    with pytest.MonkeyPatch.context() as patch:
        for look in ("writers", "brokers"):
            patch.setattr(lock, look, lambda _dirs: iter(()))
        yield


def each_of(numbers: Iterable[int], home: Path, trial: Callable[[int, Path], Iterable[str]]) -> Counter[str]:
    """How many ended how, as each trial in an empty folder says; what disagrees is printed."""
    told: Counter[str] = Counter()
    with swift(home) as folder:
        folder.chmod(0o755)
        for number in numbers:
            try:
                told.update(trial(number, folder))
            except Exception:
                told["DISAGREES"] += 1
                print(traceback.format_exc()[-6000:], flush=True)
            for path in folder.iterdir():
                remove(path) if path.is_dir() else path.unlink()
    return told


def agreed(found: Sequence[str], said: str) -> None:
    """Tell what was done; raise if something is wrong with it."""
    print(said, flush=True)
    assert not found, "\n  ".join([said, *found])


def playing(played: Callable[[int, int, Path], str]) -> Play:
    """Plays all of a seed; how many ended how, and with which words the one that disagrees comes again."""

    def play(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
        def trial(number: int, folder: Path) -> list[str]:
            try:
                return [played(seed, number, folder)]
            except Exception as error:
                error.add_note(f"--seed {seed} --only {number}")
                raise

        with plans_read_once(), nobody_else():
            return each_of(numbers, home, trial)

    return play


def main(words: Sequence[str], name: str, of: Sequence[str], play: Play, *, count: int = 100) -> int:
    """0 if nothing disagrees."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--only", type=int, action="append", metavar="N")
    parser.add_argument("of", nargs="*", default=of, help="of these alone")
    given = parser.parse_args(words)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        Shared.root = Path(scratch, "golden")
        Shared.root.mkdir()
        told = play(given.only or range(given.count), given.seed, given.of, Path(scratch))
    print(f"seed {given.seed}: {dict(told)}, {time.monotonic() - begun:.0f} s", flush=True)
    return min(told["DISAGREES"], 1)
