"""Small files hurt at random: `python -m tests.surgery.small_files [--seed N] [--count N] [GOLDEN...]`.

Drawn are a golden broker, one to three of its offset checkpoints, its meta.properties, its clean shutdown
marker, or a partition's leader-epoch-checkpoint and partition.metadata, how each is hurt, and who looks:
root, or the normal user whose files they are. A check at each level then names commands. Each is run on a
copy: it does something, and the same check names it no more. Run one after the other they leave nothing that
has one, and the next start does no more harm than that of the broker as it was; nor does a check that finds
nothing hide one that does.
"""

import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.run import run
from tests.conftest import GOLDEN
from tests.copies import copy_into
from tests.faults.on_disk import move_away, put_folder, put_link
from tests.golden.unpack import unpack
from tests.lab.disasters.edited import edited
from tests.memory import swift
from tests.removal import remove
from tests.surgery.child import as_user, owned_by_nobody
from tests.surgery.drawn import GOLDENS
from tests.surgery.log_ends import LEVELS, MARKER, PLACES, not_found, not_planned
from tests.surgery.trials import Drawn, each_of, main, nobody_else

TOP = ("meta.properties", MARKER, "-offset-checkpoint")
OF_PARTITIONS = ("leader-epoch-checkpoint", "partition.metadata")
SHELL = ("rm ", "mkdir -p ", "mv -n ", "chmod ", "chown ", "cp -a ")
LOOKS = ("segmend show ", "segmend forecast ", "segmend check ")
MENDS = ("segmend plan ", *SHELL)
EACH = 6
"""Every so many-eth partition of a golden broker is there, and the cluster's metadata."""
NUMBERS = ("-1", "-7", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-0", "+5")
MOST = 12

Row = dict[str, Any]
Found = dict[tuple[str, str], Row]
Hurt = Callable[[Path, Random], object]


def of_text(change: Callable[[str, Random], str]) -> Hurt:
    """The file rewritten."""
    return lambda path, draw: path.write_text(change(path.read_text(), draw))


def cut(path: Path, draw: Random) -> None:
    """Its end lost, or zeros, as delayed allocation leaves them."""
    data = path.read_bytes()
    at = draw.randrange(len(data) or 1)
    path.write_bytes(data[:at] + bytes((len(data) - at) * draw.randint(0, 1)))


def instead(path: Path, draw: Random) -> None:
    """A directory, empty or not; a link to nothing, to itself, or to the file somewhere else."""
    kind = draw.choice(["empty", "full", "nothing", "loop", "elsewhere", "pipe"])
    if kind == "elsewhere":
        target = path.parents[1] / "elsewhere" / f"{path.parent.name}.{path.name}"
        move_away(path, target)
    elif kind in ("empty", "full"):
        put_folder(path, "x" if kind == "full" else "")
    else:
        put_link(path, path.name if kind == "loop" else "/nowhere/at/all")


def of_number(text: str, draw: Random) -> str:
    """A token of a line is a number at the end of its type, or behind it."""
    lines = text.splitlines() or ["0"]
    at = draw.randrange(len(lines))
    tokens = lines[at].split(" ")
    tokens[draw.choice([-1, -1, draw.randrange(len(tokens))])] = draw.choice(NUMBERS)
    lines[at] = " ".join(tokens)
    return "".join(f"{line}\n" for line in lines)


def of_count(text: str, draw: Random) -> str:
    """The second line is another number."""
    lines = text.splitlines() or ["0"]
    lines[1:2] = [draw.choice(["0", "1", str(len(lines)), str(len(lines) + 7), *NUMBERS])]
    return "".join(f"{line}\n" for line in lines)


def of_lines(text: str, draw: Random) -> str:
    """Lines twice, with the count that belongs to it or without; other offsets in the second."""
    lines = text.splitlines() or ["0"]
    more = draw.choices(lines[2:] or lines, k=draw.randint(1, 3))
    if draw.random() < 0.5:
        more = [f"{line.rpartition(' ')[0]} {draw.choice([0, 5, 1 << 40])}" for line in more]
    if draw.random() < 0.6 and len(lines) > 1 and lines[1].isdigit():
        lines[1] = str(int(lines[1]) + len(more))
    return "".join(f"{line}\n" for line in [*lines, *more])


def no_rights(path: Path, draw: Random) -> None:
    """Its mode has none, or it is another's."""
    path.chmod(draw.choice([0, 0o200, 0o400]))


HURTS: dict[str, Hurt] = {
    "emptied": lambda path, _draw: path.write_bytes(b""),
    "gone": lambda path, _draw: path.unlink(),
    "cut": cut,
    "garbage": lambda path, draw: path.write_bytes(draw.randbytes(draw.choice([1, 30, 400]))),
    "version": of_text(lambda text, draw: f"{draw.choice([1, 7, *NUMBERS])}\n{text.partition(chr(10))[2]}"),
    "lines": of_text(of_lines),
    "count": of_text(of_count),
    "number": of_text(of_number),
    "edited": edited,
    "instead": instead,
    "no rights": no_rights,
}


@dataclass(frozen=True)
class Draw(Drawn):
    """One of them."""

    stopped_otherwise: bool
    normal: bool
    """Whether the normal user looks whose files these are; else root does, whose they are as often."""

    @classmethod
    def of(cls, seed: int, number: int, goldens: Sequence[str]) -> "Draw":
        draw = Random(f"{seed} {number} broker")
        return cls(seed, number, draw.choice(goldens), draw.random() < 0.3, draw.random() < 0.3)

    def hurt(self, dirs: Sequence[Path]) -> str:
        """Files of the broker hurt, and how."""
        draw, said = self.chance("small files"), []
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            path, how = drawn_file(dirs, draw), draw.choice(sorted(HURTS))
            if path.is_file() and not path.is_symlink():
                with suppress(LookupError, UnicodeDecodeError):
                    HURTS[how](path, draw)
                said.append(f"{path.relative_to(dirs[0].parent)} {how}")
        return "; ".join(said)


def drawn_file(dirs: Sequence[Path], draw: Random) -> Path:
    """A file of a log dir, or of one of its partitions."""
    log_dir = draw.choice(dirs)
    tops = [path for path in sorted(log_dir.iterdir()) if path.name.endswith(TOP) and path.is_file()]
    inner = [path for name in OF_PARTITIONS for path in sorted(log_dir.glob(f"*-[0-9]*/{name}"))]
    return draw.choice(inner if inner and draw.random() < 0.3 else tops)


@dataclass(frozen=True, order=True)
class Harm:
    """What a start does: whether it fails, logs that nobody gets, partitions and records that are lost."""

    fails: bool
    unserved: int
    partitions: int
    records: int

    def exceeds(self, other: "Harm") -> bool:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return any(now > was for now, was in pairs)


class Broker:
    """Log dirs as they were hurt, or a copy; what `check` and `forecast` say of them."""

    def __init__(self, home: Path, release: str) -> None:
        self.home, self.release = home, release

    @property
    def dirs(self) -> list[Path]:
        return sorted(self.home.glob("d[0-9]"))

    def short(self, text: str) -> str:
        return text.replace(f"{self.home}/", "")

    def findings(self, level: str | None) -> Found:
        """What a check names, by code and file."""
        asked = (*filter(None, [level]), "--kafka", self.release, "--json", "--max", 0)
        ran = run("check", *self.dirs, *asked)
        assert ran.code in (0, 4, 8, 12), (ran.code, ran.err[-800:])
        return {(row["code"], self.short(f"{row['dir']}/{row['file']}")): row for row in ran.of("finding")}

    def harm(self) -> Harm:
        """Without the records that only checkpoints tell of, which no file has."""
        ran = run("forecast", *self.dirs, "--kafka", self.release, "--json")
        assert "Traceback" not in ran.err, ran.err
        (line,) = ran.of("broker")
        offline = any(row["outcome"] == "offline" for row in ran.of("dir"))
        effects = (
            (row["before"]["segments"], each) for row in ran.of("partition") for each in row["effects"]
        )
        told = (
            each for segments, each in effects if not segments or each["effect"] == "high-watermark-reset"
        )
        marks = sum(each["records_lost"] for each in told)
        fails = line["outcome"] != "starts" or offline
        return Harm(fails, line["unserved"], line["lost"]["partitions"], line["lost"]["records"] - marks)

    def look(self) -> list[tuple[object, ...]]:
        """What a command changes of what is there; what is in files nobody may read here is left out."""
        rows = ((path, path.lstat()) for path in sorted(self.home.rglob("*")))
        return [(path, s.st_mode, s.st_uid, s.st_ino, s.st_size, s.st_mtime_ns) for path, s in rows]

    def copied(self, to: Path) -> "Broker":
        """A copy, also of files that their owner may not read."""
        if to.exists():
            remove(to)
        closed = [
            path for path in self.home.rglob("*") if path.is_file() and not path.lstat().st_mode & 0o400
        ]
        modes = {path.relative_to(self.home): path.lstat().st_mode & 0o777 for path in closed}
        for path in closed:
            path.chmod(0o600)
        subprocess.run(["cp", "-a", self.home, to], check=True)
        for path, mode in modes.items():
            for home in (self.home, to):
                (home / path).chmod(mode)
        return Broker(to, self.release)


@dataclass(frozen=True)
class Whole:
    """A broker before it was hurt: what is found of it then is no news."""

    broker: Broker
    known: dict[str | None, Found]
    harm: Harm

    @classmethod
    def of(cls, broker: Broker) -> "Whole":
        return cls(broker, {level: broker.findings(level) for level in LEVELS}, broker.harm())

    def news(self, broker: Broker, level: str | None) -> Found:
        return {key: row for key, row in broker.findings(level).items() if key not in self.known[level]}


def commands(found: Found, broker: Broker) -> dict[str, Row]:
    """What can be run of what they name, for any place."""
    named = [row for row in found.values() if row["remedy"]]
    runnable = [row for row in named if row["remedy"]["command"].startswith((*MENDS, *LOOKS))]
    return {broker.short(row["remedy"]["command"]): row for row in runnable}


@dataclass(frozen=True)
class Evening:
    """What a user does who runs what a check names."""

    whole: Whole
    scratch: Path

    def done(self, command: str, broker: Broker, row: Row) -> tuple[list[str], bool]:
        """What it does not do, and whether it did something."""
        full = row["remedy"]["command"].replace(str(Path(row["dir"]).parent), str(broker.home))
        if command.startswith("segmend check ") and row["code"] != "C03":  # to know what a scan cuts off
            return [*not_found(full)], False
        if command.startswith(LOOKS):
            ran = run(*shlex.split(full)[1:])
            return ([] if ran.code in (0, 4) else [f"exit {ran.code} {ran.err[-300:]}"]), False
        before = broker.look()
        if command.startswith(SHELL):
            ended = subprocess.run(full, shell=True, capture_output=True, text=True, check=False)
            said = [] if ended.returncode == 0 else [f"exit {ended.returncode} {ended.stderr[-300:]}"]
            return said or ([] if broker.look() != before else ["changed nothing"]), not said
        if self.beyond_help(row):
            return [], False
        full = full.replace("CLUSTER_ID", "mAb5pZ9vTWWx4JmKu0o3Ng").replace("NODE_ID", "1")
        replica = self.replica(row) or self.scratch
        return not_planned(full, replica, self.scratch, row)

    def replica(self, row: Row) -> Path | None:
        """The partition as it was, which a human puts in."""
        name = f"{row['topic']}-{row['partition']}"
        return next((path / name for path in self.whole.broker.dirs if (path / name).is_dir()), None)

    def beyond_help(self, row: Row) -> bool:
        """Whether it asks for a replica that nobody has: of a name that only the damage made."""
        asks = any(place in row["remedy"]["command"] for place in PLACES)
        return asks and self.replica(row) is None

    def complaints(self, hurt: Broker) -> Iterator[str]:
        """All that is not as promised."""
        harm = hurt.harm()
        for level in LEVELS:
            found = self.whole.news(hurt, level)
            if self.is_worse(harm, level) and not grave(found):
                yield f"{level}: all clear, and {harm}, was {self.whole.harm}"
            for command, row in commands(found, hurt).items():
                what = f"{level}: {row['code']} {row['message'][:120]}: {command}"
                tried = hurt.copied(self.scratch / "tried")
                said, did = self.done(command, tried, row)
                yield from (f"{what}: {words}" for words in said if not is_told(words, found, row))
                again = commands(self.whole.news(tried, level), tried) if did else {}
                if command in again:
                    yield f"{what}: again for {again[command]['code']} {again[command]['message'][:150]}"
            yield from self.all_of_them(hurt.copied(self.scratch / "tried"), level)

    def all_of_them(self, broker: Broker, level: str | None) -> Iterator[str]:
        """Everything that is named, one after the other, until nothing new is."""
        ran: list[str] = []
        over: set[str] = set()
        refused: set[str] = set()  # since something was done
        while True:
            found = self.whole.news(broker, level)
            named = {each: row for each, row in commands(found, broker).items() if each not in over | refused}
            if not named or len(ran) == MOST:
                break
            command = next(iter(named))
            ran.append(command)
            _, did = self.done(command, broker, named[command])
            (over if did else refused).add(command)
            refused = set() if did else refused
        left = grave(found)
        told = "; ".join(f"{code} {file} {row['message'][:90]}" for (code, file), row in left.items())
        if named:
            yield f"{level}: after {ran}: no end: {told}"
        elif not left and self.is_worse(harm := broker.harm(), level):
            yield f"{level}: after {ran}: all clear, and {harm}, was {self.whole.harm}"
        elif any(self.is_left_undone(row) for row in left.values()):
            yield f"{level}: after {ran}: stays: {told}"

    def is_worse(self, harm: Harm, level: str | None) -> bool:
        """At startup level holes within a log are not looked at, which only compaction may explain."""
        was = self.whole.harm
        return (replace(harm, partitions=was.partitions) if level == "--startup" else harm).exceeds(was)

    def is_left_undone(self, row: Row) -> bool:
        remedy = row["remedy"]
        return remedy and remedy["command"].startswith(MENDS) and not self.beyond_help(row)


def is_told(words: str, found: Found, row: Row) -> bool:
    """Whether a plan is refused over another file that the same check has something about."""
    others = (each for each in found.values() if (each["dir"], each["file"]) != (row["dir"], row["file"]))
    return words.startswith("exit 8 ") and any(f"/{each['file']}: " in words for each in others)


def grave(found: Found) -> Found:
    return {key: row for key, row in found.items() if row["severity"] != "info"}


def some_of(home: Path, *, stopped_otherwise: bool) -> Path:
    """Without most of its partitions, which makes it quick; perhaps with the other kind of stop."""
    for log_dir in home.glob("d[0-9]"):
        folders = [path for path in sorted(log_dir.iterdir()) if path.is_dir() and path.name[:4] != "__cl"]
        for path in {*folders} - {*folders[::EACH]}:
            remove(path)
        marker = log_dir / MARKER
        if stopped_otherwise:
            marker.unlink() if marker.exists() else marker.touch()
    return home


def play(numbers: Iterable[int], seed: int, goldens: Sequence[str], home: Path) -> Counter[str]:
    """Play them all; how many ended how."""

    @cache
    def whole(golden: str, *, stopped_otherwise: bool) -> Whole:
        path = unpack(GOLDEN / f"{golden}.tar.xz", shelf / f"{golden} {stopped_otherwise}") / "b1"
        some = some_of(path, stopped_otherwise=stopped_otherwise)
        return Whole.of(Broker(some, golden.partition("-")[0]))

    def trial(number: int, folder: Path) -> list[str]:
        draw = Draw.of(seed, number, goldens)
        was = whole(draw.golden, stopped_otherwise=draw.stopped_otherwise)
        hurt = Broker(folder / "hurt disks", draw.release)
        copy_into(was.broker.home, hurt.home)
        said = draw.hurt(hurt.dirs)
        if draw.normal or draw.number % 2:
            owned_by_nobody(folder)
        told = folder / "told"

        def act() -> None:
            told.write_text("\n".join(Evening(was, folder).complaints(hurt)))

        as_user(act) if draw.normal else act()
        if found := told.read_text():
            user = "a normal user" if draw.normal else "root"
            raise AssertionError(f"{draw.again}: {draw}, {user}: {said}\n{found}")
        return ["ok"]

    with nobody_else(), swift(home) as shelf:  # where a normal user can look
        shelf.chmod(0o755)
        return each_of(numbers, home, trial)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.small_files", GOLDENS, play))
