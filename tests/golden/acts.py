"""What is done to a broker beside plain producing: transactions, groups, deletions, moves."""

import json
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

from tests.golden.produce import producer, send
from tests.golden.records import customers, events
from tests.lab.admin import admin
from tests.lab.broker import Broker
from tests.lab.process import run_tool
from tests.waiting import until


def transactional(bootstrap: str, name: str, codec: str = "none") -> Producer:
    """A producer with a transactional id, ready for its first transaction."""
    client = producer(
        bootstrap, compression_type=codec, transactional_id=name, transaction_timeout_ms=900_000
    )
    client.init_transactions(90)
    return client


def transactions(bootstrap: str, topic: str) -> None:
    """Committed, aborted, interleaved and long transactions of two producers over several segments."""
    left, right = transactional(bootstrap, f"{topic}-left"), transactional(bootstrap, f"{topic}-right")
    for turn in range(4):
        left.begin_transaction()
        right.begin_transaction()
        for part in range(3):
            send(left, topic, events("left", 1, 4, first=turn * 100 + part * 4))
            send(right, topic, events("right", 1, 3, first=turn * 100 + part * 3))
        left.commit_transaction(60)
        if turn % 2:
            right.commit_transaction(60)
        else:
            right.abort_transaction(60)


def open_transaction(bootstrap: str, topic: str, name: str) -> Producer:
    """Leave a transaction open: it stays so while the returned producer is not told to end it."""
    client = transactional(bootstrap, name)
    client.begin_transaction()
    send(client, topic, events(name, 3, 4))
    return client


def compacted_transactions(bootstrap: str, topic: str) -> None:
    """Keys overwritten by committed and aborted transactions, so that compaction leaves empty batches."""
    for turn in range(3):
        client = transactional(bootstrap, f"{topic}-{turn}")
        for part, end in enumerate(("commit", "abort", "commit")):
            client.begin_transaction()
            send(client, topic, customers(2 + part))
            if end == "commit":
                client.commit_transaction(60)
            else:
                client.abort_transaction(60)


def commit_group(bootstrap: str, group: str, topics: list[str]) -> None:
    """Join a group, read a little, commit twice, leave: member metadata, commits and a tombstone."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 10_000,
            "log_level": 2,
        }
    )
    consumer.subscribe(topics)
    deadline, seen = time.monotonic() + 30, 0
    while seen < 20 and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and not message.error():
            seen += 1
            if seen in (10, 20):
                consumer.commit(message=message, asynchronous=False)
    consumer.close()
    if seen < 20:
        raise RuntimeError(f"group {group} saw only {seen} records")


def delete_head(bootstrap: str, topic: str, before: int) -> None:
    """DeleteRecords: move the log start offset up."""
    client = admin(bootstrap)  # its futures die with it
    done = client.delete_records([TopicPartition(topic, 0, before)])
    for future in done.values():
        future.result(60)


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic; its directory stays as -delete as long as the file delete delay lasts."""
    client = admin(bootstrap)
    for future in client.delete_topics([topic], operation_timeout=60).values():
        future.result(90)


def change_format(bootstrap: str, topic: str, settings: dict[str, str]) -> None:
    """Replace a topic's settings (the old request, which every release knows)."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=settings)
    client = admin(bootstrap)
    for future in client.alter_configs([resource]).values():
        future.result(60)
    time.sleep(2)  # the broker applies it when ZooKeeper tells it


def start_move(broker: Broker, topic: str, zookeeper: str | None) -> None:
    """Move a replica to the broker's other log dir so slowly that it stays a -future directory."""
    here = next(place for place in broker.dirs if (place / f"{topic}-0").exists())
    there = next(place for place in broker.dirs if place != here)
    wish = {
        "version": 1,
        "partitions": [
            {"topic": topic, "partition": 0, "replicas": [broker.seat.node_id], "log_dirs": [str(there)]}
        ],
    }
    plan = broker.root / "move.json"
    plan.write_text(json.dumps(wish))
    modern = broker.release.number >= (3, 5)
    main = (
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        if modern
        else "kafka.admin.ReassignPartitionsCommand"
    )
    arguments: list[str | Path] = [
        "--bootstrap-server",
        broker.bootstrap,
        "--reassignment-json-file",
        plan,
        "--execute",
    ]
    if broker.release.number < (2, 5):
        arguments += ["--zookeeper", str(zookeeper)]
    run_tool(broker.release, broker.root, main, *arguments, "--replica-alter-log-dirs-throttle", "1")
    until(f"a -future directory for {topic} in {there}", lambda: [*there.glob("*-future")], 10)
    time.sleep(2)  # the first fetch arrives, then the throttle holds
