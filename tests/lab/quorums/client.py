"""A client of a quorum that came up: `python -m tests.lab.quorums.client read|make BOOTSTRAP`, JSON."""

import json
import sys

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.lab.admin import admin
from tests.lab.quorums.base import TOPICS, make_topic
from tests.lab.reader import consumer, led
from tests.waiting import until


def read(bootstrap: str) -> dict[str, list[int | str]]:
    """How many records each partition of the known topics has."""
    there = admin(bootstrap).list_topics(timeout=20).topics
    names = [name for name in TOPICS if name in there]
    led(bootstrap, names, 40)
    reader = consumer(bootstrap, "read_uncommitted")
    found = {name: [_records(reader, name, partition) for partition in (0, 1)] for name in names}
    reader.close()
    return found


def _records(reader: Consumer, topic: str, partition: int) -> int | str:
    part = TopicPartition(topic, partition)
    try:  # A dead leader is one until its session ends.
        low, high = until(
            "the leader", lambda: reader.get_watermark_offsets(part, timeout=8), 30, every=1,
            despite=KafkaException, strict=False,
        )  # fmt: skip
    except KafkaException as error:
        return str(error.args[0].name())
    return int(high - low)


if __name__ == "__main__":
    if sys.argv[1] == "read":
        print(json.dumps(read(sys.argv[2])))
    else:
        make_topic(sys.argv[2], "new", 1)
        print("null")
