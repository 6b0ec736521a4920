"""Audit, forecast and capacity of hurt brokers, drawn: on a cluster, or on Spark here, as without Spark.

`python -m tests.fleet.drawn [--seed N] [--first N] [--count N] [--on standalone|connect|local]`. Drawn are
the brokers, their wounds, where they and OUT lie, how they are named, the options; an audit is followed by
another one, after more wounds. On the cluster executors are killed meanwhile, and tasks done twice. Lines,
exit codes, tables, alerts and what two runs say of one another are compared.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.cli.run import Ran, python
from tests.copies import copy_tree
from tests.fleet.written import table_rows
from tests.memory import swift
from tests.rescue.drawn import BROKERS, brokers, wound
from tests.seeds import SEED
from tests.spark.standalone import MASTERS, hunted, master

from segmend.fleet.schemas import AUDIT_TABLES

PLACES = (
    "root",
    "a b",
    "a%20b",
    "ä",
    "a,b",
    "a#b?c",
    "it's",
    "a=b;c",
    "-x",
    "a\\b",
    "$HOME",
    "100%",
    "[x]",
    "a{b}c",
)
"""What directories are called."""
EAGER = {
    "spark.speculation": "true",
    **{
        f"spark.speculation.{name}": value
        for name, value in {
            "quantile": "0.1", "multiplier": "1.1", "minTaskRuntime": "500ms", "interval": "200ms",
        }.items()
    },
    "spark.task.maxFailures": "20",
}  # fmt: skip
NEVER_THE_SAME = {
    "seconds", "run_id", "driver", "out", "report", "tables", "carried_from", "since_run", "started", "paths",
    "total_bytes", "available_bytes", "other_bytes", "days_until_full", "days_at_least", "before", "after",
}  # fmt: skip
"""Of an audit and of disks: times, names of runs, what a disk has free."""


_RUN = re.compile(r"\b\d{8}T\S+")


def said(ran: Ran) -> list[str]:
    """Every line, but for what is never the same twice."""
    return sorted(json.dumps(_same(row), sort_keys=True) for row in ran.json)


def _same(row: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in row.items() if key not in NEVER_THE_SAME}
    if "skipped" in found:
        found["skipped"] = [
            re.sub(r"\b[0-9T]+Z-[0-9a-f]+\b|\d{8}T\S+", "RUN", each) for each in found["skipped"]
        ]
    return found


def inputs_of(root: Path, draw: random.Random) -> list[str]:
    """All dirs below, in one of the ways in which they can be named."""
    pattern = re.sub(r"([*?[])", r"[\1]", str(root))
    dirs = sorted(map(str, root.glob("b*/d*")))
    ways = ([str(root)], dirs, [f"{pattern}/b*/d*"], [*dirs, str(root)], [f"{each}/" for each in dirs])
    return draw.choice(ways)


def told(ran: Ran) -> list[str]:
    """What stands on stderr of segmend's own; Spark's processes have words of their own."""
    return [_RUN.sub("RUN", line) for line in ran.err.splitlines() if line.startswith("segmend: ")]


class Trial:
    """One number's brokers, and what differs."""

    def __init__(self, seed: int, number: int, whole: Callable[[str], Path], home: Path, away: Path) -> None:
        self.draw = random.Random(f"everywhere {seed} {number}")
        name = self.draw.choice(sorted(BROKERS))
        self.home = home / self.draw.choice(PLACES)
        self.away, self.root = away / self.draw.choice(PLACES), self.home / self.draw.choice(PLACES)
        copy_tree(whole(name), self.root)
        self.did = [f"{name} {self.root}", *self._hurt(0, 5)]
        self.wrong: list[str] = []

    def _hurt(self, least: int, most: int) -> Iterator[str]:
        for _ in range(self.draw.randint(least, most)):
            yield wound(self.root, self.draw)

    def play(self, there: tuple[str, ...]) -> list[str]:
        self.there = there
        audits = self.draw.choice((1, 2, 2))
        options = self.draw.choice(
            ((), (), ("--deep",), ("--startup",), ("--kafka", "3.9"), ("--no-report",))
        )
        outs = [self.away / f"out {each}" if each else self.away / "out" for each in (0, 1)]
        alerts = self.draw.choice((None, "prom", "json"))
        for number in range(audits):
            if number:
                self.did += self._hurt(0, 2)
            since = self.draw.choice(((), ("--since-run", "last"), ("--since-run", "last", "--full")))
            self._audit(outs, (*options, *(since if number else ())), alerts)
        if audits == 2:
            self._both("diff-runs", lambda _: (), outs, named=False)
            self._both("growth", lambda _: (), outs, named=False)
        only = self.draw.choice(((), (), ("--only", "1"), ("--only", "1,2"), ("--deep",), ("--all",)))
        self._both("forecast", lambda _: only, outs)
        more = self.draw.choice(((), ("--sample", "0"), ("--days", "30"), ("--reassign",), ("--spread", "0")))
        self._both("capacity", lambda _: more, outs)
        return [*self.did, *self.wrong] if self.wrong else []

    def _audit(self, outs: list[Path], options: tuple[str, ...], alerts: str | None) -> None:
        files = [out.with_name(f"{out.name}.{alerts}") for out in outs]

        def given(side: int) -> tuple[str, ...]:
            return (*options, "--out", str(outs[side]), *(("--alerts", str(files[side])) if alerts else ()))

        self._both("audit", given, outs)
        for name in AUDIT_TABLES:
            # The time of a run and the free space of a disk are never the same twice.
            if name in ("runs", "log_dirs", "scans") or not all((out / name).exists() for out in outs):
                continue
            rows = [Counter(map(_without_runs, table_rows(out, name))) for out in outs]
            if rows[0] != rows[1]:
                more = [f"{each:.300}" for each in (*(rows[0] - rows[1]), *(rows[1] - rows[0]))]
                self.wrong.append(f"audit {' '.join(options)}: {name} has other rows: {more[:4]}")
        if alerts and _measured(files[0]) != _measured(files[1]):
            self.wrong.append(f"audit {' '.join(options)}: other alerts")

    def _both(
        self, command: str, options: Callable[[int], tuple[str, ...]], outs: list[Path], *, named: bool = True
    ) -> None:
        self.away.mkdir(parents=True, exist_ok=True)
        ran, inputs = [], inputs_of(self.root, self.draw)
        for side, where in enumerate((("--driver", "local"), self.there)):
            given = [*where, *inputs] if named else [str(outs[side])]
            done = python("-m", "segmend", "fleet", command, "--json", *options(side), *given)
            ran.append(Ran(done.returncode, done.stdout, done.stderr))
        alone, there = ran
        lines = (
            [Counter(said(each)) for each in ran]
            if "--reassign" not in options(0)
            else [Counter(), Counter()]
        )
        if (alone.code, lines[0], alone.err and told(alone)) == (
            there.code,
            lines[1],
            alone.err and told(there),
        ):
            return
        more = [f"{each:.300}" for each in (*(lines[0] - lines[1]), "there:", *(lines[1] - lines[0]))]
        what = f"{command} {' '.join(options(0))}: {alone.code}, there {there.code}"
        self.wrong.append(f"{what}: {more[:6]} {alone.err[-300:]} | {there.err[-1000:]}")


def _without_runs(row: str) -> str:
    return re.sub(r"'(carried_from|read_by|since_run)': '[^']*'", r"'\1': RUN", row)


def _measured(file: Path) -> list[str]:
    text = file.read_text()
    if file.suffix == ".json":
        text = "\n".join(json.dumps(each, sort_keys=True) for each in json.loads(text))
    return sorted(line for line in text.splitlines() if not re.search("started|duration|disk_", line))


def main(words: list[str]) -> int:
    """Play the numbers; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fleet.drawn", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--on", choices=MASTERS, default="standalone", help="where Spark runs")
    args = parser.parse_args(words)
    bad, died = 0, 0
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drawn-")))
        daemons = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="daemons-")))
        away = stack.enter_context(swift())  # memory, where there is room: another file system
        url = stack.enter_context(master(args.on, daemons, **{"spark.executor.memory": "900m"}, **EAGER))
        whole = {name: brokers(name, scratch / "whole" / name) for name in BROKERS}
        for number in range(args.first, args.first + args.count):
            home = scratch / str(number)
            trial = Trial(args.seed, number, whole.__getitem__, home, away / str(number))
            with hunted(daemons, random.Random(f"hunt {args.seed} {number}"), 15) as killed:
                wrong = trial.play(("--master", url))
            died += len(killed)
            if wrong:
                bad += 1
                print(f"{args.seed} {number}: killed {killed}", *wrong, sep="\n  ", flush=True)
            else:
                print(f"# {number}: {trial.did[0]}, {len(killed)} killed", flush=True)
            shutil.rmtree(home)
            shutil.rmtree(away / str(number), ignore_errors=True)
    print(f"{args.count} of seed {args.seed} on {args.on}, {died} killed: {bad} differ")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
