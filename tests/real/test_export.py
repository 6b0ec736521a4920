"""A broker that goes on writing, an export that is killed again and again: each acknowledged record once."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from tests.cli.run import run
from tests.lab.admin import admin
from tests.real.conftest import Start
from tests.rescue.test_export import table
from tests.waiting import until

pytestmark = pytest.mark.broker
TOPIC = "orders"


def made(bootstrap: str) -> None:
    """The topic, with small segments."""
    client = admin(bootstrap)
    topic = NewTopic(TOPIC, num_partitions=2, replication_factor=1, config={"segment.bytes": "1048576"})
    client.create_topics([topic])[TOPIC].result(60)


def produced(bootstrap: str, over: threading.Event, acknowledged: list[tuple[int, int, bytes]]) -> None:
    """Records until it is over; those that were acknowledged: partition, offset, value."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})

    def delivered(error: object, message: object) -> None:
        assert error is None
        acknowledged.append((message.partition(), message.offset(), message.value()))  # type: ignore[attr-defined]

    number = 0
    while not over.wait(0.01):
        for _ in range(100):
            value = b"%d" % number
            producer.produce(TOPIC, value.ljust(300), partition=number % 2, on_delivery=delivered)
            number += 1
        producer.poll(0)
    assert producer.flush(60) == 0


@pytest.mark.timeout(300)
def test_a_live_log_is_exported_once(start: Start, tmp_path: Path) -> None:
    cluster = start("4.3.1")
    made(cluster.bootstrap)
    dirs, out = cluster.brokers[0].dirs, tmp_path / "out"
    argv = ["export", *map(str, dirs), "--out", str(out), "--topic", TOPIC]
    over, acknowledged = threading.Event(), list[tuple[int, int, bytes]]()
    writer = threading.Thread(target=produced, args=(cluster.bootstrap, over, acknowledged))
    writer.start()
    draw = random.Random(15)
    try:
        for _ in range(8):
            child = subprocess.Popen([sys.executable, "-m", "segmend", *argv], stdout=subprocess.DEVNULL)
            try:
                assert child.wait(draw.uniform(0.3, 1.5)) in {0, 4}
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            assert run(*argv).code in {0, 4}
    finally:
        over.set()
        writer.join()
    assert run(*argv).code in {0, 4}
    rows = sorted((row["partition"], row["offset"], row["value"]) for row in table(out))
    assert len(rows) > 1000
    assert rows == sorted(acknowledged)
    client = admin(cluster.bootstrap)
    client.delete_topics([TOPIC])[TOPIC].result(60)
    made(cluster.bootstrap)
    names = [f"{TOPIC}-{number}/partition.metadata" for number in (0, 1)]
    until("ids", lambda: all(any((each / name).exists() for each in dirs) for name in names))
    again = run(*argv)
    assert again.code == 8, again.err
    assert "not written: " in again.out
    assert "the topic was deleted and made anew" in again.out
