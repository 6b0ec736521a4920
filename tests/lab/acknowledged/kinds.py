"""Another base, `4.3.1-kinds`, of odder records: `python -m tests.lab.acknowledged.kinds 4.3.1 SEED FILE`.

The same topics. Brokers roll at other sizes, up to 4.0. `plain` was deleted and made anew; its records
come in all codecs, without key, value or both, empty or large, with headers that are empty, null or twice
there, and old times. `idem` has the time of the log. `txn` is written by one transactional id, which is
fenced in the middle of transactions; `compacted` in transactions, too, some of them aborted, with tombstones.

`python -m tests.lab.acknowledged 4.3.1 --base FILE` and `tests.rescue.all_clear FILE` take it.
"""

import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import codecs
from tests.lab.acknowledged.base import TOPICS, Row, Story, make, make_topics, patiently
from tests.lab.admin import admin
from tests.lab.cluster import Cluster

TIMES = {"idem": {"message.timestamp.type": "LogAppendTime"}}
SIZES = ("3500", "4096", "7000")
LARGEST = {"max.message.bytes": "3000"}
"""Of a batch, so that it fits into everybody's segments."""
KEYS = (None, b"", b"k", b"\xff\x00" * 40)
VALUES = (None, b"", b"v", bytes(1_200))
HEADERS: tuple[list[tuple[str, bytes | None]], ...] = (
    [], [("", None)], [("n", b"")], [("n", b"1"), ("n", None), ("n", b"1")],
)  # fmt: skip


class Kinds(Story):
    """See above."""

    @staticmethod
    def prepare(cluster: Cluster) -> None:
        if cluster.release.number < (4, 1):
            for broker, size in zip(cluster.brokers, SIZES, strict=True):
                broker.settings["log.segment.bytes"] = size

    @staticmethod
    def begin(cluster: Cluster) -> None:
        make_topics(cluster, TIMES)
        send(producer(cluster.bootstrap), "plain", events("before", 50))
        client = admin(cluster.bootstrap)
        for gone in client.delete_topics([*TOPICS], operation_timeout=30).values():
            gone.result(60)
        time.sleep(5)
        settings = {name: {**LARGEST, **TIMES.get(name, {})} for name in TOPICS}
        make_topics(cluster, settings, own_sizes=False)

    def __init__(self, cluster: Cluster, seed: int) -> None:
        super().__init__(cluster, seed)
        boot = cluster.bootstrap
        self.every = [producer(boot, compression_type=each, linger_ms=5) for each in codecs(cluster.release)]
        self.keyed_ids = 0

    def write(self, client: Producer, topic: str, into: list[Row]) -> None:
        if topic != "plain" or self.draw.random() < 0.3:
            super().write(client, topic, into)
            return
        client = self.plain = self.draw.choice(self.every)
        for _ in range(self.draw.randrange(1, 5)):
            headers, partition = self.draw.choice(HEADERS), self.draw.randrange(TOPICS[topic])
            key, value = self.draw.choice(KEYS), self.draw.choice(VALUES)
            more: dict[str, Any] = {"timestamp": self.draw.choice((1, 86_400_000, 1_761_955_200_000))}
            client.produce(
                topic,
                value,
                key,
                partition,
                headers=headers,
                on_delivery=self._callback(into, headers),
                **more,
            )
        client.poll(0)

    def burst(self) -> None:
        super().burst()
        for client in self.every:
            if client.flush(90):
                raise RuntimeError("plain: not delivered in time")

    def transactions(self, turn: int) -> None:
        """Of one id, which somebody else takes in the middle; and of the compacted topic."""
        del turn
        for topic, fenced in (("txn", True), ("compacted", False), ("txn", False), ("compacted", True)):
            client = self._begun(f"one-{topic}")
            for end in (client.commit_transaction, client.abort_transaction, None):
                mine: list[Row] = []
                client.begin_transaction()
                for _ in range(3):
                    self.write(client, topic, mine)
                    client.flush(60)
                if end is None and fenced:
                    self._begun(f"one-{topic}")  # which aborts that
                    break
                if end is None:
                    end = client.commit_transaction
                patiently(lambda end=end: end(60))  # type: ignore[misc]
                if end != client.abort_transaction:
                    self.told += mine

    def _begun(self, name: str) -> Producer:
        client = producer(
            self.cluster.bootstrap, linger_ms=5, transactional_id=name, transaction_timeout_ms=60_000
        )
        patiently(lambda: client.init_transactions(30))
        return client


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Kinds)
