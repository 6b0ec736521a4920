"""`python -m tests.fleet.many_runs --runs 10 100 1000`: CPU of commands in an OUT of so many.

One small fleet is audited twice, and the second run multiplied by the commits of an audit: what grows is what
an OUT has of earlier runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.cli.run import run
from tests.costs import used
from tests.fleet.build import three_brokers

from segmend.fleet import delta
from segmend.fleet.delta import AuditRun
from segmend.fleet.schemas import STORED


def multiply(out: str, count: int) -> None:
    """Commit the rows of the newest run as those of others before it, until there are so many runs."""
    *_, like = delta.runs(out)
    every = ((name, delta.read(out, name, run_id=like).drop_columns([delta.RUN])) for name in STORED)
    rows = {name: table for name, table in every if table.num_rows}
    with delta.kept_open():
        for number in range(count - len(delta.runs(out))):
            named = AuditRun(run_id=f"20200101T000000Z-{number:06x}", number=number)
            parts = [delta.write_part(out, named, name, table) for name, table in rows.items()]
            delta.commit(out, named, "many", rows, [part for part in parts if part is not None])


def commands(fleet: Path, out: Path) -> dict[str, tuple[object, ...]]:
    """What is asked of an OUT, the last one being what makes it small again."""
    audit = ("audit", fleet, "--out", out, "--driver", "local")
    return {
        "audit": (*audit, "--no-report"), "audit --since-run last": (*audit, "--since-run", "last"),
        "runs": ("runs", out), "diff-runs": ("diff-runs", out), "growth": ("growth", out),
        "vacuum --dry-run": ("vacuum", out, "--keep", "30", "--dry-run"),
        "vacuum": ("vacuum", out, "--keep", "30"),
    }  # fmt: skip


def main(words: list[str]) -> int:
    """Print a line for each number of runs and command; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 100, 1000])
    for count in parser.parse_args(words).runs:
        with tempfile.TemporaryDirectory() as root:
            fleet, out = three_brokers(Path(root, "fleet")), Path(root, "out")
            for _ in range(2):
                run(*("fleet", "audit", fleet, "--out", out, "--driver", "local", "--no-report"))
            multiply(str(out), count)
            for name, given in commands(fleet, out).items():
                before, began = used(), time.monotonic()
                code = run("fleet", *given).code
                took = f"{used() - before:.2f} s CPU, {time.monotonic() - began:.2f} s"
                print(f"{count} runs: {name}: {took} (exit {code})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
