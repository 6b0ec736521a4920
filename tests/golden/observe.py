"""What a client sees of a live cluster: `python -m tests.golden.observe BOOTSTRAP OUT.json [--no-records]`.

Runs in a process of its own because librdkafka aborts its process on some damaged segments.
"""

import json
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from tests.waiting import until

QUIET = {"log_level": 2}


def text(value: bytes | None) -> str | None:
    """Bytes as hex; None stays None."""
    return None if value is None else value.hex()


def row(message: Message) -> dict[str, Any]:
    """One consumed record."""
    kind, moment = message.timestamp()
    headers: Any = message.headers() or []
    return {
        "offset": message.offset(),
        "timestampType": {0: None, 1: "CreateTime", 2: "LogAppendTime"}[kind],
        "timestamp": moment,
        "key": text(message.key()),
        "value": text(message.value()),
        "headers": [[name, text(value)] for name, value in headers],
        "leaderEpoch": message.leader_epoch(),
    }


def partitions(admin: AdminClient) -> list[TopicPartition]:
    """All partitions that have a leader."""
    topics = admin.list_topics(timeout=30).topics
    return [
        TopicPartition(name, number)
        for name, topic in sorted(topics.items())
        for number, partition in sorted(topic.partitions.items())
        if partition.leader >= 0
    ]


def watermarks(consumer: Consumer, part: TopicPartition, patience: float = 20) -> tuple[int, int]:
    """Log start and end offset. The controller tells of a leader before that broker knows of it."""

    def ask() -> tuple[int, int] | KafkaException:
        try:
            return consumer.get_watermark_offsets(part, timeout=30, cached=False)
        except KafkaException as error:
            if error.args[0].name() != "NOT_LEADER_FOR_PARTITION":
                raise
            return error

    told = until(f"the leader of {part}", ask, patience, lambda told: isinstance(told, tuple), strict=False)
    if isinstance(told, KafkaException):
        raise told
    return told


def offsets(
    consumer: Consumer, admin: AdminClient, all_of: list[TopicPartition]
) -> dict[str, dict[str, int]]:
    """Log start offset, log end offset as clients see it, and last stable offset of each partition."""
    found: dict[str, dict[str, int]] = {}
    for part in all_of:
        low, high = watermarks(consumer, part)
        found[f"{part.topic}-{part.partition}"] = {"log_start_offset": low, "log_end_offset": high}
    try:
        asked = admin.list_offsets(
            {TopicPartition(part.topic, part.partition): OffsetSpec.latest() for part in all_of},
            isolation_level=IsolationLevel.READ_COMMITTED,
        )
        for part, future in asked.items():
            found[f"{part.topic}-{part.partition}"]["last_stable_offset"] = future.result(30).offset
    except Exception as error:  # releases before 0.11 know no such request
        print(f"no last stable offsets: {error}", file=sys.stderr)
    return found


def consume(consumer: Consumer, all_of: list[TopicPartition]) -> dict[str, list[dict[str, Any]]]:
    """Every record of each partition that a read_uncommitted consumer gets."""
    rows: dict[str, list[dict[str, Any]]] = {f"{part.topic}-{part.partition}": [] for part in all_of}
    waiting = set(rows)
    consumer.assign([TopicPartition(part.topic, part.partition, 0) for part in all_of])
    idle = 0
    while waiting and idle < 15:
        message = consumer.poll(0.5)
        if message is None:
            idle += 1
            continue
        name = f"{message.topic()}-{message.partition()}"
        if not message.error():
            rows[name].append(row(message))
            idle = 0
        elif (error := message.error()) and error.name() == "_PARTITION_EOF":
            waiting.discard(name)
    consumer.unassign()
    return rows


def observe(bootstrap: str, records: bool) -> dict[str, Any]:
    """Everything: offsets of all partitions, and the records unless they are not wanted."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    settings = {"bootstrap.servers": bootstrap, "group.id": "observer", "enable.auto.commit": False, **QUIET}
    settings |= {
        "isolation.level": "read_uncommitted",
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    all_of = partitions(admin)
    seen = offsets(consumer, admin, all_of)
    answer: dict[str, Any] = {"partitions": seen}
    if records:
        answer["records"] = consume(consumer, all_of)
    consumer.close()
    return answer


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(observe(sys.argv[1], "--no-records" not in sys.argv)))
