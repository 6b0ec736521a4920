"""Writes a base: `python -m tests.lab.acknowledged.base 4.3.1 [SEED FILE]` packs three killed brokers.

Producers of four kinds (acks=all, idempotent, transactional, to a compacted topic) write while brokers are
killed and come back; at last all three are killed in the middle of a burst. `acknowledged.json` has each
record that a callback told of (of an aborted transaction none), with its offset.
"""

import json
import random
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaException, Producer

from tests.copies import copy_tree
from tests.golden.pack import pack
from tests.golden.produce import producer
from tests.golden.topics import Topic, create, small_segments
from tests.lab.admin import until_all
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster

HERE = Path(__file__).parent
TOPICS = {"plain": 2, "idem": 1, "txn": 1, "compacted": 1}
"""Partitions of each."""
SETTINGS = {
    **QUIET,
    "broker.session.timeout.ms": "3000",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "replica.lag.time.max.ms": "4000",
    "log.cleaner.backoff.ms": "500",
}
COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "1",
    "min.insync.replicas": "2",
}
Row = dict[str, Any]


def archive(version: str) -> Path:
    """Where the base of a release is packed."""
    return HERE / f"{version}.tar.xz"


TIME = 1_761_955_200_000
"""Milliseconds; what is written goes up from here."""


class Story:
    """The producers, and what they were told."""

    headers = True
    """Whether records have some: messages of magic 0 and 1 have none."""
    timed = True
    """Whether all have a time: messages of magic 0 have none."""

    @staticmethod
    def prepare(cluster: Cluster) -> None:
        """Before the first start."""

    @staticmethod
    def begin(cluster: Cluster) -> None:
        """Make the topics."""
        make_topics(cluster)

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.draw = cluster, random.Random(seed)
        self.told: list[Row] = []
        self.number = 0
        codec = "lz4"
        boot = cluster.bootstrap
        self.plain = producer(boot, compression_type="none", linger_ms=5)
        self.idem = producer(boot, compression_type=codec, enable_idempotence=True, linger_ms=5)
        self.keyed = producer(boot, compression_type="gzip", linger_ms=5)

    def write(self, client: Producer, topic: str, into: list[Row]) -> None:
        """A handful of records, told of by callbacks."""
        for _ in range(self.draw.randrange(1, 7)):
            self.number += 1
            partition = self.draw.randrange(TOPICS[topic])
            compacted = topic == "compacted"
            key = b"k%d" % self.draw.randrange(25) if compacted or self.draw.random() < 0.7 else None
            gone = compacted and self.draw.random() < 0.15
            value = None if gone else b"%d %s" % (self.number, self.draw.randbytes(self.draw.randrange(120)))
            count = self.draw.randrange(3) if self.headers else 0
            headers: list[tuple[str, bytes | None]] = [("n", b"%d" % self.number)] * count
            client.produce(
                topic, value, key, partition, timestamp=TIME + self.number, headers=headers,
                on_delivery=self._callback(into, headers),
            )  # fmt: skip
        client.poll(0)

    def _callback(self, into: list[Row], headers: list[tuple[str, bytes | None]]) -> Callable[..., None]:
        def delivered(error: object, message: Any) -> None:
            if error is None:
                into.append({
                    "topic": message.topic(), "partition": message.partition(), "offset": message.offset(),
                    "timestamp": message.timestamp()[1] if self.timed else None, "key": text(message.key()),
                    "value": text(message.value()),
                    "headers": [[key, text(value)] for key, value in headers],
                })  # fmt: skip

        return delivered

    def burst(self) -> None:
        """Some of each, all told of."""
        for _ in range(self.draw.randrange(8, 14)):
            for client, topic in ((self.plain, "plain"), (self.idem, "idem"), (self.keyed, "compacted")):
                self.write(client, topic, self.told)
                if client.flush(90):
                    raise RuntimeError(f"{topic}: not delivered in time")

    def transactions(self, turn: int) -> None:
        """Two that are committed and one that is aborted, of a producer of its own."""
        client = producer(
            self.cluster.bootstrap, linger_ms=5, transactional_id=f"txn-{turn}", transaction_timeout_ms=60_000
        )
        patiently(lambda: client.init_transactions(30))
        for end in (client.commit_transaction, client.abort_transaction, client.commit_transaction):
            mine: list[Row] = []
            client.begin_transaction()
            for _ in range(4):
                self.write(client, "txn", mine)
                client.flush(60)
            patiently(lambda end=end: end(60))  # type: ignore[misc]
            if end != client.abort_transaction:
                self.told += mine

    def lives(self) -> None:
        """One broker after the other is killed, and comes back."""
        all_in_sync(self.cluster)
        self.burst()
        for turn, broker in enumerate(self.cluster.brokers):
            self.transactions(turn)
            broker.kill()
            self.burst()
            broker.launch()
            broker.wait_ready()
            all_in_sync(self.cluster)
            self.burst()
        self.transactions(9)

    def last_words(self) -> None:
        """Much at once, and nobody waits: the brokers are killed meanwhile."""
        for _ in range(40):
            for client, topic in ((self.plain, "plain"), (self.idem, "idem"), (self.keyed, "compacted")):
                self.write(client, topic, self.told)


def text(data: bytes | None) -> str | None:
    """As a rescue writes bytes."""
    return None if data is None else b64encode(data).decode()


def patiently(call: Callable[[], Any]) -> None:
    for last in (*[False] * 20, True):
        try:
            call()
            return
        except KafkaException as error:
            if last or not error.args[0].retriable():
                raise
            time.sleep(1)


def all_in_sync(cluster: Cluster) -> None:
    """Wait until each partition has three in-sync replicas."""
    until_all(cluster.bootstrap, lambda now: len(now.isrs) == 3, TOPICS)


def make_topics(
    cluster: Cluster,
    more: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    *,
    own_sizes: bool = True,
) -> None:
    """Of three replicas each; `more` are settings by topic. Without `own_sizes` brokers say when to roll."""
    small = small_segments(cluster.release)
    if not own_sizes:
        small.pop("segment.bytes", None)
    rows = [
        Topic(name, {**small, **(COMPACT if name == "compacted" else {}), **more.get(name, {})}, count)
        for name, count in TOPICS.items()
    ]
    create(cluster.bootstrap, rows, replicas=3)


def play(cluster: Cluster, seed: int, kind: type[Story] = Story) -> list[Row]:
    """The whole story; at its end all brokers are dead. What was acknowledged."""
    kind.prepare(cluster)
    cluster.start()
    kind.begin(cluster)
    story = kind(cluster, seed)
    story.lives()
    time.sleep(4)  # high watermarks are written each second; the cleaner looks twice a second
    story.last_words()
    for broker in cluster.brokers:
        broker.kill()
        story.plain.poll(0)
        story.idem.poll(0)
        story.keyed.poll(0)
    return story.told


def make(version: str, seed: int = 1, target: Path | None = None, kind: type[Story] = Story) -> None:
    """Play it and pack what is left."""
    with tempfile.TemporaryDirectory(prefix="acknowledged-") as work:
        live, kept = Path(work, "live"), Path(work, "kept")
        with Cluster(version, live, 3, log_dirs=1, settings=SETTINGS) as cluster:
            told = play(cluster, seed, kind)
        for number in (1, 2, 3):
            copy_tree(live / f"b{number}" / "d0", kept / f"b{number}" / "d0")
        told.sort(key=lambda row: (row["topic"], row["partition"], row["offset"]))
        (kept / "acknowledged.json").write_text("".join(json.dumps(row) + "\n" for row in told))
        pack(kept, ["b1/d0", "b2/d0", "b3/d0", "acknowledged.json"], target or archive(version))


if __name__ == "__main__":
    make(sys.argv[1], *map(int, sys.argv[2:3]), *map(Path, sys.argv[3:]))
