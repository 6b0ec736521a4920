"""Make the bundled fleet anew: `python -m examples.fleet.make_fleet` from the repository's root.

Three Kafka 4.3.1 brokers, KRaft, two log dirs each, six days of a small shop's events. Two brokers
are stopped cleanly, the third is killed. The healthy state is kept as golden `4.3.1-fleet`; then
`hurt.py` does its named damages, and the result is packed as `fleet.tar.xz`.
"""

import math
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer
from examples.fleet import hurt
from tests.golden import acts
from tests.golden.judge import ask, copy_tree, restart
from tests.golden.pack import pack
from tests.golden.produce import producer, send
from tests.golden.records import Batch, Rec
from tests.golden.store import Golden, keep, members
from tests.golden.topics import Topic, create
from tests.lab.cluster import Cluster

HERE = Path(__file__).parent
VERSION = "4.3.1"
HOUR = 3_600_000
FIRST = 1_792_454_400_000
"""2026-10-20 00:00 UTC."""
DAYS = 6
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "log.index.size.max.bytes": "65536",
    "log.cleaner.backoff.ms": "500",
    "log.segment.delete.delay.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "2000",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "metadata.log.max.record.bytes.between.snapshots": "20000",
}


@dataclass(frozen=True)
class Stream:
    """A topic of the shop: how many partitions and copies, how much a day, in which codec."""

    name: str
    partitions: int
    replicas: int
    batches_a_day: int
    codec: str
    batch: int = 20
    settings: dict[str, str] = field(default_factory=dict)


COMPACT = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "delete.retention.ms": "604800000",
}
STREAMS = [
    Stream("orders", 6, 3, 42, "lz4"),
    Stream("payments", 3, 3, 20, "zstd"),
    Stream("clicks", 6, 2, 70, "snappy", 25),
    Stream("shipments", 3, 3, 15, "gzip"),
    Stream("inventory.eu-west", 2, 2, 10, "none", 8),
    Stream("customers", 3, 3, 40, "none", 8, COMPACT),
    Stream("app-logs", 2, 2, 40, "lz4", 25),
    Stream("dead-letters", 1, 3, 1, "none", 1),
]


def busy(hour: float) -> float:
    """How busy the shop is at an hour of the day, 0.15 at night to 1 in the evening."""
    return 0.15 + 0.85 * math.pow(max(0.0, math.sin((hour - 6) / 18 * math.pi)), 1.5)


def moments(dice: random.Random, day: int, count: int) -> list[int]:
    """`count` moments of a day, dense where the shop is busy."""
    found: list[int] = []
    while len(found) < count:
        hour = dice.random() * 24
        if dice.random() < busy(hour):
            found.append(FIRST + day * 24 * HOUR + int(hour * HOUR))
    return sorted(found)


def payload(dice: random.Random, stream: str, number: int) -> bytes:
    """One event's body."""
    item = dice.randrange(900)
    token = f"{dice.getrandbits(48):012x}"
    bodies = {
        "clicks": f'{{"session":"{token}","page":"/item/{item}","ms":{dice.randrange(20, 900)}}}',
        "app-logs": f'level=INFO svc=checkout trace={token} msg="request served" ms={dice.randrange(3, 400)}',
        "customers": f'{{"name":"customer {number}","tier":"{dice.choice("ABC")}","token":"{token}"}}',
    }
    amount = dice.randrange(100, 99999)
    standard = f'{{"id":"{token}","amount":{amount},"currency":"EUR","item":{item}}}'
    return bodies.get(stream, standard).encode()


def batches(stream: Stream, partition: int, day: int) -> list[Batch]:
    """A day of a partition; the first partitions of clicks get more than their share."""
    dice = random.Random(f"{stream.name} {partition} {day}")
    share = 2.0 if stream.name == "clicks" and partition == 0 else 1.0
    count = max(1, int(stream.batches_a_day * share * (1.3 if day == 4 else 1) / stream.partitions))
    times = moments(dice, day, count * stream.batch)
    made: list[Batch] = []
    for start in range(0, len(times), stream.batch):
        rows: Batch = []
        for moment in times[start : start + stream.batch]:
            who = dice.randrange(60 if stream.name == "customers" else 4000)
            gone = stream.name == "customers" and dice.random() < 0.04
            headers: list[tuple[str, bytes | None]] = (
                [("trace", b"%012x" % dice.getrandbits(48))] if stream.name == "orders" else []
            )
            rows.append(
                Rec(b"c%05d" % who, None if gone else payload(dice, stream.name, who), moment, headers)
            )
        made.append(rows)
    return made


def pay(client: Producer, day: int) -> None:
    """Payments are transactions; one in five is aborted."""
    stream = next(row for row in STREAMS if row.name == "payments")
    for number, partition in enumerate(range(stream.partitions)):
        for turn, batch in enumerate(batches(stream, partition, day)):
            client.begin_transaction()
            send(client, "payments", [batch], partition)
            if (turn + number + day) % 5 == 4:
                client.abort_transaction(60)
            else:
                client.commit_transaction(60)


def live(cluster: Cluster) -> list[Producer]:
    """Six days of business, with a rolling restart in the middle; returns producers to keep open."""
    bootstrap = cluster.bootstrap
    forever = {"retention.ms": "-1", "index.interval.bytes": "1024", "internal.segment.bytes": "8192"}
    wide = {"message.timestamp.before.max.ms": "9223372036854775807"}
    for stream in STREAMS:
        create(
            bootstrap,
            [Topic(stream.name, {**forever, **wide, **stream.settings}, stream.partitions)],
            stream.replicas,
        )
    clients = {row.codec: producer(bootstrap, compression_type=row.codec) for row in STREAMS}
    orders = producer(bootstrap, compression_type="lz4", enable_idempotence=True)
    till = acts.transactional(bootstrap, "payments-till", "zstd")
    for day in range(DAYS):
        for stream in STREAMS:
            if stream.name == "payments":
                continue
            client = orders if stream.name == "orders" else clients[stream.codec]
            for partition in range(stream.partitions):
                send(client, stream.name, batches(stream, partition, day), partition)
        pay(till, day)
        if day in (1, 3):
            broker = cluster.brokers[day // 2]
            broker.stop()
            cluster.start()
            time.sleep(3)
    acts.commit_group(bootstrap, "billing", ["orders", "payments"])
    acts.commit_group(bootstrap, "warehouse", ["shipments", "inventory.eu-west"])
    acts.delete_head(bootstrap, "app-logs", 150)
    till.begin_transaction()
    send(till, "payments", batches(next(row for row in STREAMS if row.name == "payments"), 0, DAYS)[:1], 0)
    return [till]


def main() -> None:
    """Make, keep, hurt, pack."""
    work = Path(tempfile.mkdtemp(prefix="fleet-"))
    scratch = work / "scratch"
    scratch.mkdir()
    with Cluster(VERSION, work / "live", 3, settings=SETTINGS) as cluster:
        cluster.start()
        pending = live(cluster)
        time.sleep(8)
        seen = ask(cluster.bootstrap, scratch, "--no-records")
        killed = cluster.brokers[2]
        killed.kill()
        cluster.stop()
        pending.clear()
        note = "three brokers, b3 killed, the others stopped cleanly; examples/fleet is this, hurt"
        judgement = restart(cluster, scratch / "judge")
        keep(cluster, Golden("fleet", "killed", seen, judgement, note), scratch)
        copy_tree(cluster.root, work / "hurt")
        hurt.hurt(work / "hurt")
        pack(work / "hurt", members(cluster), HERE / "fleet.tar.xz")
    shutil.rmtree(work)
    print(f"packed {HERE / 'fleet.tar.xz'}", file=sys.stderr)


if __name__ == "__main__":
    main()
