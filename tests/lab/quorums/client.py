"""A client of a quorum that came up: `python -m tests.lab.quorums.client read|make BOOTSTRAP`, JSON."""

import json
import sys
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.lab.admin import admin
from tests.lab.quorums.base import TOPICS, make_topic
from tests.lab.reader import consumer, led


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
    until = time.monotonic() + 30
    while True:  # A dead leader is one until its session ends.
        try:
            low, high = reader.get_watermark_offsets(TopicPartition(topic, partition), timeout=8)
        except KafkaException as error:
            if time.monotonic() > until:
                return str(error.args[0].name())
            time.sleep(1)
        else:
            return int(high - low)


if __name__ == "__main__":
    if sys.argv[1] == "read":
        print(json.dumps(read(sys.argv[2])))
    else:
        make_topic(sys.argv[2], "new", 1)
        print("null")
