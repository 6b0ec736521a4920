"""The log dirs that disasters are done to: one broker at four moments of its life.

`old` after a clean stop; `live` copied while the broker wrote on, as a file copy of a running broker is;
`clean` after the next clean stop; `killed` after kill -9, with segments above the recovery point. Ten topics
`f000` ... lie over two log dirs, with the same bytes but for their topic ids, so that each can be hurt alone;
beside them `__consumer_offsets`, `__transaction_state`, and in KRaft the metadata log with its snapshots.

`python -m tests.lab.disasters.bases 4.3.1` makes them below `~/.cache/segmend/lab` and packs them here.
"""

import functools
import hashlib
import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.copies import copy_tree
from tests.golden.acts import commit_group, open_transaction
from tests.golden.pack import pack
from tests.golden.topics import Topic, create, small_segments
from tests.golden.unpack import unpack
from tests.lab.base import QUIET, STORY, clone, live, quiet_port, story_dir
from tests.lab.cluster import Cluster
from tests.lab.jars import cache_dir
from tests.lab.releases import release

HERE = Path(__file__).parent / "bases"
RELEASES = ("1.1.0", "2.5.1", "2.8.2", "3.3.2", "3.6.2", "3.7.2", "3.9.2", "4.0.1", "4.1.1", "4.2.0", "4.3.1")
STAGES = ("old", "live", "clean", "killed")
TOPICS = [f"f{number:03d}" for number in range(10)]
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "3000"}
STILL = {
    **QUIET,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "3600000",
    "offsets.retention.check.interval.ms": "3600000",
}
"""Of the brokers that write and that judge: coordinators wait as well."""


@dataclass(frozen=True)
class Node:
    """`root` holds a directory for each stage, in each `b1/d0`, `b1/d1` and perhaps `zookeeper`."""

    version: str
    root: Path
    ports: tuple[int, int]


def keep(cluster: Cluster, into: Path, stage: str) -> None:
    """Copy the cluster as it lies there, and give every topic the files of the story."""
    copy_tree(cluster.root, into / stage)
    clone(into / stage, into / stage / story_dir(cluster).relative_to(cluster.root))


def make(version: str, into: Path) -> None:
    """Write all four stages."""
    kind = release(version)
    more = SNAPSHOTS if kind.mode == "kraft" else {}
    with tempfile.TemporaryDirectory(prefix="base-", dir=into.parent) as work:
        cluster = Cluster(version, Path(work), settings={**STILL, **more})
        with cluster:
            broker = cluster.brokers[0]
            broker.seat.port, broker.seat.controller_port = quiet_port(), quiet_port()
            cluster.start()
            create(cluster.bootstrap, [Topic(name, small_segments(kind)) for name in (STORY, *TOPICS)])
            live(cluster, 0, 2)
            commit_group(cluster.bootstrap, "readers", [STORY])
            broker.stop()
            cluster.start()
            live(cluster, 1, 4)
            broker.stop()
            keep(cluster, into, "old")
            cluster.start()
            live(cluster, 2, 6)
            keep(cluster, into, "live")
            live(cluster, 3, 7)
            commit_group(cluster.bootstrap, "others", [STORY])
            pending = open_transaction(cluster.bootstrap, STORY, "never-ended")
            broker.stop()
            keep(cluster, into, "clean")
            cluster.start()
            live(cluster, 4, 12)
            cut_off = open_transaction(cluster.bootstrap, STORY, "cut-off")
            broker.kill()
            if cluster.zookeeper:
                cluster.zookeeper.until_forgotten()
            keep(cluster, into, "killed")
            del pending, cut_off
        (into / "base.json").write_text(json.dumps([broker.seat.port, broker.seat.controller_port]))
    for path in [*into.glob("*/b1/*.log*"), *into.glob("*/b1/*.properties")]:
        path.unlink()
    for path in into.glob("*/zookeeper/*"):
        if path.name != "data":
            path.unlink()


def archive(version: str) -> Path:
    """Where the packed base of a release lies."""
    return HERE / f"{version}.tar.xz"


@functools.cache
def node(version: str) -> Node:
    """The base of that release: unpacked from here into the cache, or made now and packed."""
    home = cache_dir() / "lab" / version
    home.mkdir(parents=True, exist_ok=True)
    if not archive(version).exists():
        with tempfile.TemporaryDirectory(prefix="node-", dir=home) as part:
            make(version, Path(part))
            pack(Path(part), ["base.json", *STAGES], archive(version))
    root = home / f"node-{hashlib.blake2b(archive(version).read_bytes(), digest_size=6).hexdigest()}"
    if not root.exists():
        part = unpack(archive(version), Path(tempfile.mkdtemp(prefix="part-", dir=home)))
        try:
            part.rename(root)
        except OSError:  # another process was quicker
            shutil.rmtree(part)
    first, second = json.loads((root / "base.json").read_text())
    return Node(version, root, (first, second))


if __name__ == "__main__":
    for each in sys.argv[1:]:
        started = time.monotonic()
        node(each)
        print(each, f"{time.monotonic() - started:.0f} s", archive(each).stat().st_size, flush=True)
