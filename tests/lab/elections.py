"""Record who leads what after an outage of a whole cluster: `python -m tests.lab.elections 4.3.1 killed`.

Three nodes, each broker and voter, write, and end together: by SIGTERM (`clean`), by kill -9 (`killed`), or
one after another (`behind`: node 3 long before the others); `clean-without-elr`: without KIP-966.
Each trial starts some of them over copies,
one of them perhaps hurt, and asks who leads. It goes to `tests/lab/elections/<release>-<mark>.json`, the log
dirs that were started beside it.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]

from segmend.broker.election import ELR_FEATURE
from tests.copies import copy_tree
from tests.golden.pack import pack
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.golden.unpack import unpack
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster
from tests.lab.errors import LabError
from tests.lab.process import run_tool
from tests.lab.reader import consumer
from tests.waiting import steady

HERE = Path(__file__).with_suffix("")
SETTINGS = {**QUIET, "default.replication.factor": "3", "offsets.topic.replication.factor": "3"}
TOPICS = [
    Topic("full", {}, partitions=3),
    Topic("safe", {"min.insync.replicas": "2"}, partitions=3),
    Topic("any", {"unclean.leader.election.enable": "true"}, partitions=3),
]
WITH_ELR, WITHOUT_ELR = "-with-elr", "-without-elr"
Hurt = Callable[[Path], None]


def wiped(topic: str, node: int) -> Hurt:
    """The replicas of that topic are gone on that node."""

    def hurt(root: Path) -> None:
        for folder in (root / f"b{node}").glob(f"d*/{topic}-*"):
            shutil.rmtree(folder)

    return hurt


def cut(topic: str, node: int) -> Hurt:
    """Half of each log of that topic is gone on that node, which looks killed."""

    def hurt(root: Path) -> None:
        for marker in (root / f"b{node}").glob("d*/.kafka_cleanshutdown"):
            marker.unlink()
        for log in (root / f"b{node}").glob(f"d*/{topic}-*/*.log"):
            os.truncate(log, log.stat().st_size // 2)

    return hurt


def no_metadata(node: int) -> Hurt:
    """Its metadata log is gone."""
    return lambda root: shutil.rmtree(next((root / f"b{node}").glob("d*/__cluster_metadata-0")))


TRIALS: dict[str, tuple[tuple[int, ...], Hurt | None]] = {
    "all": ((1, 2, 3), None),
    "one-two": ((1, 2), None),
    "two-three": ((2, 3), None),
    "three": ((3,), None),
    "all-wiped-full-1": ((1, 2, 3), wiped("full", 1)),
    "all-cut-safe-2": ((1, 2, 3), cut("safe", 2)),
    "one-two-cut-full-2": ((1, 2), cut("full", 2)),
    "all-no-metadata-1": ((1, 2, 3), no_metadata(1)),
}
"""The nodes that are started, and what happened to the disks before."""


def write(cluster: Cluster, turn: int) -> None:
    """Some records in every partition."""
    client = producer(cluster.bootstrap)
    for topic in TOPICS:
        for partition in range(topic.partitions):
            send(client, topic.name, events(f"{topic.name}-{turn}", 6, 5), partition)


def ends(cluster: Cluster, told: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """With the log end offset of each partition that is led."""
    reader = consumer(cluster.bootstrap, "read_uncommitted")
    for name, one in told.items():
        topic, _, number = name.rpartition("-")
        if one["leader"] >= 0:
            one["end"] = reader.get_watermark_offsets(TopicPartition(topic, int(number)), timeout=20)[1]
    reader.close()
    return told


def isr(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Leader and in-sync replicas by partition, as the cluster says."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    told = admin.list_topics(timeout=20).topics
    return {
        f"{topic.name}-{number}": {"leader": one.leader, "isr": sorted(one.isrs)}
        for topic in TOPICS
        if topic.name in told
        for number, one in sorted(told[topic.name].partitions.items())
    }


def switch_elr(cluster: Cluster, mark: str) -> None:
    """Eligible leader replicas on or off, where the mark of a base says so."""
    if mark.endswith((WITH_ELR, WITHOUT_ELR)):
        how, level = ("upgrade", 1) if mark.endswith(WITH_ELR) else ("downgrade", 0)
        arguments = ["--bootstrap-server", cluster.bootstrap, how, "--feature", f"{ELR_FEATURE}={level}"]
        run_tool(cluster.release, cluster.root, "org.apache.kafka.tools.FeatureCommand", *arguments)


def make(version: str, mark: str, into: Path) -> None:
    """The cluster's story, and its log dirs afterwards."""
    with tempfile.TemporaryDirectory() as work, Cluster(version, Path(work), 3, settings=SETTINGS) as cluster:
        cluster.start()
        create(cluster.bootstrap, TOPICS, replicas=3)
        write(cluster, 1)
        switch_elr(cluster, mark)
        if mark == "behind":
            cluster.brokers[2].kill()
            time.sleep(12)
            write(cluster, 2)
            time.sleep(2)
        (Path(work) / "isr.json").write_text(json.dumps(ends(cluster, isr(cluster))))
        if mark.startswith("clean"):
            cluster.stop()
        elif mark == "behind":
            cluster.brokers[0].kill()
            time.sleep(1)
            cluster.kill()
        else:
            cluster.kill()
        for path in Path(work).glob("b*/server.*"):
            path.unlink()
        copy_tree(Path(work), into)


@contextmanager
def over(version: str, root: Path, up: tuple[int, ...]) -> Iterator[tuple[Cluster, dict[int, str]]]:
    """Those nodes over copies, on new ports; what became of each."""
    with Cluster(version, root, 3, settings=SETTINGS) as cluster:
        wanted = [broker for broker in cluster.brokers if broker.seat.node_id in up]
        for broker in wanted:
            broker.write_config()
            broker.launch()
        became = {}
        for broker in wanted:
            try:
                broker.wait_ready(120 if len(up) > 1 else 40)
                became[broker.seat.node_id] = "starts"
            except LabError as error:
                became[broker.seat.node_id] = "waits" if "was not up" in str(error) else "refuses"
        yield cluster, became


def trial(version: str, base: Path, root: Path, name: str) -> dict[str, Any]:
    """One start of some nodes; asked until the answer has not changed for a while."""
    up, hurt = TRIALS[name]
    copy_tree(base, root)
    if hurt is not None:
        hurt(root)
    with over(version, root, up) as (cluster, became):
        found: dict[str, Any] = {"up": list(up), "became": became}
        if "starts" not in became.values():
            return found
        cluster.brokers = [broker for broker in cluster.brokers if broker.seat.node_id in up]
        return {**found, "partitions": ends(cluster, steady(lambda: isr(cluster), 15, 60, every=2))}


def main(version: str, mark: str, *names: str) -> None:
    """Record these trials, or all."""
    HERE.mkdir(exist_ok=True)
    path, archive = HERE / f"{version}-{mark}.json", HERE / f"{version}-{mark}.tar.xz"
    recorded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    with tempfile.TemporaryDirectory() as work:
        base = Path(work) / "base"
        if archive.exists():
            unpack(archive, base)
        else:
            make(version, mark, base)
            pack(base, [each.name for each in base.iterdir()], archive)
        for name in names or TRIALS:
            recorded[name] = trial(version, base, Path(work) / "trial", name)
            print(name, recorded[name], flush=True)
            path.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
