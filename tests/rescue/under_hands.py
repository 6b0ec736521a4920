"""Sources that change under the hands of diff, rescue and export: a doubt or one line, and never too little.

`python -m tests.rescue.under_hands [--seed N] [--count N] [--only N] [spark]`. Drawn are brokers, whether
they run, a command, alone or of the fleet, and a call to the disk; before that call something becomes of the
sources: they grow, are cut, deleted, renamed, cleaned, moved to another dir or made anew. What comes out is
held against what a rescue gives of the sources as they were before and as they are behind; then the same
command is given again.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
from deltalake import DeltaTable
from tests.beside import broker_on
from tests.cli.run import Ran, run
from tests.faults.on_disk import batches_of, lengthen
from tests.fleet.build import TOPICS, plain, write_broker
from tests.rescue.looked_at import Together, heard, in_workers
from tests.rescue.test_export import table
from tests.surgery.trials import agreed, main, playing

from segmend.formats.build import NewRecord, build_batch

Record = tuple[str, int, str]
"""Partition, offset, value."""
NAMES = [f"{topic}-{number}" for topic in TOPICS for number in (0, 1)]
ASIDE = "0123456789abcdef0123456789abcdef"
FORMS = ("jsonl", "csv", "parquet", "delta", "log-dir")


def logs_of(replica: Path) -> list[Path]:
    return sorted(replica.glob("*.log"))


def _end(replica: Path) -> int:
    ends = [batch.last_offset + 1 for log in logs_of(replica) for batch in batches_of(log)]
    return max(ends, default=0)


def _more(first: int, word: str, count: int = 5) -> bytes:
    return b"".join(
        build_batch([NewRecord(value=f"{word} {at}".encode())], base_offset=at)
        for at in range(first, first + count)
    )


def _renamed(replica: Path, log: Path) -> None:
    """As a broker deletes a segment: renamed at first."""
    for each in sorted(replica.glob(f"{log.stem}.*"), key=lambda file: file.suffix != ".log"):
        each.rename(f"{each}.deleted")


def grown(replicas: Sequence[Path], draw: Random) -> None:
    end = _end(replicas[0])
    for replica in replicas:
        lengthen(logs_of(replica)[-1], _more(end, "new"))


def torn(replicas: Sequence[Path], draw: Random) -> None:
    data = _more(_end(replicas[0]), "new")
    lengthen(logs_of(replicas[0])[-1], data[: draw.randrange(1, len(data))])


def rolled(replicas: Sequence[Path], draw: Random) -> None:
    end = _end(replicas[0])
    for replica in replicas:
        (replica / f"{end:020d}.log").write_bytes(_more(end, "new"))


def cut(replicas: Sequence[Path], draw: Random) -> None:
    log = logs_of(replicas[0])[-1]
    os.truncate(log, draw.choice([0, *(batch.position for batch in batches_of(log))]))


def cut_and_grown(replicas: Sequence[Path], draw: Random) -> None:
    """As a follower that truncates and fetches of another leader."""
    log = logs_of(replicas[0])[-1]
    batch = draw.choice(batches_of(log))
    os.truncate(log, batch.position)
    lengthen(log, _more(batch.base_offset, "other", 60))


def first_gone(replicas: Sequence[Path], draw: Random) -> None:
    for replica in replicas:
        for log in logs_of(replica)[: draw.randrange(1, 3)]:
            for each in replica.glob(f"{log.stem}.*"):
                each.unlink()


def first_renamed(replicas: Sequence[Path], draw: Random) -> None:
    """As retention."""
    for replica in replicas:
        for log in logs_of(replica)[: draw.randrange(1, 3)]:
            _renamed(replica, log)


def any_gone(replicas: Sequence[Path], draw: Random) -> None:
    draw.choice(logs_of(replicas[0])).unlink()


def cleaned(replicas: Sequence[Path], draw: Random) -> None:
    """As the cleaner: of two segments one with half of the batches, the old ones renamed."""
    replica = replicas[0]
    first, second = logs_of(replica)[:2]
    merged = replica / "merged"
    with merged.open("wb") as opened:
        for log in (first, second):
            kept = (batch for batch in batches_of(log) if draw.random() < 0.7)
            opened.writelines(log.read_bytes()[batch.position : batch.end] for batch in kept)
    for log in (first, second):
        _renamed(replica, log)
    merged.rename(first)


def dir_gone(replicas: Sequence[Path], draw: Random) -> None:
    shutil.rmtree(replicas[0])


def dir_deleted(replicas: Sequence[Path], draw: Random) -> None:
    for replica in replicas:
        replica.rename(f"{replica}.{ASIDE}-delete")


def dir_stray(replicas: Sequence[Path], draw: Random) -> None:
    replicas[0].rename(f"{replicas[0]}.{ASIDE}-stray")


def broker_gone(replicas: Sequence[Path], draw: Random) -> None:
    shutil.rmtree(replicas[0].parent)


def moved(replicas: Sequence[Path], draw: Random) -> None:
    """As of kafka-reassign-partitions between dirs of a broker: first the new one gets the name."""
    here = replicas[0]
    there = here.parents[1] / ("a" if here.parent.name == "data" else "data")
    (there / f"{here.name}.{ASIDE}-future").rename(there / here.name)
    here.rename(f"{here}.{ASIDE}-delete")


def made_anew(replicas: Sequence[Path], draw: Random) -> None:
    """A topic deleted, and another of its name."""
    for replica in replicas:
        replica.rename(f"{replica}.{ASIDE}-delete")
        replica.mkdir()
        (replica / f"{0:020d}.log").write_bytes(_more(0, "anew", 9))
        (replica / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAEw\n")


CHANGES: tuple[Callable[[Sequence[Path], Random], None], ...] = (
    grown, torn, rolled, cut, cut_and_grown, first_gone, first_renamed, any_gone, cleaned, dir_gone,
    dir_deleted, dir_stray, broker_gone, moved, made_anew,
)  # fmt: skip


class Hands:
    """Counts calls to the disk, and lets something happen before one of them."""

    def __init__(self, due: int | None, change: Callable[[], None], root: Path) -> None:
        self.calls, self._due, self._change = 0, due, change
        self._root, self._done, self._lock = str(root), root.parent / "changed", threading.Lock()

    def called(self, path: object) -> None:
        if threading.current_thread().name == "change" or not str(path).startswith(self._root):
            return
        with self._lock:
            self.calls += 1
            if self.calls != self._due or self._done.exists():
                return
            self._done.touch()
            worker = threading.Thread(target=self._change, name="change")
            worker.start()
            worker.join()

    def laid_on(self) -> AbstractContextManager[None]:
        return heard(self.called)


class Watched:
    """The same of all processes of a command on Spark: it happens in this one, and who looks waits."""

    def __init__(self, due: int | None, change: Callable[[], None], root: Path, together: Together) -> None:
        self._due, self._change, self._root, self._together = due, change, root, together
        self._mark = root.parent / "changed"

    @property
    def calls(self) -> int:
        return self._together.calls

    @contextmanager
    def laid_on(self) -> Iterator[None]:
        self._together.begin(self._root, self._due)
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over,), name="change")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(0.002):
            if self._together.is_reached:
                self._change()
                self._mark.touch()
                self._together.done()
                return


def values(out: Path, form: str, scratch: Path) -> list[Record]:
    """The records in OUT."""
    if form == "log-dir":
        places = [each for each in out.glob("*-?") if each.is_dir()]
        if not places:
            return []
        shutil.rmtree(scratch, ignore_errors=True)
        run("rescue", *places, "--out", scratch, "--as", "jsonl")
        return values(scratch, "jsonl", scratch)
    if form == "jsonl":
        files = [each for each in out.glob("*.jsonl") if not each.name.startswith("_")]
        rows = [json.loads(line) for each in files for line in each.read_text().splitlines()]
        return [_record(row, row["value"]) for row in rows]
    if form == "csv":
        rows = [row for each in out.glob("*.csv") for row in csv.DictReader(each.read_text().splitlines())]
        return [_record(row, row["value"]) for row in rows]
    if form == "export":
        rows = table(out) if (out / "_delta_log").is_dir() else []
    else:
        delta = (out / "_delta_log").is_dir()
        files = map(Path, DeltaTable(str(out)).file_uris()) if delta else out.glob("*.parquet")
        rows = [row for each in files for row in pq.ParquetFile(each).read().to_pylist()]
    return [_record(row, b64encode(row["value"]).decode()) for row in rows]


def _record(row: dict[str, Any], value: str) -> Record:
    return f"{row['topic']}-{row['partition']}", int(row["offset"]), value


class Trial:
    """One number."""

    def __init__(self, seed: int, number: int, home: Path, together: Together | None = None) -> None:
        self.draw = draw = Random(f"hands {seed} {number}")
        self.together = together
        self.home, self.root = home, home / "root"
        self.brokers = draw.randrange(1, 4)
        for broker in range(1, self.brokers + 1):
            write_broker(self.root, broker, [plain(topic, each) for topic in TOPICS for each in (0, 1)])
        self.change = draw.choice(CHANGES)
        self.name = draw.choice(NAMES)
        self.replicas = sorted(self.root.glob(f"b*/data/{self.name}"))
        draw.shuffle(self.replicas)
        if self.change is moved:
            self._begin_move()
        if draw.random() < 0.5:
            self.replicas = self.replicas[:1]
        self.live = draw.random() < 0.5
        self.fleet = draw.random() < 0.3 or together is not None
        self.command = draw.choice(("diff", "rescue", "rescue", "rescue", "export"))
        self.form = draw.choice(FORMS) if self.command == "rescue" else self.command
        self.alone = draw.random() < 0.3 and self.change is not moved and not self.fleet

    def _in_a_task(self) -> str:
        return " in a task" if self.together is not None and self.together.was_in_a_task else ""

    def hands(self, due: int | None, change: Callable[[], None]) -> Hands | Watched:
        if self.together is None:
            return Hands(due, change, self.root)
        return Watched(due, change, self.root, self.together)

    def _begin_move(self) -> None:
        here = self.replicas[0]
        data, other = here.parent, here.parent.with_name("a")
        other.mkdir()
        shutil.copy(data / "meta.properties", other)
        (other / "recovery-point-offset-checkpoint").write_text("0\n0\n")
        home, away = (data, other) if self.draw.random() < 0.5 else (other, data)
        if home is other:
            shutil.move(here, other / here.name)
            self.replicas[0] = other / here.name
        shutil.copytree(self.replicas[0], away / f"{here.name}.{ASIDE}-future")

    def given(self) -> list[Path]:
        dirs = [each for each in sorted(self.root.glob("b*/*")) if (each / "meta.properties").exists()]
        return [each for log_dir in dirs for each in sorted(log_dir.glob("*-?"))] if self.alone else dirs

    def asked(self, given: Sequence[Path], out: Path, command: str, form: str, fleet: bool = False) -> Ran:
        words = ["fleet", command] if fleet else [command]
        more: list[object] = ["--json"]
        if command != "diff":
            more += ["--out", out]
        if command == "rescue":
            more += ["--as", form]
        if fleet:
            more += ["--driver", "local" if self.together is None else "spark"]
        return run(*words, *given, *more)

    def quiet(self, name: str) -> tuple[int, set[Record], int]:
        """(exit code, records, exit code of the diff) of the sources as they are."""
        given = self.given()
        if not given:
            return 8, set(), 8
        ran = self.asked(given, self.home / name, "rescue", "jsonl")
        found = set(values(self.home / name, "jsonl", self.home))
        return ran.code, found, self.asked(given, self.home, "diff", "diff").code

    def play(self) -> tuple[list[str], str]:
        given, draw = self.given(), self.draw
        code_before, before, diff_before = self.quiet("before")
        out = self.home / "out"
        with ExitStack() as stack:
            if self.live:
                for each in {each.parent if self.alone else each for each in given}:
                    stack.enter_context(broker_on(each))
            counting = self.hands(None, lambda: None)
            with counting.laid_on():
                self.asked(given, out, self.command, self.form, self.fleet)
            calls = counting.calls
            shutil.rmtree(out, ignore_errors=True)
            due = draw.randrange(1, max(calls if draw.random() < 0.6 else 2 * len(given), 2))
            word = Random(draw.random())
            hands = self.hands(due, lambda: self.change(self.replicas, word))
            with hands.laid_on():
                first = self.asked(given, out, self.command, self.form, self.fleet)
            changed = (self.home / "changed").exists()
            if not changed:
                self.change(self.replicas, word)
            scratch = self.home / "scratch"
            got = [] if self.command == "diff" else values(out, self.form, scratch)
            again = self.asked(given, out, self.command, self.form, self.fleet)
            more = [] if self.command == "diff" else values(out, self.form, scratch)
        code_after, after, diff_after = self.quiet("after")
        how = self._in_a_task() if changed else " (behind it)"
        what = (
            f"{self.change.__name__} of {self.name} x{len(self.replicas)}/{self.brokers} before call {due} "
            f"of {calls}{how}, {'live' if self.live else 'still'}: "
            f"{'fleet ' if self.fleet else ''}{self.command} {self.form} {'alone' if self.alone else ''}"
            f": {first.code}, then {again.code}; quiet {code_before}/{code_after}"
        )
        wrong = []
        for which, ran, rows in (("first", first, got), ("again", again, more)):
            wrong += [f"{which}: {each}" for each in self._judged(ran, rows, before, after)]
        if self.command == "diff" and 0 in (first.code, again.code) and 0 not in (diff_before, diff_after):
            wrong.append(f"diff says 0, at rest {diff_before} and {diff_after}")
        return wrong, what

    def _judged(self, ran: Ran, rows: list[Record], before: set[Record], after: set[Record]) -> Iterator[str]:
        if ran.code not in (0, 4, 8, 12) or "Traceback" in ran.err or ran.err.count("\n") > 1:
            yield f"exit code {ran.code}: {ran.err[-500:]}"
        if len({each[:2] for each in rows}) < len(rows):
            yield f"{len(rows) - len({each[:2] for each in rows})} twice"
        if strange := set(rows) - before - after:
            yield f"{len(strange)} of nowhere: {sorted(strange)[:2]}"
        if self.command != "diff" and ran.code == 0 and (lack := (before & after) - set(rows)):
            yield f"exit code 0, and {len(lack)} lack: {sorted(lack)[:2]}"


def play(numbers: Iterable[int], seed: int, where: Sequence[str], home: Path) -> Counter[str]:
    """Play them all, on Spark if that is asked for; how many ended how."""
    with in_workers(home / "hands") if "spark" in where else nullcontext() as together:

        def played(seed: int, number: int, folder: Path) -> str:
            found, what = Trial(seed, number, folder, together).play()
            agreed(found, what)
            return what.rpartition("; quiet")[0].rpartition(": ")[2]

        return playing(played)(numbers, seed, where, home)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.rescue.under_hands", [], play))
