"""A replica pushed out of the ISR is brought back from its leader's files, as an old write-up does by hand.

Three brokers, topic `test_isr` with two partitions of two replicas, records of 1 KiB with acks=1: 100,000 as
there in a sweep, fewer in CI. Broker 1 is killed midway. Its replica is grafted from the files of broker 2,
while that one is stopped, or while it goes on serving.
"""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.cli.run import run
from tests.lab.admin import admin
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.real.conftest import need_kafka
from tests.seeds import sampled, some_of
from tests.waiting import until

pytestmark = pytest.mark.broker

TOPIC, RECORDS, SIZE = "test_isr", sampled(100_000, 16_000), 1024
REPLICAS = [[2, 1], [3, 2]]
"""By partition, the leader first: broker 1 only follows, and only partition 0."""


class Story:
    """The cluster, and what its clients see."""

    def __init__(self, version: str, root: Path, settings: dict[str, str] | None = None) -> None:
        self.cluster = Cluster(version, root, brokers=3, settings=settings)
        self.cluster.start()
        client = admin(self.cluster.bootstrap)
        made = client.create_topics([NewTopic(TOPIC, num_partitions=2, replica_assignment=REPLICAS)])
        made[TOPIC].result(60)
        self.wait("leaders", lambda: self.leader(0) == 2 and self.leader(1) == 3)

    def broker(self, node_id: int) -> Broker:
        return self.cluster.brokers[node_id - 1]

    def replica(self, node_id: int) -> Path:
        return next(path for d in self.broker(node_id).dirs for path in d.glob(f"{TOPIC}-0"))

    def _partition(self, number: int):  # type: ignore[no-untyped-def]
        client = AdminClient({"bootstrap.servers": self.cluster.bootstrap, "log_level": 0})
        return client.list_topics(TOPIC, timeout=20).topics[TOPIC].partitions.get(number)

    def leader(self, number: int) -> int:
        found = self._partition(number)
        return -1 if found is None else int(found.leader)

    def isr(self) -> set[int]:
        return set(self._partition(0).isrs)

    def wait(self, what: str, done: Callable[[], bool]) -> float:
        """Seconds until it was so."""
        begun = time.monotonic()
        until(what, done, 120)
        return time.monotonic() - begun

    def produce(self, numbers: range) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "acks": 1,
                "linger.ms": 5,
                "message.timeout.ms": 60_000,
            }
        )
        failed: list[str] = []
        for number in numbers:
            value = str(number).encode().ljust(SIZE, b".")
            producer.produce(
                TOPIC,
                value,
                partition=number % 2,
                on_delivery=lambda e, _: failed.append(str(e)) if e else None,
            )
            producer.poll(0)
            while len(producer) > 20_000:
                producer.poll(0.1)
        assert producer.flush(60) == 0
        assert failed == []

    def consume(self) -> list[int]:
        """All numbers, in the order in which they came."""
        consumer = Consumer(
            {"bootstrap.servers": self.cluster.bootstrap, "group.id": "all", "enable.partition.eof": True,
             "enable.auto.commit": False}
        )  # fmt: skip
        consumer.assign([TopicPartition(TOPIC, number, 0) for number in (0, 1)])
        found: list[int] = []
        ended: set[int] = set()
        deadline = time.monotonic() + 120
        while len(ended) < 2 and time.monotonic() < deadline:
            for message in consumer.consume(5000, 1.0):
                error, value = message.error(), message.value()
                if error is not None:
                    ended.add(message.partition() or 0)
                elif value is not None:
                    found.append(int(value.rstrip(b".")))
        consumer.close()
        return found


@contextmanager
def story(version: str, root: Path, settings: dict[str, str] | None = None) -> Iterator[Story]:
    need_kafka(version)
    begun: list[Story] = []
    try:
        begun.append(Story(version, root, settings))
        yield begun[0]
    finally:
        for each in begun:
            each.cluster.kill()


def first_fetch(broker: Broker) -> int:
    """The offset from which the follower began to fetch when it started."""
    line = broker.wait_for(rf"Added fetcher .*{TOPIC}-0")
    found = re.search(rf"{TOPIC}-0 -> InitialFetchState\(.*?,(\d+)\)\)|{TOPIC}-0, initOffset (\d+) ", line)
    assert found, line
    return int(found[1] or found[2])


def scanned(broker: Broker) -> list[str]:
    """What it told of segments that its start recovered."""
    return [line for line in broker.lines() if "Recovering unflushed segment" in line and TOPIC in line]


def _size(replica: Path) -> int:
    return sum(path.stat().st_size for path in replica.glob("*.log"))


@pytest.mark.parametrize(
    ("version", "leader", "state"),
    some_of(
        [
            ("1.1.0", "stopped", "out-of-sync"),
            ("4.3.1", "stopped", "out-of-sync"),
            ("4.3.1", "live", "lost"),
            ("4.3.1", "live", "out-of-sync"),
            ("4.3.1", "live", "merged"),
        ],
        2,
    ),
)
def test_back_in_the_isr(
    version: str, leader: str, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with story(version, tmp_path / "cluster", {"log.segment.bytes": str(RECORDS * 80)}) as it:
        it.produce(range(RECORDS // 2))
        it.wait("both replicas alike", lambda: _size(it.replica(1)) == _size(it.replica(2)) > 0)
        it.broker(1).kill()
        assert len(list(it.replica(1).glob("*.log"))) > 2
        it.produce(range(RECORDS // 2, RECORDS))
        it.wait("an ISR without broker 1", lambda: it.isr() == {2})
        mine, source = it.replica(1), it.replica(2)
        if state == "lost":
            shutil.rmtree(mine)
        mark = source.parent / "replication-offset-checkpoint"
        it.wait("the high watermark on disk", lambda: f"{TOPIC} 0 {RECORDS // 2}\n" in mark.read_text())
        if leader == "stopped":
            it.broker(2).stop()
        plan, options = tmp_path / "plan.json", ["--live-source"] if leader == "live" else []
        where = ("--partition", f"{TOPIC}-0", "--from", source, "-o", plan)
        operation = "merge" if state == "merged" else "graft"
        run("plan", operation, *it.broker(1).dirs, *where, *options, code=0)
        copied = sum(s["content"]["length"] for s in json.loads(plan.read_text())["steps"]
                     if s["kind"] == "append_file" and s["path"].endswith(".log"))  # fmt: skip
        total = _size(source)
        assert (copied == total) is (state == "lost")
        assert run("apply", plan, "--yes", "--state-dir", tmp_path / "state").code == 1
        checked = run("check", "--deep", *it.broker(1).dirs, "--json").of("finding")
        assert [row for row in checked if row["severity"] == "error"] == []
        it.broker(1).launch()
        if leader == "stopped":
            it.broker(2).launch()
            it.broker(2).wait_ready()
        it.broker(1).wait_ready()
        seconds = it.wait("broker 1 in the ISR", lambda: it.isr() == {1, 2})
        assert first_fetch(it.broker(1)) == RECORDS // 2
        if operation == "graft":  # A merge does not answer for what stays, which nobody synced for sure.
            assert len(scanned(it.broker(1))) == 1, "only the active segment, which every start recovers"
        it.broker(2).stop()
        it.wait("another leader", lambda: it.leader(0) == 1)
        assert sorted(it.consume()) == list(range(RECORDS))
        how = f"{version}, {leader}, {state}: {copied:,} of {total:,} bytes copied"
        with capsys.disabled():
            print(f"\n{how}, in the ISR {seconds:.1f} s after the start")


@pytest.mark.timeout(400)
def test_after_an_unclean_election_the_stale_side_is_no_source(tmp_path: Path) -> None:
    """Broker 2 led alone; then 1 was elected without it. What 1 got since stays, and 2 is mended from it."""
    first, lost, after = range(2_000), range(2_000, 3_000), range(3_000, 4_800)
    with story("4.3.1", tmp_path / "cluster", {"unclean.leader.election.enable": "true"}) as it:
        it.produce(first)
        it.wait("both replicas alike", lambda: _size(it.replica(1)) == _size(it.replica(2)) > 0)
        it.broker(1).kill()
        it.wait("an ISR without broker 1", lambda: it.isr() == {2})
        it.produce(lost)
        it.broker(2).kill()
        it.broker(1).launch()
        it.broker(1).wait_ready()
        it.wait("an unclean election", lambda: it.leader(0) == 1)
        it.produce(after)
        it.broker(1).stop()
        plan, one, two = tmp_path / "plan.json", it.replica(1), it.replica(2)
        where = ("--partition", f"{TOPIC}-0", "-o", plan)
        refused = run("plan", "graft", *it.broker(1).dirs, *where, "--from", two, code=8)
        assert f"{two}: ends in leader epoch " in refused.err
        assert f"{len(after) // 2} records (offsets 1000 to 1899)" in refused.err
        assert "graft from the replica that led last" in refused.err
        assert not plan.exists()
        run("plan", "graft", *it.broker(2).dirs, *where, "--from", one, code=0)
        (loss,) = json.loads(plan.read_text())["losses"]
        assert (loss["records"], loss["first_offset"], loss["last_offset"]) == (len(lost) // 2, 1000, 1499)
        assert run("apply", plan, "--yes", "--state-dir", tmp_path / "state").code == 1
        for number in (1, 2):
            it.broker(number).launch()
        for number in (1, 2):
            it.broker(number).wait_ready()
        it.wait("both in the ISR", lambda: it.isr() == {1, 2})
        it.broker(1).stop()
        it.wait("another leader", lambda: it.leader(0) == 2)
        found = set(it.consume())
        assert found >= {*first, *after}
        assert not found & {number for number in lost if number % 2 == 0}
