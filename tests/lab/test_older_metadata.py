"""A lone node whose metadata was restored from a backup: what brokers do, as K25 and the forecast tell it."""

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from segmend.broker.strays import STRAYS, StrayHandling
from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, Service, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release
from segmend.node.older import IDS, OWN
from tests.brokers import broker_of
from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.produce import producer
from tests.golden.topics import Topic, create, small_segments
from tests.lab.base import QUIET
from tests.lab.cluster import Cluster
from tests.real.conftest import need_kafka
from tests.seeds import SWEEP

pytestmark = [pytest.mark.broker, pytest.mark.slow]
METADATA = "d0/__cluster_metadata-0"


def written(cluster: Cluster, topic: str) -> int:
    """The offset that one record of a new idempotent producer is acknowledged with."""
    offsets: list[int] = []
    client = producer(cluster.bootstrap, enable_idempotence=True)
    client.produce(
        topic, b"x", partition=0, on_delivery=lambda _error, message: offsets.append(message.offset())
    )
    client.flush(60)
    return offsets[0]


def end(cluster: Cluster, topic: str) -> int:
    """The log end offset."""
    client = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "looks"})
    try:
        return client.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)[1]
    finally:
        client.close()


def put_back(place: Path, backup: Path) -> None:
    shutil.rmtree(place)
    copy_tree(backup, place)


def producers(root: Path) -> list[int]:
    """The ids that the records of `a` were written with."""
    (home,) = root.glob("d*/a-0")
    return [
        batch["producer_id"]
        for log in sorted(home.glob("*.log"))
        for batch in run("show", log, "--batches", "--json").of("batch")
    ]


@pytest.mark.parametrize("version", ["3.3.2", "3.7.2", "3.9.2", "4.3.1"] if SWEEP else ["4.3.1"])
def test_what_a_new_producer_writes_is_acknowledged_and_not_written(version: str, tmp_path: Path) -> None:
    need_kafka(version)
    with Cluster(version, tmp_path / "cluster", settings=QUIET) as cluster:
        broker = cluster.brokers[0]
        cluster.start()
        create(cluster.bootstrap, [Topic("a", small_segments(cluster.release))])
        written(cluster, "a")
        broker.stop()
        copy_tree(broker.root / METADATA, tmp_path / "backup")
        cluster.start()
        create(cluster.bootstrap, [Topic("b", small_segments(cluster.release))])
        assert [written(cluster, "a"), written(cluster, "b"), end(cluster, "a")] == [1, 0, 2]
        broker.stop()
        put_back(broker.root / METADATA, tmp_path / "backup")
        lines = list(
            forecast(
                broker_of(broker.dirs, version, ServerConfig(given=broker.configuration())), ForecastOptions()
            )
        )
        cluster.start()
        known = producers(broker.root)
        if (first := [written(cluster, "a"), end(cluster, "a")]) != [1, 2]:
            # A request for ids that got lost is sent again, and a whole block of them is nobody's: by another
            # id it is written. Of the same metadata this one is given out again, then.
            broker.stop()
            assert (first, producers(broker.root)[:2]) == ([2, 3], known)
            assert producers(broker.root)[2] not in known
            put_back(broker.root / METADATA, tmp_path / "backup")
            cluster.start()
            again = [written(cluster, "a"), end(cluster, "a")]
            assert again in ([1, 3], [2, 3]), producers(broker.root)
        assert not list(broker.root.glob("d*/b-0"))
        renames = STRAYS.of(Release.parse(version)) is StrayHandling.RENAME
        assert bool(list(broker.root.glob("d*/b-0.*-stray"))) == renames
    told = next(line.unknown for line in lines if isinstance(line, BrokerOutcome))
    assert told == (OWN.format("a-0"), IDS.format("a-0"))
    services = {line.topic: line.outcome for line in lines if isinstance(line, PartitionOutcome)}
    assert services["b"] == Service.STRAY
