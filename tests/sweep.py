"""`python -m tests.sweep [--seed N] [PYTEST OPTION...]`: whole, what CI takes samples of; takes hours.

Every fault, of the lab and on written log dirs, through an operator's evening, many pairs of faults, other
losses of power, more faults on live brokers, each operation on each golden release with a broker after
it. What is drawn depends on the seed: that of the day, unless one is given. It is printed first and last.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from tests.seeds import ALL, NUMBER

DAY = 86_400
SWEEPS = (
    "tests/surgery/test_every_fault.py",
    "tests/surgery/test_crash.py",
    "tests/surgery/test_kill.py",
    "tests/lab/test_live.py",
)


def main(words: list[str]) -> int:
    """Run all of it; 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()) // DAY)
    given, options = parser.parse_known_args(words)
    again = f"sweep: seed {given.seed} (the same again: python -m tests.sweep --seed {given.seed})"
    print(again, flush=True)
    drawn = {**os.environ, NUMBER: str(given.seed), ALL: "whole"}
    tests = [sys.executable, "-m", "pytest", "-m", "", "--timeout", "0", *options, *SWEEPS]
    shows = [sys.executable, "-m", "tests.surgery.shows", "all"]
    failed = [command for command in (tests, shows) if subprocess.call(command, env=drawn) != 0]
    print(again, *(f"failed: {' '.join(command)}" for command in failed), sep="\n")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
