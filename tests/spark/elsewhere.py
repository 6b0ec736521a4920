"""Drawn reads of hurt brokers on a cluster or through Spark Connect: as a session of this machine gives them.

`python -m tests.spark.elsewhere [--seed N] [--first N] [--count N] [--reads N] [--on standalone|connect]`.
Drawn are the brokers, their wounds, their paths; tables, options and what is done with the DataFrame. On the
cluster executors and their Pythons are killed meanwhile, and tasks done twice. Rows, columns, errors and
warnings are compared; what differs is asked with fewer options until it no longer does.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.copies import copy_tree
from tests.fleet.drawn import EAGER, PLACES, inputs_of
from tests.rescue.drawn import BROKERS, brokers, wound
from tests.seeds import SEED
from tests.spark import asked
from tests.spark.standalone import MASTERS, hunted, master

from segmend.cli.commands.fleet.caching import cache_folder
from segmend.fleet.options import OPTIONS
from segmend.fleet.schemas import TABLES

Ask = dict[str, Any]
_HOW = ("rows",) * 5 + ("count", "grouped", "filtered", "limit")


class Session:
    """A process that answers."""

    def __init__(self, url: str, stack: ExitStack, log: Path) -> None:
        self.log = log
        complaints = stack.enter_context(log.open("w"))
        command = asked.of(url, cache_folder() or log.parent)
        pipe = subprocess.PIPE
        started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=complaints, text=True)
        self._process = stack.enter_context(started)
        stack.callback(self._process.kill)
        self._answer("ready\n")

    def ask(self, what: Ask) -> Ask:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        found: Ask = json.loads(self._answer())
        return found

    def _answer(self, expected: str | None = None) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line if expected is None else line == expected, (line, self.log.read_text()[-3000:])
        return line


def draw(chance: random.Random, root: Path) -> Ask:
    """One read."""
    names = sorted({each.name for each in root.glob("b*/d*/*-[0-9]*")})
    topics = sorted({name.rpartition("-")[0] for name in names}) or ["none"]
    how = chance.choice((*_HOW, *_HOW, "summarize", "scan", "runs", "merge", "rescue"))
    what: Ask = {"how": how, "paths": inputs_of(root, chance), "by": [], "where": "true", "options": {}}
    if how in ("runs", "merge", "rescue"):
        what["options"] = {"topic": chance.choice(("*", "t*", "*-*", topics[0]))}
        if how == "rescue" and chance.random() < 0.5:
            what["options"]["isolation"] = "read_committed"
        return what
    table = "records" if how in ("summarize", "scan") or chance.random() < 0.5 else chance.choice([*TABLES])
    what["options"] = _options(chance, table, topics)
    if how == "summarize":
        what["by"] = chance.sample(("topic", "partition", "day", "cluster_id"), chance.randrange(4))
        for name in ("table", "columns", "includeHeaders", "crc"):
            what["options"].pop(name, None)
    if how == "scan":
        what["options"].pop("table", None)
        what["options"].pop("columns", None)
        what["options"].pop("replicas", None)
        what["where"] = chance.choice(("broker = 1", "segment > 0", "records > 5", "true", "false"))
    if how in ("grouped", "filtered"):
        column = chance.choice(TABLES[table].names)
        if "columns" in what["options"]:
            what["options"]["columns"] += f",{column}"
        what["by"], what["where"] = [column], f"`{column}` is not null"
    return what


def _options(chance: random.Random, table: str, topics: Sequence[str]) -> dict[str, str]:
    values = {
        "columns": lambda: ",".join(chance.sample(TABLES[table].names, chance.randint(1, 5))),
        "topics": lambda: chance.choice((topics[0], f"{topics[-1][:2]}*", "*", "nowhere")),
        "subscribe": lambda: ",".join(chance.sample(topics, 1)),
        "subscribePattern": lambda: chance.choice((".*", topics[0], "^nowhere$")),
        "assign": lambda: json.dumps({chance.choice(topics): [chance.randrange(2)]}),
        "partitions": lambda: chance.choice(("0", "1", "0-1", "9")),
        "brokers": lambda: chance.choice(("1", "1,2", "7")),
        "offsets": lambda: f"{chance.choice(('', 0, 7, 40))}..{chance.choice(('', 20, 60, 300))}",
        "since": lambda: str(chance.choice((0, 1_700_000_000_000, 1_761_955_210_000))),
        "until": lambda: str(chance.choice((1_700_000_000_000, 1_761_955_230_000, 1_900_000_000_000))),
        "startingOffsets": lambda: "earliest", "endingOffsets": lambda: "latest",
        "startingTimestamp": lambda: str(chance.choice((-2, 1_761_955_210_000))),
        "endingTimestamp": lambda: str(chance.choice((-1, 1_761_955_230_000))),
        "startingOffsetsByTimestampStrategy": lambda: chance.choice(("error", "latest")),
        "replicas": lambda: chance.choice(("best", "all")),
        "isolation": lambda: chance.choice(("read_committed", "read_uncommitted")),
        "kafka.isolation.level": lambda: "read_committed",
        "mode": lambda: chance.choice(("PERMISSIVE", "DROPMALFORMED", "FAILFAST")),
        "level": lambda: chance.choice(("startup", "default", "deep")),
        "splitBytes": lambda: chance.choice(("1", "4000", "100000")),
        "minPartitions": lambda: chance.choice(("2", "7", "40")),
        "maxOffsetsPerTrigger": lambda: "3",
    }  # fmt: skip
    found = {"table": table}
    known = [each.name for each in OPTIONS if table in each.tables and each.name not in ("table", "config")]
    some = chance.sample(known, min(len(known), chance.choice((0, 1, 1, 2, 3, 5))))
    one = [name for name in some if name in ("topics", "subscribe", "subscribePattern", "assign")]
    for name in some:
        if name not in one[1:]:
            found[name] = values.get(name, lambda: chance.choice(("true", "false")))()
    return found


def compared(what: Ask, sides: Sequence[Session]) -> tuple[Ask, Ask]:
    """What either says. Where an executor went with what it had met, and that is said, the rest is not."""
    here, there = (side.ask(what) for side in sides)
    if any(" lost since the read began" in line for line in there["told"]):
        there["told"] = here["told"]
    return here, there


def shown(told: Ask) -> str:
    """The warnings first, and of rows none."""
    return str({name: told[name] for name in ("told", "rows", "digest", "error", "columns") if name in told})


def shrunk(what: Ask, sides: Sequence[Session]) -> Ask:
    """The read with as few options as differ."""
    for name in list(what["options"]):
        fewer = what | {"options": {key: value for key, value in what["options"].items() if key != name}}
        here, there = compared(fewer, sides)
        if here != there:
            what = fewer
    return what


def main(words: list[str]) -> int:
    """Play the numbers; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.spark.elsewhere", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--reads", type=int, default=12, help="of the brokers of one number")
    parser.add_argument("--on", choices=MASTERS, default="standalone", help="where the other session runs")
    args = parser.parse_args(words)
    bad, died, refused = 0, 0, 0
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="elsewhere-")))
        daemons = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="daemons-")))
        url = stack.enter_context(master(args.on, daemons, **EAGER))
        sides = [Session(where, stack, scratch / f"{at}.log") for at, where in enumerate(("local[2]", url))]
        whole = {name: brokers(name, scratch / "whole" / name) for name in BROKERS}
        for number in range(args.first, args.first + args.count):
            chance = random.Random(f"elsewhere {args.seed} {number}")
            name = chance.choice(sorted(BROKERS))
            root = scratch / str(number) / chance.choice(PLACES)
            copy_tree(whole[name], root)
            did = [wound(root, chance) for _ in range(chance.randrange(5))]
            with hunted(daemons, random.Random(f"hunt {args.seed} {number}"), 10) as killed:
                for _ in range(args.reads):
                    what = draw(chance, root)
                    here, there = compared(what, sides)
                    refused += "error" in here
                    if here == there:
                        continue
                    bad += 1
                    print(f"{args.seed} {number}: {name}, {did}, killed {killed}", flush=True)
                    least = shrunk(what, sides)
                    print(f"  {json.dumps(least)}\n  (of {json.dumps(what['options'])})", flush=True)
                    print(f"  here  {shown(here):.900}\n  there {shown(there):.900}", flush=True)
            print(f"# {number}: {name}, {len(killed)} killed", flush=True)
            died += len(killed)
            shutil.rmtree(scratch / str(number))
    total = args.count * args.reads
    print(f"{total} reads of seed {args.seed} on {args.on}, {refused} refused, {died} killed: {bad} differ")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
