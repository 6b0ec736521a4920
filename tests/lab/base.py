"""Bases of the fault lab: log dirs that a real broker wrote, with the same content in many topics.

A base of a release has topics `f000`, `f001`, ...: single partitions over two log dirs. The broker
writes one topic `t` through three starts (leader epochs 0, 1, 2): idempotent batches, committed and
aborted transactions, one left open, in segments of 4 KiB. Its files are then copied into the
directories of the other topics, so that every fault is done to the same bytes. The `few` base has four
such topics, the `many` base one for each fault of the table. Both exist `clean` (SIGTERM)
and `killed` (kill -9 after further segments, so that only the last ones are above the recovery point).

They are made once and kept below `~/.cache/segmend/lab`.
"""

import json
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.copies import copy_tree
from tests.faults.on_disk import lines_of, put_lines
from tests.golden.acts import open_transaction, transactional
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.broker import Broker, Seat
from tests.lab.cluster import Cluster
from tests.lab.jars import cache_dir
from tests.lab.ports import is_free
from tests.lab.releases import release
from tests.lab.zookeeper import ZooKeeper

FOREVER = "2147483647"
QUIET = {
    "log.index.size.max.bytes": "32768",
    "log.retention.ms": "-1",
    "log.retention.check.interval.ms": "360000000",
    "log.initial.task.delay.ms": "3600000",
    "log.flush.offset.checkpoint.interval.ms": "3600000",
    "log.segment.delete.delay.ms": "3600000",
    "log.roll.hours": "100000",
    "log.cleaner.backoff.ms": "3600000",
    "producer.id.expiration.ms": FOREVER,
    "transactional.id.expiration.ms": FOREVER,
    "zookeeper.session.timeout.ms": "4000",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
}
"""Nothing but loading happens to the files: no retention, no compaction, no late deletion."""
FEW, MANY = 4, 180
STORY = "t"


@dataclass(frozen=True)
class Base:
    """`root` holds `b1/d0`, `b1/d1` and, for old releases, `zookeeper`; nobody may change it."""

    version: str
    mark: str
    root: Path
    ports: tuple[int, int]

    def start_copy(self, root: Path) -> Broker:
        """A broker (not started) over a copy of this base at `root`."""
        kind, seat = release(self.version), Seat(1, *self.ports)
        return Broker(kind, root / "b1", seat, settings=QUIET, zookeeper=ZooKeeper.wanted(kind, root))


def quiet_port() -> int:
    """A free port below the range from which the system gives them out: it must be free again later."""
    while True:
        port = random.randrange(20_000, 30_000)
        if is_free(port):
            return port


def story_dir(cluster: Cluster) -> Path:
    """Where the story's topic lies."""
    return next(path / f"{STORY}-0" for path in cluster.brokers[0].dirs if (path / f"{STORY}-0").exists())


def live(cluster: Cluster, turn: int, segments: int) -> None:
    """Write until there are so many segments and the active one has several batches."""
    idempotent = producer(cluster.bootstrap, enable_idempotence=True)
    both = transactional(cluster.bootstrap, f"txn-{turn}")
    for number in range(turn * 1000, turn * 1000 + 200):
        send(idempotent, STORY, events("idem", 1, 5, first=number))
        for end in (both.commit_transaction, both.abort_transaction):
            both.begin_transaction()
            send(both, STORY, events("txn", 1, 3, first=number))
            end(60)
        logs = sorted(story_dir(cluster).glob("*.log"))
        if len(logs) >= segments and 1200 < logs[-1].stat().st_size < 2600:
            return
    raise RuntimeError("the story never ends")


def tell(cluster: Cluster, topics: int) -> None:
    """Three starts with their writes; the broker runs afterwards."""
    cluster.start()
    names = [STORY, *(f"f{number:03d}" for number in range(topics))]
    for first in range(0, len(names), 60):
        create(
            cluster.bootstrap,
            [Topic(name, small_segments(cluster.release)) for name in names[first : first + 60]],
        )
    for turn, segments in enumerate((2, 4, 6)):
        if turn:
            cluster.brokers[0].stop()
            time.sleep(1)
            cluster.start()
        live(cluster, turn, segments)


def clone(root: Path, source: Path) -> None:
    """Give every topic of the base the story's files, and its lines in the checkpoints."""
    dirs = [root / "b1" / "d0", root / "b1" / "d1"]
    files = [path for path in source.iterdir() if path.name != "partition.metadata"]
    wanted = {name: value for name in CHECKPOINTS if (value := line_of(source.parent / name)) is not None}
    for log_dir in dirs:
        for folder in [*log_dir.glob("f[0-9][0-9][0-9]-0"), *log_dir.glob(f"{STORY}-0")]:
            if folder == source:
                continue
            for path in folder.iterdir():
                if path.name != "partition.metadata":
                    path.unlink()
            for path in files:
                shutil.copy2(path, folder / path.name)
        for name, value in wanted.items():
            set_lines(log_dir / name, value)


CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")


def line_of(path: Path) -> int | None:
    """The story's offset in a checkpoint."""
    rows = [line.split() for line in path.read_text().splitlines()[2:]]
    return next((int(row[2]) for row in rows if row[0] == STORY), None)


def set_lines(path: Path, value: int) -> None:
    """Give every topic of this log dir that offset."""
    topics = sorted(folder.name[:-2] for folder in path.parent.glob("[ft]*-0"))
    mine = {*topics, STORY}
    rows = [line for line in lines_of(path) if line.split()[0] not in mine]
    put_lines(path, [*rows, *(f"{topic} 0 {value}" for topic in topics)])


def keep(cluster: Cluster, into: Path, story: Path | None) -> None:
    """Copy the stopped cluster, clone the story (its own, or that of another base) into its topics."""
    part = into.with_name(f"{into.name}.part")
    copy_tree(cluster.root, part)
    place = story_dir(cluster).relative_to(cluster.root)
    clone(part, story or part / place)
    broker = cluster.brokers[0]
    about: dict[str, Any] = {"ports": [broker.seat.port, broker.seat.controller_port], "story": str(place)}
    (part / "base.json").write_text(json.dumps(about))
    (part / "b1" / "server.log").unlink(missing_ok=True)
    shutil.rmtree(into, ignore_errors=True)
    part.rename(into)


def make(version: str, home: Path, topics: int, few: Path | None) -> None:
    """Make the clean and the killed base with so many topics below `home`."""
    home.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="base-", dir=home) as work,
        Cluster(version, Path(work), settings=QUIET) as cluster,
    ):
        broker = cluster.brokers[0]
        broker.seat.port, broker.seat.controller_port = quiet_port(), quiet_port()
        tell(cluster, topics)
        pending = open_transaction(cluster.bootstrap, STORY, "never-ended")
        broker.stop()
        keep(cluster, home / "clean", few and story_of(few / "clean"))
        cluster.start()
        live(cluster, 3, 11)
        pending = open_transaction(cluster.bootstrap, STORY, "cut-off")
        broker.kill()
        if cluster.zookeeper:
            cluster.zookeeper.until_forgotten()
        keep(cluster, home / "killed", few and story_of(few / "killed"))
        del pending


def story_of(root: Path) -> Path:
    """The story's directory in a base."""
    return root / str(json.loads((root / "base.json").read_text())["story"])


def base(version: str, mark: str, size: str) -> Base:
    """The base of that release, `clean` or `killed`, `few` or `many`; made now if it is not there yet."""
    home = cache_dir() / "lab" / version
    root = home / size / mark
    if not (root / "base.json").exists():
        if size == "many":
            base(version, mark, "few")
        make(version, home / size, MANY if size == "many" else FEW, home / "few" if size == "many" else None)
    first, second = json.loads((root / "base.json").read_text())["ports"]
    return Base(version, mark, root, (first, second))
