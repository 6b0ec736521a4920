"""Trials drawn by their numbers, one after the other; the command lines of those who draw them."""

import argparse
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.memory import swift
from tests.removal import remove
from tests.seeds import SEED

Play = Callable[[Iterable[int], int, Sequence[str], Path], Counter[str]]


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


def main(words: Sequence[str], name: str, of: Sequence[str], play: Play, *, count: int = 100) -> int:
    """0 if nothing disagrees."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--only", type=int)
    parser.add_argument("of", nargs="*", default=of, help="of these alone")
    given = parser.parse_args(words)
    begun = time.monotonic()
    numbers = range(given.count) if given.only is None else [given.only]
    with tempfile.TemporaryDirectory() as scratch:
        told = play(numbers, given.seed, given.of, Path(scratch))
    print(f"seed {given.seed}: {dict(told)}, {time.monotonic() - begun:.0f} s", flush=True)
    return min(told["DISAGREES"], 1)
