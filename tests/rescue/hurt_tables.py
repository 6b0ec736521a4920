"""Exports into a Delta table of which something is hurt between two runs: each record once, or one line.

`python -m tests.rescue.hurt_tables [--seed N] [--count N] [--only N]`. A log grows from run to run; before
each run but the first something of OUT is hurt, by the seed: lines of a commit dropped or duplicated, a
commit emptied, cut or removed, a checkpoint or a data file cut or removed, the note cut. Sometimes the run
before was killed between its commit and its note. What is refused has changed nothing.
"""

import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from deltalake import DeltaTable
from tests.golden.shared import golden
from tests.rescue.test_export import Growing, offsets
from tests.surgery.trials import agreed, each_of, main

from segmend.rescue import committed, notes

NOTE = "_delta_log.json"


def hurt(out: Path, draw: random.Random) -> str:
    """Hurt something; in words, what."""
    log = out / "_delta_log"
    commits = sorted(each for each in log.glob("*.json"))
    what = draw.choice(
        (
            "drop",
            "drop",
            "drop",
            "twice",
            "empty",
            "cut",
            "remove",
            "remove last",
            "checkpoint",
            "data",
            "note",
        )
    )
    commit = draw.choice((commits[-1], draw.choice(commits)))
    lines = commit.read_bytes().splitlines(keepends=True)
    if what == "drop":
        gone = set(draw.sample(range(len(lines)), draw.randrange(1, len(lines) + 1)))
        commit.write_bytes(b"".join(line for number, line in enumerate(lines) if number not in gone))
        return f"{sorted(gone)} of {len(lines)} lines of {commit.name} dropped"
    if what == "twice":
        commit.write_bytes(b"".join([*lines, draw.choice(lines)]))
    elif what == "empty":
        commit.write_bytes(b"")
    elif what == "cut":
        data = commit.read_bytes()
        commit.write_bytes(data[: draw.randrange(len(data))])
    elif what == "remove":
        commit.unlink()
    elif what == "remove last":
        commits[-1].unlink()
    else:
        files = {
            "checkpoint": sorted([*log.glob("*.parquet"), *log.glob("_last_checkpoint")]),
            "data": sorted(out.glob("*.parquet")),
            "note": [out / NOTE],
        }[what]
        if not files:
            return "nothing"
        file = draw.choice(files)
        size = file.stat().st_size
        # Nothing tells that a note is missing from one of an earlier release.
        if what != "note" and draw.random() < 0.5:
            file.unlink()
            return f"{file.name} removed"
        os.truncate(file, draw.choice((0, draw.randrange(size))))
        return f"{file.name} cut"
    return f"{what} {commit.name}"


def state(out: Path) -> dict[str, bytes]:
    """All files in it."""
    return {str(each.relative_to(out)): each.read_bytes() for each in out.rglob("*") if each.is_file()}


def play(log: Growing, out: Path, draw: random.Random) -> Iterator[str]:
    """What was wrong with one table."""
    many = len(log.ends)
    for number in [*sorted(draw.sample(range(1, many), min(4, many - 1))), many]:
        end = log.show(number)
        if not out.exists():
            log.export(out)
            continue
        if draw.random() < 0.3:
            DeltaTable(str(out)).create_checkpoint()
        if draw.random() < 0.3:
            yield from killed(log, out, draw)
        yield from hurt_once(log, out, end, draw)


def hurt_once(log: Growing, out: Path, end: int, draw: random.Random) -> Iterator[str]:
    """Hurt it, and export: up to `end`, or not at all until it is put back."""
    whole = out.with_name("before")
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(out, whole)
    done = hurt(out, draw)
    before, ran = state(out), log.export(out)
    if ran.code == 8 and ran.err.count("\n") == 1 and "Traceback" not in ran.err:
        if state(out) != before:
            changed = [each for each, data in state(out).items() if before.get(each) != data]
            yield f"{done}: refused, but written: {changed}: {ran.err}"
        shutil.rmtree(out)
        whole.rename(out)
        if (again := log.export(out)).code:
            yield f"put back after {done}: {again.err}"
    elif ran.code:
        yield f"{done}: exit code {ran.code}: {ran.err[-300:]} {ran.out[-300:]}"
    if (found := offsets(out)) != [*range(end)]:
        yield f"{done}, exit code {ran.code}: {len(found)} rows, not {end}"


def killed(log: Growing, out: Path, draw: random.Random) -> Iterator[str]:
    """A run that is killed between its commit and the note of it; sometimes another one after that."""
    note = out / NOTE
    commits = sorted((out / "_delta_log").glob("*.json"))
    log.export(out)
    last = max((out / "_delta_log").glob("*.json"))
    if last == commits[-1]:
        return
    actions = [json.loads(line) for line in last.read_bytes().splitlines()]
    seen = {name: known for name, known in json.loads(note.read_bytes())["seen"].items() if name != last.name}
    told = {"seen": seen, "coming": committed._sum(committed._told_by(actions))}
    note.write_text(json.dumps({**told, "sum": notes._sum(told)}))
    if draw.random() < 0.5 and (ran := log.export(out)).code:
        yield f"killed between commit and note: {ran.err}"


def played(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
    """Each seed from the given one on."""
    log = Growing(golden("4.3.1-killed"), home)

    def trial(number: int, folder: Path) -> list[str]:
        agreed([*play(log, folder / "out", random.Random(f"hurt {seed + number}"))], f"{seed + number}")
        return ["ok"]

    return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.rescue.hurt_tables", [], played, count=20))
