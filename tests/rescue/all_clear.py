"""Losses that hardly show, and whether an all-clear is given: a rescue or diff ends with 0, a read is silent.

`python -m tests.rescue.all_clear [--seed N] [--count N] [--only N] [BASE]`. Three brokers of
`tests.lab.acknowledged` lose what damage would show: files whole, at the same place on all replicas, with
what lies beside them; replicas, dirs, checkpoints, ids; dirs become links to one another; some of the dirs
are given. Of a command that ends with 0 every acknowledged record must be there, but for what it says that it
did not look at: brokers of which no dir was given, and what is being deleted. A log of which the first files
went with all that tells of them is one that retention was at.
"""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.faults.on_disk import batches_of, keep_lines, put_folder, put_link
from tests.fleet.complaint import complaint
from tests.lab.acknowledged.hurt import NAMES
from tests.lab.acknowledged.judge import Record, World, opened, rows_of
from tests.surgery.trials import agreed, main, playing

from segmend.rescue.run import WRONG

BASES = ("1.1.0", "4.3.1")
NOT_ASKED = ("though compacted there, lacks", "of transactions without a known end")
"""Doubts of a rescue that kafka-log has not: it compares no sound records, and gives what a consumer gets."""
CHECKPOINTS = (
    "replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint", "meta.properties", ".kafka_cleanshutdown",
)  # fmt: skip


class Bed:
    """The dirs of some brokers, and what was done to them."""

    def __init__(self, root: Path, draw: Random) -> None:
        self.root, self.draw = root, draw
        self.dirs = [root / f"b{node}" / "d0" for node in (1, 2, 3)]
        self.did: list[str] = []

    def replicas(self, name: str) -> list[Path]:
        found = [each / name for each in self.dirs]
        return [each for each in found if each.is_dir() and not each.is_symlink()]

    def some(self, paths: Sequence[Path]) -> list[Path]:
        """All of them, or some."""
        some = [each for each in paths if self.draw.random() < 0.5]
        return [*paths] if self.draw.random() < 0.7 else some or [*paths]

    def a_partition(self) -> str:
        return self.draw.choice(NAMES)


def logs_of(replica: Path) -> list[Path]:
    return sorted(each for each in replica.glob("*.log") if each.is_file() and each.stem.isdecimal())


def boundaries(log: Path) -> list[tuple[int, int]]:
    """Where batches begin: offset and byte."""
    return [(each.base_offset, each.position) for each in batches_of(log)]


def _without(replica: Path, bases: Sequence[int], beside: bool) -> None:
    for each in sorted(replica.iterdir()):
        stem = each.name.partition(".")[0]
        if stem.isdecimal() and int(stem) in bases and (beside or each.suffix == ".log"):
            each.unlink()


def cut(bed: Bed) -> None:
    """All at one offset, as if nothing had been written behind."""
    name = bed.a_partition()
    places = [place for each in bed.replicas(name) for log in logs_of(each) for place in boundaries(log)]
    if not places:
        return
    offset = bed.draw.choice(places)[0]
    beside = bed.draw.random() < 0.7
    for replica in bed.some(bed.replicas(name)):
        for log in logs_of(replica):
            if int(log.stem) > offset:
                _without(replica, [int(log.stem)], beside)
                continue
            at = next((byte for first, byte in boundaries(log) if first >= offset), None)
            if at is not None:
                os.truncate(log, at)
                for index in replica.glob(f"{log.stem}.*ndex") if beside else ():
                    index.unlink()
        if beside:
            for snapshot in replica.glob("*.snapshot"):
                if int(snapshot.stem) > offset:
                    snapshot.unlink()
    bed.did.append(f"cut {name} at {offset}, {'all beside' if beside else 'the logs only'}")


def files(bed: Bed) -> None:
    """Segments gone: the first, the last, one between, or all."""
    name = bed.a_partition()
    every = sorted({int(log.stem) for each in bed.replicas(name) for log in logs_of(each)})
    if not every:
        return
    at = bed.draw.randrange(len(every))
    bases = bed.draw.choice((every[:1], every[-1:], every[at : at + 1], every[at:], every[: at + 1], every))
    beside = bed.draw.random() < 0.7
    for replica in bed.some(bed.replicas(name)):
        _without(replica, bases, beside)
    bed.did.append(f"files {bases} of {name}, {'all beside' if beside else 'the logs only'}")


def emptied(bed: Bed) -> None:
    """Replicas that a broker made anew on a new disk."""
    name = bed.a_partition()
    for replica in bed.some(bed.replicas(name)):
        metadata = replica / "partition.metadata"
        kept = metadata.read_bytes() if metadata.exists() and bed.draw.random() < 0.7 else None
        put_folder(replica)
        if bed.draw.random() < 0.5:
            (replica / f"{0:020d}.log").touch()
        if kept is not None:
            metadata.write_bytes(kept)
    bed.did.append(f"emptied {name}")


def gone(bed: Bed) -> None:
    """Replicas without a trace."""
    name = bed.a_partition()
    for replica in bed.some(bed.replicas(name)):
        shutil.rmtree(replica)
    bed.did.append(f"gone {name}")


def beside_the_logs(bed: Bed) -> None:
    """What lies in each replica."""
    name, what = (
        bed.a_partition(),
        bed.draw.choice(("leader-epoch-checkpoint", "*.*ndex", "*.snapshot", "*.m*")),
    )
    for replica in bed.some(bed.replicas(name)):
        for each in replica.glob(what):
            each.unlink()
    bed.did.append(f"{what} of {name}")


def in_the_dirs(bed: Bed) -> None:
    """What lies in each dir."""
    what = bed.draw.choice(CHECKPOINTS)
    for log_dir in bed.some(bed.dirs):
        (log_dir / what).unlink(missing_ok=True)
    bed.did.append(what)


def lines(bed: Bed) -> None:
    """Without the lines of a partition, as a backup of single directories has none."""
    name = bed.a_partition()
    topic, _, number = name.rpartition("-")
    for log_dir in bed.some(bed.dirs):
        for path in log_dir.glob("*-checkpoint"):
            if path.stat().st_size:  # that of a killed broker may be empty
                keep_lines(path, lambda each: each.split()[:2] != [topic, number])
    bed.did.append(f"lines of {name}")


def metadata(bed: Bed) -> None:
    """The cluster's metadata, or its snapshots."""
    what = bed.draw.choice(("*", "*.log", "*.checkpoint"))
    for log_dir in bed.some(bed.dirs):
        for each in log_dir.glob(f"__cluster_metadata-0/{what}"):
            each.unlink()
    bed.did.append(f"metadata {what}")


def linked(bed: Bed) -> None:
    """A partition's directory is a link to that of another."""
    name, other = bed.draw.sample(NAMES, 2)
    for log_dir in bed.some([each.parent for each in bed.replicas(name)]):
        put_link(log_dir / name, log_dir / other)
    bed.did.append(f"{name} is a link to {other}")


def odd_names(bed: Bed) -> None:
    """A log that no broker reads any more."""
    name = bed.a_partition()
    every = sorted({log.name for each in bed.replicas(name) for log in logs_of(each)})
    if not every:
        return
    log = bed.draw.choice(every)
    to = bed.draw.choice(("old.log", f"{log}.log", f"x{log}", f"{log[2:]}", f"{log}.deleted", f"{log}.swap"))
    for replica in bed.some(bed.replicas(name)):
        if (replica / log).exists():
            (replica / log).rename(replica / to)
    bed.did.append(f"{log} of {name} is called {to}")


def aside(bed: Bed) -> None:
    """Directories that no broker serves."""
    name, kind = bed.a_partition(), bed.draw.choice(("stray", "delete", "future"))
    for replica in bed.some(bed.replicas(name)):
        replica.rename(f"{replica}.{'a' * 32}-{kind}")
    bed.did.append(f"{name} is {kind}")


def other_kinds(bed: Bed) -> None:
    """A directory, a pipe or a link to nothing where a log was."""
    name = bed.a_partition()
    every = sorted({log.name for each in bed.replicas(name) for log in logs_of(each)})
    if not every:
        return
    log, kind = bed.draw.choice(every), bed.draw.choice(("dir", "pipe", "link"))
    for replica in bed.some(bed.replicas(name)):
        path = replica / log
        path.unlink(missing_ok=True)
        if kind == "dir":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("nowhere")
    bed.did.append(f"{log} of {name} is a {kind}")


ACTS: tuple[Callable[[Bed], None], ...] = (
    cut, cut, files, files, emptied, gone, beside_the_logs, in_the_dirs, lines, metadata, linked, odd_names,
    aside, other_kinds,
)  # fmt: skip


class Trial:
    """One number."""

    def __init__(self, seed: int, number: int, worlds: Mapping[str, World], home: Path) -> None:
        self.draw = Random(f"all clear {seed} {number}")
        self.version = self.draw.choice(BASES)
        self.world, self.home = worlds[self.version], home
        self.bed = Bed(home / "root", self.draw)
        for log_dir in self.bed.dirs:
            copy_tree(self.world.root / log_dir.relative_to(self.bed.root), log_dir)
        for _ in range(self.draw.randrange(1, 4)):
            self.draw.choice(ACTS)(self.bed)
        self.given = [*self.bed.dirs]
        if self.draw.random() < 0.4:
            self.given = self.draw.sample(self.given, self.draw.randrange(1, 3))

    def play(self) -> Iterator[str]:
        which = f"{self.version}, dirs of {[each.parent.name for each in self.given]}"
        self.bed.did.insert(0, which)
        out = self.home / "out"
        # One that is gone whole has no file in OUT.
        ran = run("rescue", *self.given, "--out", out, "--as", "jsonl", "--topic", "[!_]*",
                  "--isolation", "read_committed", "--json")  # fmt: skip
        if ran.code == 0:
            for name in NAMES:
                (out / f"{name}.jsonl").touch()
            yield from self._lacking(ran, rows_of(out, "jsonl", {}))
        diff = run("diff", *self.given, "--topic", "[!_]*", "--json")
        words = complaint(self.given, topics="[!_]*", isolation="read_committed")
        self.bed.did.append(f"rescue {ran.code}, diff {diff.code}, kafka-log {words or 'says nothing'}")
        if ran.code and not words and not self._only_of_records(ran):
            yield f"kafka-log says nothing, rescue {ran.code}: {ran.out[-600:]}"
        if words and not (ran.code or diff.code):
            yield f"kafka-log: {words}, and rescue has nothing to say"
        for each in (ran, diff):
            if each.code not in (0, 4, 8, 12, 16) or "Traceback" in each.err:
                yield f"exit code {each.code}: {each.err[-600:]}"
        if ran.code == 0 and diff.code in (8, 12):
            yield f"rescue has nothing to say, diff {diff.code}: {diff.out[-600:]}"
        if diff.code == 0 and len(self.given) > 1:
            yield from self._unlike(diff)

    def _only_of_records(self, ran: Ran) -> bool:
        """Whether nothing but what only a rescue looks at takes its all-clear away."""
        lines = [{key: line.get(key) for key in WRONG if key != "doubts"} for line in ran.json]
        doubts = [each for line in ran.of("partition") for each in line["doubts"]]
        return not any(any(line.values()) for line in lines) and all(
            any(known in each for known in NOT_ASKED) for each in doubts
        )

    def _lacking(self, ran: Ran, rows: dict[str, list[Record]]) -> Iterator[str]:
        (summary,) = ran.of("summary")
        for name in NAMES:
            told = self.world.acknowledged[name]
            if name.startswith("compacted"):
                lack = _latest(told).items() - _latest(rows[name]).items()
                lacking = [each for each in told if (each[1], each[2]) in lack]
            else:
                lacking = [each for each in told if each not in rows[name]]
            # A replica may have what another one's cleaner took before.
            known = {*self.world.truth[name], *(told if name.startswith("compacted") else ())}
            strange = [each for each in rows[name] if each not in known]
            first = next((line["first_offset"] for line in ran.of("partition") if _name(line) == name), 0)
            if "leader-epoch-checkpoint" in self.did(name) and "files" in self.did(name):
                lacking = [each for each in lacking if each[0] >= first]
            if ".deleted" in self.did(name):
                lacking = []  # as retention names what it deletes
            if lacking and not (summary["not_here"] or self._is_told(summary, name)):
                offsets = [each[0] for each in lacking]
                yield f"{name}: exit code 0, and {len(lacking)} lack: {offsets[0]} to {offsets[-1]}"
            if strange:
                yield f"{name}: {len(strange)} of nowhere: {[each[0] for each in strange][:5]}"

    def did(self, name: str) -> str:
        """What was done to one partition."""
        return "; ".join(each for each in self.bed.did if name in each)

    def _is_told(self, summary: dict[str, Any], name: str) -> bool:
        return any(f"/{name}." in each for each in summary["not_looked_at"])

    def _unlike(self, diff: Ran) -> Iterator[str]:
        """Replicas whose logs go to other ends, or are not all there."""
        for name in NAMES:
            ends = dict[str, int]()
            for log_dir in self.given:
                logs = logs_of(log_dir / name) if (log_dir / name).is_dir() else []
                found = [first for log in logs if log.is_file() for first, _ in boundaries(log)]
                ends[log_dir.parent.name] = max(found, default=-1)
            if len(set(ends.values())) > 1 and not self._is_told(diff.of("summary")[0], name):
                lines = [row for row in diff.of("partition") if _name(row) == name]
                yield f"{name}: diff ends with 0, the last batches are at {ends}: {json.dumps(lines)[:500]}"


def _name(line: dict[str, Any]) -> str:
    return f"{line['topic']}-{line['partition']}"


def _latest(rows: Sequence[Record]) -> dict[str | None, str | None]:
    last = {row[1]: row[2] for row in rows}
    return {key: value for key, value in last.items() if value is not None}


def play(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
    """Play them all, of another base if one is named; how many were of which release."""
    worlds = {each: opened(each, home / each, *map(Path, of)) for each in BASES}

    def played(seed: int, number: int, folder: Path) -> str:
        trial = Trial(seed, number, worlds, folder)
        found = [*trial.play()]
        agreed(found, "; ".join(trial.bed.did))
        return trial.version

    return playing(played)(numbers, seed, of, home)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.rescue.all_clear", [], play))
