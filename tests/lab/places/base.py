"""The base of these trials: one broker with eight log dirs, a partition with an open transaction in each.

`python -m tests.lab.places.base 4.3.1` makes it (30 s) and packs it beside the recordings; trials copy it.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.golden.acts import open_transaction, transactional
from tests.golden.pack import pack
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.golden.unpack import unpack
from tests.lab.base import QUIET, Base, quiet_port
from tests.lab.cluster import Cluster
from tests.lab.trial import copy_base

HERE = Path(__file__).parent / "recorded"
DIRS = 8
TOPICS = [f"p{number}" for number in range(DIRS)]


def archive(version: str, mark: str = "clean") -> Path:
    """Where the packed base lies."""
    return HERE / f"{version}-{mark}.tar.xz"


def log_dirs(root: Path) -> list[Path]:
    """The eight log dirs."""
    return [root / "b1" / f"d{number}" for number in range(DIRS)]


def partition_in(log_dir: Path) -> Path:
    """The partition of this log dir."""
    return next(log_dir.glob("p[0-7]-0"))


def story(bootstrap: str) -> list[object]:
    """The same in every topic: three segments and more, transactions that ended, one left open."""
    idempotent, both = producer(bootstrap, enable_idempotence=True), transactional(bootstrap, "ended")
    for turn in range(4):
        for topic in TOPICS:
            send(idempotent, topic, events("idem", 3, 6, first=turn * 1000))
        for end in (both.commit_transaction, both.abort_transaction):
            both.begin_transaction()
            for topic in TOPICS:
                send(both, topic, events("txn", 2, 4, first=turn * 1000))
            end(60)
    return [open_transaction(bootstrap, topic, f"never-{topic}") for topic in TOPICS]


def make(version: str, mark: str) -> None:
    """Write it with a real broker and pack it."""
    with (
        tempfile.TemporaryDirectory(prefix="places-") as work,
        Cluster(version, Path(work), log_dirs=DIRS, settings=QUIET) as cluster,
    ):
        broker = cluster.brokers[0]
        broker.seat.port, broker.seat.controller_port = quiet_port(), quiet_port()
        cluster.start()
        for topic in TOPICS:
            create(cluster.bootstrap, [Topic(topic, small_segments(cluster.release))])
        pending = story(cluster.bootstrap)
        if mark == "clean":
            broker.stop()
        else:
            broker.kill()
        if cluster.zookeeper:
            cluster.zookeeper.until_forgotten()
            cluster.zookeeper.stop()
        del pending
        about = {"ports": [broker.seat.port, broker.seat.controller_port]}
        (cluster.root / "base.json").write_text(json.dumps(about))
        members = [f"b1/{path.name}" for path in broker.dirs] + ["base.json", "zookeeper/data"]
        pack(
            cluster.root, [each for each in members if (cluster.root / each).exists()], archive(version, mark)
        )


def unpacked(version: str, mark: str, home: Path) -> Base:
    """The base unpacked once below `home`."""
    root = home / f"{version}-{mark}"
    if not (root / "base.json").exists():
        shutil.rmtree(root, ignore_errors=True)
        unpack(archive(version, mark), root)
    first, second = json.loads((root / "base.json").read_text())["ports"]
    return Base(version, mark, root, (first, second))


def fresh(base: Base, root: Path) -> list[Path]:
    """A copy at `root`; its log dirs."""
    copy_base(base, root)
    return log_dirs(root)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        for stop in ("clean", "killed"):
            make(each, stop)
            print(each, stop, archive(each, stop).stat().st_size, flush=True)
