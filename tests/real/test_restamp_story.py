"""A topic of three replicas is deleted and made anew; the old records come back from its directories.

As they are, brokers take them for strays. Restamped they serve them, but where the old topic had come to
higher leader epochs than the new one the leader is alone, until the others are grafted from its files.
"""

import shutil
import struct
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata  # type: ignore[attr-defined]

from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from tests.checks.build_metadata import compact
from tests.cli.run import run
from tests.golden.produce import write
from tests.golden.records import events
from tests.lab.admin import admin, until_all
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.disasters import protocol
from tests.lab.reader import read
from tests.real.conftest import need_kafka
from tests.seeds import some_of
from tests.surgery.checkpoints import lines
from tests.waiting import until

pytestmark = pytest.mark.broker

NAME = "t-0"
ALTER_PARTITION_REASSIGNMENTS = 45, 0
"""Key and version of a request that librdkafka lacks; Kafka's tool for it is a JVM, started seven times."""


def partition(cluster: Cluster) -> PartitionMetadata:
    client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    return client.list_topics("t", timeout=30).topics["t"].partitions[0]


def wait(cluster: Cluster, there: Callable[[PartitionMetadata], bool]) -> None:
    until_all(cluster.bootstrap, there, ["t"])


def all_in_sync(now: PartitionMetadata) -> bool:
    return now.leader > 0 and set(now.isrs) == {1, 2, 3}


def ask(cluster: Cluster, question: Callable[[AdminClient], Future[object]], done: int | None = None) -> None:
    """Asked again where the answer was lost, as librdkafka does while brokers start; `done`: it was done."""
    for last in (False, False, True):
        client = admin(cluster.bootstrap)  # its futures die with it
        try:
            question(client).result(120)
        except KafkaException as error:
            if error.args[0].code() == done:
                return
            if last:
                raise
        else:
            return


def make(cluster: Cluster) -> None:
    topic = NewTopic("t", 1, replica_assignment=[[1, 2, 3]], config={"retention.ms": "-1"})
    ask(cluster, lambda client: client.create_topics([topic])["t"], KafkaError.TOPIC_ALREADY_EXISTS)
    wait(cluster, all_in_sync)


def replace_topic(cluster: Cluster) -> None:
    ask(cluster, lambda client: client.delete_topics(["t"])["t"], KafkaError.UNKNOWN_TOPIC_OR_PART)
    for broker in cluster.brokers:
        until(f"{NAME} to go", lambda gone=broker.dirs[0] / NAME: not gone.exists())
    make(cluster)


def elect(cluster: Cluster, first: int) -> None:
    """One leader epoch more: this node is preferred from now on, and elected."""
    order = compact([struct.pack(">i", node) for node in (first, *({1, 2, 3} - {first}))])
    wanted = compact(b"t") + compact([struct.pack(">i", 0) + order + b"\0"]) + b"\0"
    answer = protocol.ask(
        cluster.brokers[0].seat.port, *ALTER_PARTITION_REASSIGNMENTS,
        b"\0" + struct.pack(">i", 60_000) + compact([wanted]) + b"\0",
    )  # fmt: skip
    no_error = struct.pack(">bihB", 0, 0, 0, 0)  # tags, throttled, error, message
    done = compact([compact(b"t") + compact([struct.pack(">ihBB", 0, 0, 0, 0)]) + b"\0"]) + b"\0"
    assert answer.data[answer.at :] == no_error + done
    ask(cluster, lambda client: client.elect_leaders(ElectionType.PREFERRED, [TopicPartition("t", 0)]))
    wait(cluster, lambda now: now.leader == first)


def newest(broker: Broker) -> int:
    """The last leader epoch of the replica by its file."""
    rows = (broker.dirs[0] / NAME / "leader-epoch-checkpoint").read_text().split("\n")[2:-1]
    return int(rows[-1].split()[0])


def put_back(cluster: Cluster, kept: Path) -> None:
    """The directories of the old topic where brokers have those of the new one."""
    for broker in cluster.brokers:
        for path in broker.dirs[0].glob("t-0*"):
            shutil.rmtree(path)
        shutil.copytree(kept / broker.root.name, broker.dirs[0] / NAME)


def seen(cluster: Cluster) -> list[int]:
    """The offset of every record that a consumer gets, without an error."""
    found = read(cluster.bootstrap, ["t"])["t"]
    assert found["errors"] == []
    return list(found["seen"])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", some_of(["4.3.1", "3.9.2"], 2))
def test_a_topic_made_anew_serves_the_records_of_the_old_one_from_all_its_replicas(
    version: str, tmp_path: Path
) -> None:
    need_kafka(version)
    plan, state, kept = tmp_path / "plan.json", ("--state-dir", tmp_path / "state"), tmp_path / "kept"
    settings = {"offsets.topic.replication.factor": "1"}
    with Cluster(version, tmp_path / "live", 3, log_dirs=1, settings=settings) as cluster:
        cluster.start()
        make(cluster)
        for first in (2, 3, 1, 2, 3, 1, 2):
            elect(cluster, first)
        write(cluster.bootstrap, "t", events("old", 6, 4))
        cluster.stop()
        for broker in cluster.brokers:
            shutil.copytree(broker.dirs[0] / NAME, kept / broker.root.name)
        cluster.start()
        replace_topic(cluster)
        cluster.kill()

        # As they are: strays, and nothing is read.
        put_back(cluster, kept)
        cluster.start()
        wait(cluster, all_in_sync)
        assert [len(list(each.dirs[0].glob("t-0.*-stray"))) for each in cluster.brokers] == [1, 1, 1]
        assert seen(cluster) == []
        cluster.kill()

        put_back(cluster, kept)
        for broker in cluster.brokers:
            found = run("check", *broker.dirs, "--json").of("finding")
            (remedy,) = (row["remedy"]["command"] for row in found if row["code"] == "M05")
            assert remedy == f"segmend plan restamp {broker.dirs[0]} --topic t -o plan.json"
            asked = ("plan", "restamp", *broker.dirs, "--topic", "t", "-o", plan)
            assert "may lead by the metadata here" in run(*asked, code=4).out
            proofs = [
                word for each in cluster.brokers for word in ("--replica", each.dirs[0]) if each is not broker
            ]
            told = run(*asked, *proofs, code=0).out
            assert "once it leads, stop each of them and graft it from the leader's files" in told
            run("apply", plan, "--yes", *state, code=1)
        cluster.start()
        wait(cluster, lambda now: now.leader > 0)
        assert seen(cluster) == list(range(24))
        write(cluster.bootstrap, "t", events("new", 1, 4))
        source = cluster.brokers[partition(cluster).leader - 1]
        until("its high watermark", lambda: lines(source.dirs[0] / HIGH_WATERMARK).get(("t", 0)) == 28, 120)
        # Who led for a moment has forgotten the old epochs, too.
        stuck = [broker for broker in cluster.brokers if newest(broker) > newest(source)]
        assert stuck
        assert set(partition(cluster).isrs) & {broker.seat.node_id for broker in stuck} == set()
        for broker in stuck:
            broker.stop(180)
            # Which has written the epochs anew: they are those of the topic before, not of newer metadata.
            found = run("check", *broker.dirs, "--json").of("finding")
            assert "K25" not in {row["code"] for row in found}
            where = ("--partition", NAME, "--from", source.dirs[0] / NAME, "--live-source", "-o", plan)
            run("plan", "graft", *broker.dirs, *where, code=0)
            run("apply", plan, "--yes", *state, code=1)
            assert newest(broker) == newest(source)
            broker.start()
        wait(cluster, all_in_sync)
        source.stop(180)
        wait(cluster, lambda now: now.leader not in (-1, source.seat.node_id))
        assert seen(cluster) == list(range(28))
