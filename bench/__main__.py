"""`python -m bench [RACE ...] [--smoke] [--folder DIR]`: make the data, run the races, print the tables.

Without names every module of `bench.races` runs. Targets are ratios inside one run, or
seconds where the figure is one a person waits for.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import pkgutil
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench import races
from bench.measure import BOUND
from bench.scale import Scale, part, smoke


def main() -> None:
    """Run the asked-for races in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(races.__path__))
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "race", nargs="*", metavar="RACE", choices=[*names, []], help=f"any of {', '.join(names)}"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="tiny data, one run: does every race still work?"
    )
    parser.add_argument("--folder", type=Path, help="keep the data here (1.9 GB) and find it again next time")
    parser.add_argument("--runs", type=int, metavar="N", help="of each contender; several after a warm-up")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="all sizes and counts divided by N")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, metavar="M",
        help="a race begins no further turn after so long, and prints what it has",
    )  # fmt: skip
    arguments = parser.parse_args()
    # Else each process compiles anew what was changed since its compiled files were written, and is timed.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if len(arguments.race) == 1:
        BOUND.end = time.monotonic() + 60 * arguments.minutes
        run(arguments.race[0], arguments.folder, tiny=arguments.smoke, runs=arguments.runs, of=arguments.part)
        return
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, warm cache",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="segmend-bench-") as scratch:
        for name in arguments.race or names:
            options = ["--folder", arguments.folder or scratch, *(["--smoke"] if arguments.smoke else [])]
            options += ["--runs", str(arguments.runs)] if arguments.runs else []
            options += ["--part", str(arguments.part), "--minutes", str(arguments.minutes)]
            # A process each: a child's peak memory starts at that of the process it was forked from.
            subprocess.run([sys.executable, "-m", "bench", name, *options], check=True)


def run(name: str, folder: Path | None, *, tiny: bool, runs: int | None = None, of: int = 1) -> None:
    """One race in this process."""
    with tempfile.TemporaryDirectory(prefix="segmend-bench-") as scratch:
        data = folder or Path(scratch)
        scale = smoke(data / "smoke") if tiny else Scale(folder=data)
        scale = scale if of == 1 else part(scale, of)
        importlib.import_module(f"bench.races.{name}").run(replace(scale, runs=runs) if runs else scale)


if __name__ == "__main__":
    main()
