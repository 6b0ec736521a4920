"""How long a broker that was down is out of sync: `python -m tests.lab.back_in_sync [RELEASE] [MIB]`.

Three brokers; one is down while a partition grows to 1 GiB. It comes back by replication alone, and from the
same disk once more, its replica grafted from the leader's files before. Then it is killed and started again,
twice: with the recovery point that the graft has raised, and with 0, as if it had not. What it recovers tells
which it was, and the time until the ISR is whole what that is worth.

4.3.1 on two cores with nothing beside it: 5.4 s by replication; after the graft, which took 2.8 s, 1.6 s;
killed, 1.6 s, with 1 of 5 segments recovered; with the recovery point at 0, 1.9 s and all 5. With others at
work (load 20 to 30): 17.9 s; 29.0 s, 4.6 s; 3.9 s; 5.1 s.
"""

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import NewTopic

from segmend.formats.offset_checkpoint import RECOVERY_POINT
from tests.cli.run import run
from tests.lab.admin import admin
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.surgery.checkpoints import lines, write
from tests.waiting import until

TOPIC = "big"
PIECE = 64 << 10
PATIENCE = 900


def fill(bootstrap: str, count: int) -> None:
    """So many bytes, of which no two pieces are the same; acknowledged by all that are in sync."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "batch.size": 1 << 19})
    for _ in range(0, count, PIECE):
        producer.produce(TOPIC, os.urandom(PIECE), partition=0)
        while len(producer) > 500:
            producer.poll(0.05)
    assert producer.flush(600) == 0


def wait_for_isr(cluster: Cluster, count: int) -> None:
    """Until so many brokers are in the partition's ISR."""
    client, wanted = admin(cluster.brokers[0].bootstrap), TopicCollection([TOPIC])
    until(
        f"{count} in-sync replicas",
        lambda: client.describe_topics(wanted)[TOPIC].result(60).partitions[0].isr,
        PATIENCE, lambda isr: len(isr) == count, every=0.02,
    )  # fmt: skip


def back(cluster: Cluster, broker: Broker) -> float:
    """Seconds from its launch until it is in sync."""
    started = time.monotonic()
    broker.start()
    wait_for_isr(cluster, 3)
    return time.monotonic() - started


def kill(cluster: Cluster, broker: Broker) -> None:
    """With -9; until it is missed, for before that no start of it is let in, and the ISR still names it."""
    broker.kill()
    wait_for_isr(cluster, 2)


def forget(broker: Broker) -> None:
    """Its recovery point of the partition is 0, as grafts left it once."""
    path = broker.dirs[0] / RECOVERY_POINT
    assert lines(path)[TOPIC, 0] > 0
    write(path, {**lines(path), (TOPIC, 0): 0})


def graft(leader: Broker, broker: Broker, scratch: Path) -> float:
    """Seconds of `plan graft` and `apply`."""
    started = time.monotonic()
    words = (
        "--partition",
        f"{TOPIC}-0",
        "--from",
        leader.dirs[0] / f"{TOPIC}-0",
        "-o",
        scratch / "plan.json",
    )
    ran = run("plan", "graft", broker.dirs[0], *words)
    assert ran.code == 0, ran
    ran = run("apply", scratch / "plan.json", "--yes", "--state-dir", scratch / "state")
    assert ran.code == 1, ran
    return time.monotonic() - started


def recovered(broker: Broker) -> int:
    """How many of its segments the start that was the last one has recovered."""
    return sum(f"{TOPIC}-0" in line and "Recovering unflushed segment" in line for line in broker.lines())


@dataclass(frozen=True)
class Recovery:
    """A start after a kill: seconds from the launch until the ISR is whole, and the segments recovered."""

    seconds: float
    segments: int

    @classmethod
    def of(cls, cluster: Cluster, broker: Broker) -> Self:
        seconds = back(cluster, broker)
        return cls(seconds, recovered(broker))


@dataclass(frozen=True)
class Figures:
    """Seconds; `segments` are those of the partition."""

    replicated: float
    """From its launch until it was in sync, by replication alone; `grafted` likewise after a graft."""
    graft: float
    grafted: float
    segments: int
    raised: Recovery
    """With the recovery point that the graft left; `scanned`: with 0."""
    scanned: Recovery

    def __str__(self) -> str:
        return (
            f"in sync {self.replicated:.1f} s after its launch by replication alone; grafted in "
            f"{self.graft:.1f} s, {self.grafted:.1f} s after its launch; killed, and started again: "
            f"{self.raised.seconds:.1f} s, {self.raised.segments} of {self.segments} segments recovered; "
            f"were its recovery point not raised: {self.scanned.seconds:.1f} s, "
            f"{self.scanned.segments} of {self.segments}"
        )


def play(version: str, size: int, root: Path) -> Figures:
    """All of it."""
    settings = {"log.segment.bytes": str(size // 4)}
    with Cluster(version, root / "cluster", brokers=3, log_dirs=1, settings=settings) as cluster:
        cluster.start()
        leader, other, behind = cluster.brokers
        client = admin(cluster.bootstrap)
        client.create_topics([NewTopic(TOPIC, 1, replica_assignment=[[1, 2, 3]])])[TOPIC].result(60)
        fill(cluster.bootstrap, size // 64)
        wait_for_isr(cluster, 3)
        behind.stop(180)
        fill(cluster.bootstrap, size)
        shutil.copytree(behind.root, root / "kept")
        replicated = back(cluster, behind)
        cluster.stop()
        shutil.rmtree(behind.root)
        shutil.move(root / "kept", behind.root)
        seconds = graft(leader, behind, root)
        for broker in (leader, other):
            broker.launch()
        for broker in (leader, other):
            broker.wait_ready()
        grafted = back(cluster, behind)
        logs = len([*(behind.dirs[0] / f"{TOPIC}-0").glob("*.log")])
        kill(cluster, behind)
        raised = Recovery.of(cluster, behind)
        kill(cluster, behind)
        forget(behind)
        return Figures(replicated, seconds, grafted, logs, raised, Recovery.of(cluster, behind))


if __name__ == "__main__":
    given = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        print(play(given[0] if given else "4.3.1", int(given[1] if given[1:] else 1024) << 20, Path(scratch)))
