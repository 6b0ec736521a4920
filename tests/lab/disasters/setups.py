"""What is done to a whole node: server.properties changed, dirs formatted anew, an older metadata log."""

import json
import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

from tests.faults.on_disk import exchange, put_folder
from tests.lab.disasters.bases import TOPICS, node
from tests.lab.disasters.scene import META, Scene
from tests.lab.disasters.strangers import CHECKPOINTS
from tests.lab.disasters.wound import Hurt, Wound

DIRS = ("d0", "d1")
KRAFT, DIRECTORY_IDS, BOOTSTRAP = (3, 0), (3, 7), (3, 9)
OF_ALL = (
    {"log.cleaner.enable": "false"}, {"log.preallocate": "true"}, {"log.segment.bytes": "1048576"},
    {"log.index.size.max.bytes": "1048576"}, {"num.recovery.threads.per.data.dir": "3"},
    {"log.cleaner.threads": "5"}, {"offsets.topic.num.partitions": "5"},
    {"log.cleaner.dedupe.buffer.size": "1048576"}, {"listeners": "PLAINTEXT://0.0.0.0:{0}"},
    {"advertised.listeners": "PLAINTEXT://0.0.0.0:{0}"}, {"advertised.listeners": "OTHER://h:{0}"},
    {"inter.broker.listener.name": "INTERNAL"}, {"metric.reporters": "no.such.Reporter"},
    {"authorizer.class.name": "no.such.Authorizer"}, {"replica.fetch.wait.max.ms": "40000"},
    {"offsets.commit.required.acks": "2"}, {"message.max.bytes": "100"},
    {"log.message.timestamp.type": "LogAppendTime"}, {"log.retention.ms": "1"},
    {"log.retention.bytes": "1"}, {"log.index.interval.bytes": "0"}, {"min.insync.replicas": "2"},
    {"broker.rack": "r1"}, {"delete.topic.enable": "false"},
)  # fmt: skip
"""Settings of any release; `{0}` is the port of clients, `{1}` that of controllers."""
OF_KRAFT = (
    {"node.id": "2"}, {"broker.id": "1"}, {"broker.id": "2"},
    {"controller.quorum.voters": "1@127.0.0.1:{1},2@127.0.0.1:1,3@127.0.0.1:2"},
    {"controller.quorum.voters": "7@127.0.0.1:{1}"}, {"controller.quorum.voters": "1@127.0.0.1:1"},
    {"controller.quorum.voters": "1@127.0.0.1:{1}"}, {"listeners": "PLAINTEXT://127.0.0.1:{0}"},
    {"controller.listener.names": "OTHER"}, {"controller.listener.names": "PLAINTEXT"},
    {"zookeeper.connect": "127.0.0.1:1"},
    {"advertised.listeners": "PLAINTEXT://127.0.0.1:{0},CONTROLLER://127.0.0.1:{1}"},
    {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
    {"remote.log.storage.system.enable": "true"}, {"log.dirs": "{2}/d0,{2}/d1,"},
    {"log.dirs": " {2}/d0 , {2}/d1 "}, {"log.dirs": "{2}/d0/,{2}//d1"}, {"metadata.log.dir": "{2}/d0/"},
    {"metadata.log.dir": "{2}/d1"}, {"metadata.log.dir": "{2}/d9"}, {"metadata.max.retention.ms": "1"},
    {"process.roles": "broker,controller,"}, {"process.roles": "controller,broker"},
)  # fmt: skip
OF_BOOTSTRAP = (
    {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "127.0.0.1:{1}"},
    {"controller.quorum.voters": "1@127.0.0.1:{1}", "controller.quorum.bootstrap.servers": ""},
    {"controller.quorum.voters": "1@127.0.0.1:{1}", "controller.quorum.bootstrap.servers": "127.0.0.1:{1}"},
    {"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": "127.0.0.1:1"},
)  # fmt: skip
"""Voters told otherwise than they are kept."""
OF_ODD = (
    {"log.cleaner.io.buffer.load.factor": "0"}, {"log.cleaner.io.buffer.load.factor": "0.0000001"},
    {"log.cleaner.io.buffer.load.factor": "0", "log.cleaner.enable": "false"},
    {"log.cleaner.dedupe.buffer.size": "9000000000"}, {"log.cleaner.io.buffer.size": "2147483647"},
    {"queued.max.requests": "2147483647"}, {"socket.request.max.bytes": "10"}, {"max.connections": "0"},
    {"max.connections.per.ip": "1"}, {"controller.socket.timeout.ms": "1"},
    {"log.dirs": "{2}/d0,{2}/d1,{2}/d1/sub"}, {"log.retention.hours": "168h"}, {"log.segment.bytes": "1G"},
    {"log.segment.bytes": "1073741824 # one GiB"}, {"log.dir": "/nonexistent/dir"},
    {"socket.listen.backlog.size": "0"}, {"num.replica.fetchers": "100000"},
    {"transaction.state.log.num.partitions": "7"}, {"log.cleanup.policy": "none"},
)  # fmt: skip
"""Of any release, too: what server.properties may say, and what nobody does but by mistake."""
OF_FORMATS = tuple({"log.message.format.version": version} for version in ("0.9.0", "0.10.2", "1.0"))
"""Of logs that have newer records by now."""
OF_ODD_KRAFT = (
    {"controller.quorum.append.linger.ms": "100000"}, {"initial.broker.registration.timeout.ms": "1"},
    {"broker.session.timeout.ms": "100"}, {"controller.quorum.fetch.timeout.ms": "1"},
    {"listeners": "PLAINTEXT://127.0.0.1:70000,CONTROLLER://127.0.0.1:{1}"},
    {"listeners": "PLAINTEXT://127.0.0.1:{0},CONTROLLER://127.0.0.1:70000"},
    {"advertised.listeners": "PLAINTEXT://127.0.0.1:70000"}, {"metadata.max.idle.interval.ms": "0"},
    {"metadata.log.max.record.bytes.between.snapshots": "1"}, {"process.roles": "Broker,Controller"},
)  # fmt: skip

OF_PARTS = (
    {"metadata.log.segment.ms": "0"}, {"metadata.log.segment.ms": "1"}, {"server.max.startup.time.ms": "1"},
    {"broker.heartbeat.interval.ms": "10"}, {"broker.session.timeout.ms": "250"}, {"max.connections": "1"},
    {"max.connections": "2"}, {"max.connections.per.ip": "1"}, {"max.connections.per.ip": "2"},
    {"socket.request.max.bytes": "80"}, {"queued.max.requests": "2147483646"},
    {"initial.broker.registration.timeout.ms": "10"}, {"metadata.max.retention.bytes": "-5"},
)  # fmt: skip
"""Numbers with which what is made of them ends a node, and their neighbours with which nothing does."""


def told(*choices: dict[str, str]) -> Hurt:
    """One of these settings, whatever stood there."""

    def hurt(scene: Scene, _target: str, draw: random.Random) -> None:
        values = (*scene.node.ports, scene.root / "b1")
        chosen = {name: value.format(*values) for name, value in draw.choice(choices).items()}
        scene.settings_file.write_text(json.dumps({**scene.settings, **chosen}))

    return hurt


def new_id(draw: random.Random) -> str:
    """A directory id of nobody."""
    return "".join(draw.choice("abcdefghijkmnopqrstuvwxyzABCDEFGHIJK234567") for _ in range(21)) + "w"


def identified_anew(path: Path, draw: random.Random) -> None:
    """meta.properties removed, and written by another `kafka-storage format` with the right cluster id."""
    rows = path.read_text().splitlines()
    path.write_text(
        "".join(
            f"directory.id={new_id(draw)}\n" if row.startswith("directory.id") else f"{row}\n" for row in rows
        )
    )


def formatted(scene: Scene, target: str, draw: random.Random) -> None:
    """A new disk in the place of one, formatted with the right cluster id."""
    mine = scene.log_dir(target)
    kept = [mine / "meta.properties", *(mine.glob("bootstrap.checkpoint"))]
    files = {path.name: path.read_bytes() for path in kept}
    first = mine / META / f"{0:020d}-{0:010d}.checkpoint"
    voters = first.read_bytes() if first.exists() and draw.random() < 0.7 else None
    put_folder(mine)
    for name, data in files.items():
        (mine / name).write_bytes(data)
    if voters is not None:
        (mine / META).mkdir()
        (mine / META / first.name).write_bytes(voters)
    if draw.random() < 0.7:
        identified_anew(mine / "meta.properties", draw)


def formatted_over(scene: Scene, target: str, draw: random.Random) -> None:
    """meta.properties removed and formatted again, the data left; of one dir or of both."""
    for path in scene.dirs if draw.random() < 0.3 else [scene.log_dir(target)]:
        identified_anew(path / "meta.properties", draw)


def identity_of_the_other(scene: Scene, target: str, _draw: random.Random) -> None:
    """meta.properties copied from the other dir."""
    other = next(path for path in scene.dirs if path.name != target)
    shutil.copyfile(other / "meta.properties", scene.log_dir(target) / "meta.properties")


def identity_of_another_release(scene: Scene, target: str, draw: random.Random) -> None:
    """As an older or a newer release writes it, with this node's values."""
    path = scene.log_dir(target) / "meta.properties"
    rows = dict(row.split("=", 1) for row in path.read_text().splitlines() if "=" in row)
    number = rows.get("node.id", rows.get("broker.id", "1"))
    cluster = rows.get("cluster.id", "")
    path.write_text(
        draw.choice(
            (
                f"version=0\nbroker.id={number}\ncluster.id={cluster}\n",
                f"version=0\nbroker.id={number}\n",
                f"version=1\nnode.id={number}\ncluster.id={cluster}\n",
                f"version=1\nnode.id={number}\ncluster.id={cluster}\ndirectory.id={new_id(draw)}\n",
                f"broker.id={number}\ncluster.id={cluster}\n",
                f"version=1\nbroker.id={number}\nnode.id={number}\ncluster.id={cluster}\n",
            )
        )
    )


def batches(data: bytes) -> Iterator[tuple[int, int]]:
    """(position, base offset) of each whole batch."""
    at = 0
    while at + 61 <= len(data):
        base, size = struct.unpack_from(">qi", data, at)
        if size <= 0 or at + 12 + size > len(data):
            return
        yield at, base
        at += 12 + size


def metadata_split(scene: Scene, _target: str, draw: random.Random) -> None:
    """The metadata log in several segments; perhaps the first one deleted, or another one lost."""
    folder = scene.partition(META[:-2])
    (log,) = folder.glob("*.log")
    data, ends = log.read_bytes(), {int(path.name[:20]) for path in folder.glob("*.checkpoint")}
    places = [(at, base) for at, base in batches(data) if base]
    at_snapshots = [each for each in places if each[1] in ends]
    cuts = sorted(draw.sample(places, min(len(places), draw.randint(1, 2))))
    if at_snapshots and draw.random() < 0.6:
        cuts = sorted({*cuts[:1], draw.choice(at_snapshots)})
    edges = [(0, int(log.stem)), *cuts]
    for path in (log.with_suffix(".index"), log.with_suffix(".timeindex")):
        path.unlink(missing_ok=True)
    for number, (at, base) in enumerate(edges):
        end = edges[number + 1][0] if number + 1 < len(edges) else len(data)
        (folder / f"{base:020d}.log").write_bytes(data[at:end])
    way = draw.choice(("whole", "first", "first", "middle"))
    if way != "whole":
        (folder / f"{edges[0 if way == 'first' else 1][1]:020d}.log").unlink()
    if draw.random() < 0.3:
        for path in sorted(folder.glob("*.checkpoint"))[draw.choice((0, 0, 1, -1)) :]:
            path.unlink()


def metadata_ahead(scene: Scene, _target: str, draw: random.Random) -> None:
    """A snapshot of the metadata of another moment, or of another cluster, beside this log."""
    folder = scene.partition(META[:-2])
    source = scene.then(draw.choice(("old", "clean", "killed")), folder)
    if draw.random() < 0.3:
        source = (
            node("4.3.1" if scene.node.version != "4.3.1" else "4.2.0").root / "clean" / "b1" / "d0" / META
        )
    path = draw.choice(sorted(source.glob("*.checkpoint")))
    offset, epoch = int(path.name[:20]), int(path.name[21:31])
    name = f"{offset + draw.choice((0, 0, 1, 100)):020d}-{epoch + draw.choice((0, 0, 1)):010d}.checkpoint"
    shutil.copyfile(path, folder / name)


def metadata_older(scene: Scene, _target: str, draw: random.Random) -> None:
    """The metadata log, or only its quorum-state, from an older backup; the topics are newer."""
    folder = scene.partition(META[:-2])
    then = scene.then("old", folder)
    names = [path.name for path in then.iterdir()] if draw.random() < 0.5 else ["quorum-state"]
    for name in names:
        shutil.copyfile(then / name, folder / name)


def checkpoints_of_the_other(scene: Scene, target: str, draw: random.Random) -> None:
    """Checkpoints of one dir copied into the other."""
    other = next(path for path in scene.dirs if path.name != target)
    for name in draw.sample(CHECKPOINTS, draw.randint(1, 4)):
        if (other / name).exists():
            shutil.copyfile(other / name, scene.log_dir(target) / name)


def topics_exchanged(scene: Scene, target: str, draw: random.Random) -> None:
    """Two topics under each other's name, ids put right by hand."""
    mine, other = scene.partition(target), scene.partition(draw.choice([t for t in TOPICS if t != target]))
    ids = [(path / "partition.metadata").read_bytes() for path in (mine, other)]
    exchange(mine, other)
    for path, data in zip((mine, other), ids, strict=True):
        (path / "partition.metadata").write_bytes(data)


def on_its_way(scene: Scene, target: str, _draw: random.Random) -> None:
    """A replica has the name of one that is on its way, and nothing is beside it."""
    folder = scene.partition(target)
    folder.rename(folder.with_name(f"{folder.name}.{'7' * 32}-future"))


SETUPS = {
    "told": Wound("setup", told(*OF_ALL), DIRS[:1]),
    "told-kraft": Wound("setup", told(*OF_KRAFT), DIRS[:1], KRAFT),
    "told-voters": Wound("setup", told(*OF_BOOTSTRAP), DIRS[:1], BOOTSTRAP),
    "told-odd": Wound("setup", told(*OF_ODD), DIRS[:1]),
    "told-odd-kraft": Wound("setup", told(*OF_ODD_KRAFT), DIRS[:1], KRAFT),
    "told-parts": Wound("setup", told(*OF_PARTS), DIRS[:1], KRAFT),
    "told-format": Wound("setup", told(*OF_FORMATS), DIRS[:1]),
    "on-its-way": Wound("setup", on_its_way, tuple(TOPICS), (1, 1)),
    "formatted": Wound("setup", formatted, DIRS, KRAFT),
    "formatted-over": Wound("setup", formatted_over, DIRS, DIRECTORY_IDS),
    "identity-of-the-other": Wound("setup", identity_of_the_other, DIRS),
    "identity-of-another-release": Wound("setup", identity_of_another_release, DIRS),
    "metadata-split": Wound("setup", metadata_split, DIRS[:1], KRAFT),
    "metadata-ahead": Wound("setup", metadata_ahead, DIRS[:1], KRAFT),
    "metadata-older": Wound("setup", metadata_older, DIRS[:1], KRAFT),
    "checkpoints-of-the-other": Wound("setup", checkpoints_of_the_other, DIRS),
    "topics-exchanged": Wound("setup", topics_exchanged, tuple(TOPICS), (2, 8)),
}
