"""Partitions hurt at random: `python -m tests.surgery.log_ends [--seed N] [--count N] [GOLDEN...]`.

Drawn are a partition of a golden directory and where it is hurt: at the end of its active log, one to three
of the last batches and what becomes of its indexes; or anywhere, one to three of its files, or its lines of
checkpoints. And whether the broker had stopped. A check at each level then names commands. Each is run
on a copy: it has steps, loses nothing where it is called safe, and the same check names it no more. One
that a human puts a replica into may name the operation that helps, where the replica does not prove enough.
"""

import json
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.run import run
from tests.conftest import GOLDEN
from tests.copies import copy_into
from tests.faults.hands import positions, turn_any
from tests.golden.unpack import unpack
from tests.surgery.drawn import GOLDENS, hurt
from tests.surgery.trials import Drawn, each_of, main, nobody_else

LEVELS = ("--startup", None, "--deep")
MARKER = ".kafka_cleanshutdown"
PLACES = ("REPLICA_PARTITION_DIR", "LEADER_PARTITION_DIR")
"""What a human puts in: here the partition as it was."""
FIELDS = {"offset": (0, 8), "size": (8, 4), "epoch": (12, 4), "magic": (16, 1), "crc": (17, 4),
          "attributes": (21, 2), "last": (23, 4), "count": (57, 4), "records": (61, 20)}  # fmt: skip
RUN = ("segmend plan ", "segmend check ")
WHOLE = ("cut", "zeros", "garbage", "more zeros", "more garbage", "twice", "half")

Row = dict[str, Any]


def hurt_field(data: bytearray, at: int, name: str, draw: Random) -> None:
    """A bit flipped, or the whole of it drawn, which need not fit."""
    start, size = FIELDS[name]
    field = memoryview(data)[at + start : at + start + size]
    if not field:
        return
    if draw.random() < 0.6:
        turn_any(field, draw)
    else:
        number = draw.choice([0, 1, 5, 1 << 20, (1 << 31) - 1, draw.randrange(4096)])
        field[:] = number.to_bytes(20, "big")[-size:][: len(field)]


def hurt_end(data: bytes, draw: Random) -> tuple[bytes, str]:
    """The log with its end hurt, and how."""
    places, hurt = positions(data), bytearray(data)
    last = places[-draw.choice([1, 1, 1, 2, 3]) :][:3]
    said = []
    for at in last:
        for name in draw.sample(sorted(FIELDS), draw.choice([1, 1, 2])):
            hurt_field(hurt, at, name, draw)
            said.append(f"{name} at {at}")
    if draw.random() < 0.35:
        kind, place = draw.choice(WHOLE), draw.randrange(places[-1], len(data))
        if draw.random() < 0.5:
            hurt, said = bytearray(data), []
        few = draw.choice([draw.randint(1, 17), draw.randint(18, 60), draw.randint(61, 5000)])
        said.append(f"{kind} at {place}, {few}")
        if kind in ("cut", "half"):
            del hurt[place if kind == "cut" else places[-1] + 30 :]
        elif kind in ("zeros", "garbage"):
            end = len(data) if draw.random() < 0.5 else min(place + few, len(data))
            hurt[place:end] = bytes(end - place) if kind == "zeros" else draw.randbytes(end - place)
        elif kind == "twice":
            hurt += hurt[places[-1] :]
        else:
            hurt += bytes(few) if kind == "more zeros" else draw.randbytes(few)
    return bytes(hurt), "; ".join(said)


def hurt_anywhere(partition: Path, draw: Random) -> str:
    """One to three of its files, or its line in a checkpoint, and which."""
    files = [path for path in sorted(partition.iterdir()) if path.is_file()]
    lines = sorted(partition.parent.glob("*-offset-checkpoint"))
    said = []
    for path in draw.sample([*files, *lines], min(draw.choice([1, 1, 1, 2, 3]), len(files))):
        said.append(path.name)
        if path in lines:
            hurt_line(path, partition.name, draw)
        elif path.suffix == ".log" and (places := positions(path.read_bytes())) and draw.random() < 0.7:
            data, name = bytearray(path.read_bytes()), draw.choice(sorted(FIELDS))
            hurt_field(data, draw.choice(places), name, draw)
            said[-1] += f" {name}"
            path.write_bytes(data)
        else:
            hurt(path, draw)
    return "; ".join(said)


def hurt_line(path: Path, name: str, draw: Random) -> None:
    """Another offset, or none."""
    topic, _, partition = name.rpartition("-")
    rows = [line.split(" ") for line in path.read_text().splitlines()]
    mine = [row for row in rows if row[:2] == [topic, partition]]
    for row in mine:
        if draw.random() < 0.3:
            rows.remove(row)
        else:
            row[2] = str(
                draw.choice([0, 1, int(row[2]) + draw.randint(1, 90), max(0, int(row[2]) - 5), 1 << 40])
            )
    if mine:
        rows[1] = [str(len(rows) - 2)]
    path.write_text("".join(" ".join(row) + "\n" for row in rows))


@dataclass(frozen=True)
class Draw(Drawn):
    """One of them."""

    at_end: bool

    @classmethod
    def of(cls, seed: int, number: int, goldens: Sequence[str], *, at_end: bool | None = None) -> "Draw":
        chance = Random(f"{seed} {number} where").random() < 0.4 if at_end is None else at_end
        return cls(seed, number, Random(f"{seed} {number}").choice(goldens), chance)

    def made(self, whole: Path, home: Path) -> tuple[Path, Path, str]:
        """A log dir with one partition that is hurt, the partition as it was, and what was done to it."""
        draw = self.chance("hurt")
        logs = {path.parent: path for path in sorted(whole.glob("b1/d*/*-[0-9]*/*.log"))}
        able = [path for path in logs.values() if path.stat().st_size and path.parent.name[:2] != "__"]
        chosen = draw.choice([path for path in able if path.parent.suffix == ""] or able)
        sound, log_dir = home / "sound" / chosen.parent.name, home / "log dir"
        copy_into(chosen.parent, sound)
        copy_into(chosen.parent, log_dir / chosen.parent.name)
        for path in (each for each in chosen.parents[1].iterdir() if each.is_file()):
            shutil.copy2(path, log_dir)
        log = log_dir / chosen.parent.name / chosen.name
        said = self.hurt_end(log, draw) if self.at_end else hurt_anywhere(log.parent, draw)
        if draw.random() < 0.3:
            marker = log_dir / MARKER
            marker.unlink() if marker.exists() else marker.touch()
            said += "; the other stop"
        return log_dir, sound, f"{log.parent.name}/{log.name if self.at_end else ''}: {said}"

    def hurt_end(self, log: Path, draw: Random) -> str:
        data, said = hurt_end(log.read_bytes(), draw)
        log.write_bytes(data)
        for suffix in (".index", ".timeindex"):
            path = log.with_suffix(suffix)
            kind = draw.choice(["kept", "kept", "kept", "gone", "empty"])
            if path.exists() and kind != "kept":
                path.unlink() if kind == "gone" else path.write_bytes(b"")
                said += f"; {suffix} {kind}"
        return said


def suggested(log_dir: Path, name: str, level: str | None, release: str) -> dict[str, Row]:
    """The plans that a check names for the partition, each with one of its findings."""
    ran = run("check", log_dir, *filter(None, [level]), "--kafka", release, "--json", "--max", 0)
    assert ran.code in (0, 4), (ran.code, ran.err[-800:])
    rows = (row for row in ran.of("finding") if (row["file"] or "").partition("/")[0] == name)
    named = [row for row in rows if row["remedy"] and row["remedy"]["command"].startswith(RUN)]
    return {row["remedy"]["command"]: row for row in named}


def complaints(log_dir: Path, sound: Path, home: Path, level: str | None, release: str) -> Iterator[str]:
    """What commands that are named at this level do not do."""
    for command, row in suggested(log_dir, sound.name, level, release).items():
        what = f"{level}: {row['code']} {row['message'][:120]}: {command.replace(str(log_dir), '')}"
        if command.startswith("segmend check "):
            yield from (f"{what}: {words}" for words in not_found(command))
            continue
        tried = home / "tried"
        shutil.rmtree(tried, ignore_errors=True)
        copy_into(log_dir, tried)
        command = command.replace(str(log_dir), str(tried))
        said, done = not_planned(command, sound, home, row)
        yield from (f"{what}: {words}" for words in said)
        again = suggested(tried, sound.name, level, release) if done else {}
        if command in again:
            yield f"{what}: again for {again[command]['code']} {again[command]['message'][:150]}"


def not_found(command: str) -> Iterator[str]:
    """A deeper check is named where a log is to be mended first: it has to name what does that."""
    rows = run(*shlex.split(command)[1:], "--json", "--max", 0).of("finding")
    logs = [row["remedy"]["command"] for row in rows if row["file"].endswith(".log") and row["remedy"]]
    if not any(each.startswith("segmend plan ") for each in logs):
        yield "finds nothing to mend in a log"


def not_planned(command: str, sound: Path, home: Path, row: Row) -> tuple[list[str], bool]:
    """What it does not do, and whether it did something."""
    words = shlex.split(command)[1:]
    asked = not {*PLACES}.isdisjoint(words)
    words = [str(sound) if word in PLACES else word for word in words]
    plan = home / "plan.json"
    plan.unlink(missing_ok=True)
    ran = run(*words[: words.index("-o")], "-o", plan)
    if asked and ran.code == 8 and ("plan " in ran.err or "leader" in ran.err):
        return [], False
    if ran.code not in (0, 4) or not plan.exists():
        return [f"exit {ran.code} {ran.err[-300:]}"], False
    made = json.loads(plan.read_text())
    named = any("next: segmend plan merge" in left for left in made["left"])
    if not made["steps"]:  # it may ask for a figure, or name the operation that helps
        excused = (named and asked) or "--blank" in words
        return ([] if excused else [f"no steps; left {made['left']}"]), False
    lossy = made["losses"] and row["remedy"]["safety"] == "safe"
    said = [f"loses {made['losses']}"] if lossy else []
    done = run("apply", plan, "--yes", "--state-dir", home / "state")
    if done.code not in (1, 5):
        return [*said, f"apply: exit {done.code} {done.err[-300:]}"], False
    return said, True


def play(
    numbers: Iterable[int], seed: int, goldens: Sequence[str], home: Path, *, at_end: bool | None = None
) -> Counter[str]:
    """Play them all, where they are drawn or `at_end` or not; how many ended how."""
    unpacked = home / "unpacked"

    def trial(number: int, folder: Path) -> list[str]:
        draw = Draw.of(seed, number, goldens, at_end=at_end)
        whole = unpacked / draw.golden
        if not whole.exists():
            unpack(GOLDEN / f"{draw.golden}.tar.xz", whole)
        log_dir, sound, said = draw.made(whole, folder)
        found = [
            f"{draw.golden} {words}"
            for level in LEVELS
            for words in complaints(log_dir, sound, folder, level, draw.release)
        ]
        if found:
            raise AssertionError("\n".join([f"{draw.again}: {said}", *found]))
        return ["ok"]

    with nobody_else():
        return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.log_ends", GOLDENS, play))
