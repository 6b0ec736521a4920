"""The records that the data source reads from a broker's files are those that its consumers get."""

import pytest
from confluent_kafka import TopicPartition

from tests.fleet.test_tables import rows_of
from tests.golden.acts import compacted_transactions, open_transaction, transactions
from tests.golden.topics import Topic, create, small_segments
from tests.lab.reader import consumer, read
from tests.real.conftest import Start

pytestmark = pytest.mark.broker

TOPICS = ("plain-txn", "left-open")


def test_isolation_and_times_are_those_of_a_consumer(start: Start) -> None:
    """Transactions that end in another segment, aborted ones, one left open; no `.txnindex` is asked."""
    cluster = start("4.3.1")
    create(cluster.bootstrap, [Topic(name, small_segments(cluster.release)) for name in TOPICS])
    for topic in TOPICS:
        transactions(cluster.bootstrap, topic)
        compacted_transactions(cluster.bootstrap, topic)
    left = open_transaction(cluster.bootstrap, "left-open", "never-ended")
    transactions(cluster.bootstrap, "left-open")
    root = cluster.brokers[0].root
    counts = set()
    for isolation in ("read_uncommitted", "read_committed"):
        told = read(cluster.bootstrap, [*TOPICS], isolation)
        for topic in TOPICS:
            for split in ("3000", "1000000"):
                found = rows_of(root, subscribe=topic, isolation=isolation, splitBytes=split)
                assert sorted(row["offset"] for row in found) == told[topic]["seen"]
            counts.add(len(found))
            half = sorted(told[topic]["seen"])[len(told[topic]["seen"]) // 2 :]
            found = rows_of(root, subscribe=topic, isolation=isolation, offsets=f"{half[0]}..")
            assert sorted(row["offset"] for row in found) == half
    assert len(counts) == 3  # committed ones are as many in both: one topic is the other and an open end
    times = [int(row["timestamp"].timestamp() * 1000) for row in rows_of(root, subscribe="plain-txn")]
    client = consumer(cluster.bootstrap, "read_uncommitted")
    for time in (min(times), times[len(times) // 3], max(times)):
        (asked,) = client.offsets_for_times([TopicPartition("plain-txn", 0, time)], timeout=10)
        found = rows_of(root, subscribe="plain-txn", startingTimestamp=str(time))
        every = rows_of(root, subscribe="plain-txn", offsets=f"{asked.offset}..")
        assert found == every
    del left
