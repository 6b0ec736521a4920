"""A rescued log dir under the real broker of its release."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from tests.lab.broker import Broker
from tests.lab.releases import release
from tests.lab.zookeeper import ZooKeeper
from tests.surgery.shows.server import SETTINGS, tell


@contextmanager
def serving(version: str, home: Path, scratch: Path) -> Iterator[Broker]:
    """The broker over `home/d0` and `home/d1`, up; killed afterwards."""
    kind = release(version)
    with Broker(kind, home, settings=SETTINGS, zookeeper=ZooKeeper.wanted(kind, scratch)) as broker:
        if broker.own_zookeeper:
            tell(broker.own_zookeeper, scratch, home)
        broker.start()
        yield broker


def text(data: bytes | None) -> str | None:
    """As a rescue writes it."""
    return None if data is None else b64encode(data).decode()


def consumed(bootstrap: str, topic: str, partition: int) -> Iterator[tuple[Any, ...]]:
    """What a consumer gets of a partition, up to its end."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "look", "enable.partition.eof": True, "log_level": 2}
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    try:
        while True:
            message = consumer.poll(30)
            assert message is not None, "no answer"
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return
            headers = [(key, text(value)) for key, value in message.headers() or []]
            yield text(message.key()), text(message.value()), headers, message.timestamp()[1]
    finally:
        consumer.close()
