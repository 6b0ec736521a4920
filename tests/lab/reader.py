"""What a client gets of hurt logs: `python -m tests.lab.reader offsets|read BOOTSTRAP TOPIC...`.

Prints one JSON object. A process of its own: librdkafka may abort on damaged segments.
"""

import json
import sys
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]

from tests.waiting import until

IDLE_SECONDS = 8
"""Of a hurt log a client may get nothing, and be told nothing."""


def consumer(bootstrap: str, isolation: str) -> Consumer:
    """A consumer that checks every CRC and says where a partition ends."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "check.crcs": True,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )


def has_leader(admin: AdminClient, topic: str) -> bool:
    """Whether the broker tells of a leader; each topic is asked for alone, for librdkafka cannot
    parse the answer of a 1.1.0 about a hundred of them ("tmpabuf memory shortage")."""
    try:
        partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    except KafkaException as error:
        print(f"no metadata of {topic}: {error}", file=sys.stderr)
        return False
    return 0 in partitions and partitions[0].leader >= 0


def led(bootstrap: str, topics: list[str], seconds: float = 8) -> list[str]:
    """The topics that have a leader, waiting a while until all have one."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    waiting = set(topics)

    def ask() -> set[str]:
        waiting.difference_update([name for name in waiting if has_leader(admin, name)])
        return waiting

    until("leaders", ask, seconds, lambda waiting: not waiting, strict=False)
    return [name for name in topics if name not in waiting]


def watermarks(plain: Consumer, committed: Consumer, topic: str) -> list[int] | str:
    """Log start, log end and last stable offset, or the name of the error."""
    part = TopicPartition(topic, 0)
    try:
        low, high = plain.get_watermark_offsets(part, timeout=8)
        return [low, high, committed.get_watermark_offsets(part, timeout=8)[1]]
    except KafkaException as error:
        return str(error.args[0].name())


def offsets(bootstrap: str, topics: list[str], seconds: float = 12) -> dict[str, Any]:
    """The watermarks of each topic; None where there is no leader.

    A broker that says it is up is leader of its partitions only a while later.
    """
    found: dict[str, Any] = dict.fromkeys(topics)
    plain, committed = consumer(bootstrap, "read_uncommitted"), consumer(bootstrap, "read_committed")
    waiting, deadline = led(bootstrap, topics), time.monotonic() + seconds
    while waiting and time.monotonic() < deadline:
        found |= {topic: watermarks(plain, committed, topic) for topic in waiting}
        waiting = [topic for topic in waiting if found[topic] == "NOT_LEADER_FOR_PARTITION"]
        time.sleep(0.5 if waiting else 0)
    return found


def read(
    bootstrap: str, topics: list[str], isolation: str = "read_uncommitted", seconds: float = 60
) -> dict[str, Any]:
    """The offsets of all records that a consumer gets of each topic, and its errors.

    For so many seconds at most it waits for leaders, which come late on a busy machine.
    """
    seen: dict[str, list[int]] = {topic: [] for topic in topics}
    errors: dict[str, list[str]] = {topic: [] for topic in topics}
    waiting = set(led(bootstrap, topics, seconds))
    client = consumer(bootstrap, isolation)
    client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING) for topic in sorted(waiting)])
    last = time.monotonic()
    while waiting and time.monotonic() - last < IDLE_SECONDS:
        message = client.poll(0.2)
        if message is None or (topic := message.topic()) is None:
            continue
        error = message.error()
        if error is None:
            offset = message.offset()
            assert offset is not None
            seen[topic].append(offset)
            last = time.monotonic()
        elif error.name() == "_PARTITION_EOF":
            waiting.discard(topic)
        elif error.name() not in errors[topic]:
            errors[topic].append(error.name())
            last = time.monotonic()
    stops = {
        part.topic: part.offset for part in client.position([TopicPartition(t, 0) for t in sorted(waiting)])
    }
    return {
        topic: {"seen": seen[topic], "errors": errors[topic], "stuck": stops.get(topic)} for topic in topics
    }


if __name__ == "__main__":
    what, address, *names = sys.argv[1:]
    answer = offsets(address, names) if what == "offsets" else read(address, names, seconds=8)
    print(json.dumps(answer))
    sys.stdout.flush()
