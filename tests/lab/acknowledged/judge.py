"""What a rescue gives, against what was acknowledged."""

import json
import random
import re
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyarrow import csv

from segmend.merge.spans import Span, has, size, united
from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.golden.unpack import unpack
from tests.lab.acknowledged.base import TOPICS, archive, text
from tests.lab.acknowledged.hurt import NAMES, Bed, strike, surveyed
from tests.lab.admin import delete_topics
from tests.lab.base import QUIET
from tests.lab.broker import Broker, Seat
from tests.lab.cluster import Cluster
from tests.lab.releases import release
from tests.lab.zookeeper import ZooKeeper
from tests.rescue.served import consumed
from tests.surgery.shows.server import tell

Record = tuple[int, str | None, str | None, int, tuple[tuple[str, str | None], ...]]
"""Offset, key and value (base64), timestamp, headers."""


@dataclass
class Told:
    """Rows and report of one rescue."""

    ran: Ran
    rows: dict[str, list[Record]]
    marked: dict[str, set[int]] | None = None
    """Offsets of rows of which nobody knows whether they were aborted; None: of a form that was not asked."""

    def doubts(self, name: str) -> str:
        """What it says could not be known."""
        found = (line for line in self.ran.of("partition") if f"{line['topic']}-{line['partition']}" == name)
        return "\n".join(each for line in found for each in line["doubts"])

    def missing(self, name: str) -> list[Span]:
        """Offsets that it says nobody has: of a false base offset there may be 2^60."""
        found = (line for line in self.ran.of("partition") if f"{line['topic']}-{line['partition']}" == name)
        return united((first, last) for line in found for first, last in line["missing"])

    def named(self, name: str) -> list[Span]:
        """Offsets of which it says that nothing tells."""
        found = re.findall(r"^offsets (\d+) to (\d+):", self.doubts(name), re.M)
        return united((int(first), int(last)) for first, last in found)


@dataclass
class World:
    """An unpacked base: nobody changes it. `truth` is what a rescue of the unhurt replicas gives."""

    root: Path
    scratch: Path
    acknowledged: dict[str, list[Record]] = field(default_factory=dict)
    truth: dict[str, list[Record]] = field(default_factory=dict)
    timed: bool = True
    """Whether each record has a time on all replicas: of magic 0 it has none."""

    def known(self, rows: dict[str, list[Record]]) -> dict[str, list[Record]]:
        """As far as all replicas have the same of them."""
        if self.timed:
            return rows
        return {name: [(*row[:3], -1, row[4]) for row in each] for name, each in rows.items()}


def opened(version: str, scratch: Path, base: Path | None = None) -> World:
    """Unpack a base, and read what was acknowledged."""
    world = World(unpack(base or archive(version), scratch / "base"), scratch)
    world.acknowledged = {name: [] for name in NAMES}
    for line in (world.root / "acknowledged.json").read_text().splitlines():
        row = json.loads(line)
        headers = tuple((key, value) for key, value in row["headers"])
        time = row["timestamp"]
        world.timed &= time is not None
        world.acknowledged[f"{row['topic']}-{row['partition']}"].append(
            (row["offset"], row["key"], row["value"], -1 if time is None else time, headers)
        )
    world.truth = world.known(rescued(world.scratch / "whole", dirs_of(world.root)).rows)
    return world


def dirs_of(root: Path) -> list[Path]:
    return [root / f"b{node}" / "d0" for node in (1, 2, 3)]


def rescued(out: Path, dirs: list[Path], form: str = "jsonl", *options: object) -> Told:
    """Run `segmend rescue`, which must not fail, and read what it wrote."""
    shutil.rmtree(out, ignore_errors=True)
    isolation = () if form in ("log-dir", "kafka") else ("--isolation", "read_committed")
    topics = "[!_]*"
    ran = run("rescue", *dirs, "--out", out, "--as", form, "--topic", topics, *isolation, *options, "--json")
    assert ran.code in (0, 4), ran.err
    marked: dict[str, set[int]] = {}
    return Told(
        ran, {} if form == "kafka" else rows_of(out, form, marked), marked if form == "jsonl" else None
    )


@contextmanager
def live(version: str, root: Path) -> Iterator[str]:
    """Where a broker of this release listens, whose cleaner takes nothing of what is sent to it."""
    with Cluster(version, root, settings={**QUIET, "log.cleaner.enable": "false"}) as cluster:
        cluster.start()
        yield cluster.bootstrap


def sent(world: World, dirs: list[Path], bootstrap: str) -> Told:
    """A rescue to a live cluster, read by a consumer; its topics are deleted again."""
    to = ("--bootstrap", bootstrap, "--create-topics")
    told = rescued(world.scratch / "out", dirs, "kafka", *to)
    told.rows = {name: list(_consumed(world.truth[name], name, bootstrap)) for name in NAMES}
    delete_topics(bootstrap, TOPICS)
    return told


# Alone it may not have been in the ISR when all died, which now has all that any of them had.
_ALONE = {**QUIET, "log.cleaner.enable": "false", "unclean.leader.election.enable": "true"}


def served(world: World, dirs: list[Path], version: str) -> Told:
    """A rescue as a log dir, read by a consumer of the release's real broker, which has nothing else."""
    home, kind = world.scratch / "home", release(version)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    told = rescued(home / "d0", dirs, "log-dir", "--kafka", version)
    seat, zookeeper = Seat(1), ZooKeeper.wanted(kind, home / "beside")
    peers = None if zookeeper else [seat]
    with Broker(kind, home, seat, peers=peers, log_dirs=1, settings=_ALONE, zookeeper=zookeeper) as broker:
        if broker.own_zookeeper:
            tell(broker.own_zookeeper, home, home)
        broker.start()
        told.rows = {name: list(_consumed(world.truth[name], name, broker.bootstrap)) for name in NAMES}
    return told


def _consumed(truth: list[Record], name: str, bootstrap: str) -> Iterator[Record]:
    """With the offsets that they had: no two records of a base have one timestamp."""
    offsets = {row[3]: row[0] for row in truth}
    assert len(offsets) == len(truth)
    topic, _, partition = name.rpartition("-")
    for key, value, headers, timestamp in consumed(bootstrap, topic, int(partition)):
        yield offsets.get(timestamp, -1), key, value, timestamp, tuple(headers)


def rows_of(out: Path, form: str, marked: dict[str, set[int]]) -> dict[str, list[Record]]:
    """The records in OUT; of JSON lines those that are `marked`, too: nobody knows how they ended."""
    if form == "jsonl":
        lines = {
            name: [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]
            for name in NAMES
        }
        for name, rows in lines.items():
            marked[name] = {row["offset"] for row in rows if row["aborted"] is None}
        return {name: [*map(_of_json, rows)] for name, rows in lines.items()}
    if form == "csv":
        return {name: _of_csv(out / f"{name}.csv") for name in NAMES}
    if form == "parquet":
        return {name: _of_table(pq.ParquetFile(out / f"{name}.parquet").read()) for name in NAMES}
    if form == "delta":
        return _of_delta(out)
    again = out.with_name(f"{out.name}-again")
    return rescued(again, [out]).rows


def _of_json(row: dict[str, Any]) -> Record:
    time = row["timestamp"] and datetime.fromisoformat(row["timestamp"])
    headers = tuple((each["key"], each["value"]) for each in row["headers"])
    return row["offset"], row["key"], row["value"], _millis(time), headers


def _millis(time: datetime | None) -> int:
    """Messages of magic 0 have no time."""
    return round(time.timestamp() * 1000) if time else -1


def _of_csv(path: Path) -> list[Record]:
    wanted = ("offset", "key", "value", "timestamp", "headers")
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(wanted[1:], pa.string()), include_columns=wanted, strings_can_be_null=True,
        null_values=[""], quoted_strings_can_be_null=False,
    )  # fmt: skip
    if path.read_bytes().count(b"\n") == 1:
        return []
    table = csv.read_csv(path, convert_options=options)
    return [_of_json({**row, "headers": json.loads(row["headers"])}) for row in table.to_pylist()]


def _of_delta(out: Path) -> dict[str, list[Record]]:
    """As its reader gives it, who promises no order."""
    table = DeltaTable(str(out)).to_pyarrow_table()
    found: dict[str, list[Record]] = {name: [] for name in NAMES}
    names = zip(table["topic"].to_pylist(), table["partition"].to_pylist(), strict=True)
    for (topic, partition), row in zip(names, _of_table(table), strict=True):
        found[f"{topic}-{partition}"].append(row)
    return {name: sorted(rows, key=lambda row: row[0]) for name, rows in found.items()}


def _of_table(table: pa.Table) -> list[Record]:
    return [
        (
            row["offset"], text(row["key"]), text(row["value"]), _millis(row["timestamp"]),
            tuple((each["key"], text(each["value"])) for each in row["headers"]),
        )
        for row in table.to_pylist()
    ]  # fmt: skip


def faults_of_base(world: World) -> list[str]:
    """Where the rescue of unhurt replicas is not what was acknowledged."""
    found = []
    for name in NAMES:
        told, rows = world.acknowledged[name], world.truth[name]
        if [row[0] for row in rows] != sorted({row[0] for row in rows}):
            found.append(f"{name}: not in order, or twice")
        if name.startswith("compacted"):
            late = [row for row in rows if row[0] > max(each[0] for each in told)]
            if _latest(rows) != _latest([*told, *late]):
                found.append(f"{name}: the last value of a key is another")
            continue
        if lacking := sorted(set(told) - set(rows)):
            found.append(f"{name}: {len(lacking)} acknowledged records are not there: {lacking[:2]}")
        last = max(row[0] for row in told)
        # What was written when all brokers died may be there, though nobody was told.
        if more := [row for row in set(rows) - set(told) if row[0] < last]:
            found.append(f"{name}: {len(more)} records that nobody was told of: {sorted(more)[:2]}")
    return found


def _latest(rows: list[Record]) -> dict[str | None, str | None]:
    last = {row[1]: row[2] for row in rows}
    return {key: value for key, value in last.items() if value is not None}


def _without(rows: list[Record], known: set[Record], unended: set[int]) -> list[Record]:
    """Without what nobody was told of, of transactions whose end is lost."""
    return [row for row in rows if row in known or row[0] not in unended]


def _as_compacted(
    told: list[Record], due: list[Record], rows: list[Record]
) -> tuple[list[Record], list[Record]]:
    """Both without what a cleaner may take or leave: tombstones of keys that have no record any more, and
    acknowledged records that a later one stands for."""
    keys = {row[1] for row in rows if row[2] is not None}
    due = [row for row in due if row[2] is not None or row[1] in keys or row in rows]
    last = {row[1]: row[0] for row in due}
    left = {row for row in told if row[2] is None or row[0] < last.get(row[1], -1)}
    return due, [row for row in rows if row in due or row not in left]


@dataclass
class Trial:
    """One seed: what was done, and where the rescue was wrong."""

    seed: int
    wounds: list[str]
    faults: list[str]
    invented: int = 0
    """Offsets of the compacted log said to be missing that held nothing any more."""


def hurt(world: World, seed: int, *, overlap: bool = False, wounds: int = 0, only: str = "") -> Bed:
    """A copy, hurt by this seed."""
    draw = random.Random(f"{seed} {overlap}")
    root = world.scratch / "hurt"
    for node in (1, 2, 3):
        copy_tree(world.root / f"b{node}" / "d0", root / f"b{node}" / "d0")
    bed = surveyed(root)
    wanted = {name: {row[0] for row in rows} for name, rows in world.truth.items()}
    for place in bed.places:
        if place.is_control or place.name.startswith("txn"):  # how a transaction ended its marker tells
            wanted[place.name] |= place.offsets
    strike(bed, draw, wounds or draw.choice((3, 12, 40)), wanted, overlap, only)
    return bed


def play(
    world: World, seed: int, *, overlap: bool = False, form: str = "jsonl", wounds: int = 0, only: str = "",
    bootstrap: str = "", serve: str = "",
) -> Trial:  # fmt: skip
    """Hurt a copy by this seed, rescue it, and compare.

    `bootstrap` is where form `kafka` sends it, `serve` the release whose broker serves it.
    """
    bed = hurt(world, seed, overlap=overlap, wounds=wounds, only=only)
    if serve:
        told = served(world, bed.dirs, serve)
    elif bootstrap:
        told = sent(world, bed.dirs, bootstrap)
    else:
        told = rescued(world.scratch / "out", bed.dirs, form)
    told.rows = world.known(told.rows)
    trial = Trial(seed, bed.wounds, [])
    for name in NAMES:
        sound = set[int]().union(*(bed.held(node, name) for node in (1, 2, 3)))
        # Had, whose epoch what lies beside it proves, or named: nothing in between.
        sound |= bed.provable.get(name, set()) & {row[0] for row in told.rows[name]}
        compare(world, trial, told, name, sound, bed.unended(name))
    return trial


def compare(
    world: World, trial: Trial, told: Told, name: str, sound: set[int], unended: Set[int] = frozenset()
) -> None:
    """Note where what is told of one partition is wrong.

    `sound` are the offsets that some replica has, `unended` those of transactions whose marker nobody has.
    """
    truth, rows, missing = world.truth[name], told.rows[name], told.missing(name)
    due = [row for row in truth if row[0] in sound]
    gone = {row[0] for row in truth} - sound
    excused = unended if told.marked is None else unended & told.marked.get(name, set())
    rows = _without(rows, {*truth, *world.acknowledged[name]}, excused)
    if name.startswith("compacted"):
        due, rows = _as_compacted(world.acknowledged[name], due, rows)
    if lacking := sorted(set(due) - set(rows)):
        said = "named" if all(has(missing, row[0]) for row in lacking) else "NOT NAMED"
        trial.faults.append(
            f"{name}: {len(lacking)} sound records are not there ({said}): {[r[0] for r in lacking][:8]}"
        )
    if more := sorted(set(rows) - set(due)):
        trial.faults.append(f"{name}: {len(more)} records too many: {[row[0] for row in more][:8]}")
    if [row[0] for row in rows] != sorted({row[0] for row in rows}):
        trial.faults.append(f"{name}: not in order, or twice")
    known = united([*missing, *told.named(name)])
    silent = {offset for offset in gone if not has(known, offset)}
    if silent and not (told.doubts(name) and min(silent) > max(sound, default=-1)):
        trial.faults.append(f"{name}: {len(silent)} lost offsets are not named: {sorted(silent)[:8]}")
    there = sound if name.startswith(("plain", "idem")) else {row[0] for row in rows}
    if invented := sorted(offset for offset in there - gone if has(missing, offset)):
        trial.faults.append(f"{name}: missing, it says, but there: {invented[:8]}")
    if name.startswith("compacted"):
        trial.invented += size(missing) - sum(has(missing, offset) for offset in gone)
