"""What operators do to a cluster, of which a node that is away does not hear."""

import json
import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from tests.golden.topics import Topic
from tests.lab.admin import admin
from tests.lab.cluster import Cluster
from tests.lab.process import run_tool

CHANGED = "changed"
AGAIN, MOVING, LATE = "again", "moving", "late"
OTHERS = [Topic(AGAIN, {}, partitions=2), Topic(MOVING, {}, partitions=2), Topic(LATE, {}, partitions=2)]
"""`again` is deleted and made anew; `moving` gets replicas on node 3; `late` is made when that is away."""
BEFORE = {AGAIN: [[1, 2, 3], [3, 1, 2]], MOVING: [[1, 2], [2, 1]]}
AFTER = {AGAIN: [[2, 3, 1], [1, 3, 2]], LATE: [[1, 3], [3, 2]]}
MOVED = [[2, 3], [3]]


def prepare(cluster: Cluster, story: str) -> None:
    """Settings of all brokers, changed while they run; the topics."""
    settings = "min.insync.replicas=2"
    if story.endswith("lax"):
        settings += ",unclean.leader.election.enable=true"
    boot = ["--bootstrap-server", cluster.bootstrap]
    which = ["--alter", "--entity-type", "brokers", "--entity-default", "--add-config", settings]
    run_tool(cluster.release, cluster.root, "kafka.admin.ConfigCommand", *boot, *which)
    made(cluster, BEFORE)


def change(cluster: Cluster) -> None:
    """While node 3 is away: a topic anew, and one more."""
    client = admin(cluster.bootstrap)  # its futures die with it
    client.delete_topics([AGAIN], operation_timeout=30)[AGAIN].result(60)
    time.sleep(3)
    made(cluster, AFTER)


def move(cluster: Cluster) -> None:
    """Replicas on their way to node 3, which was killed, and is not missed yet: the tool wants to see it."""
    rows = [{"topic": MOVING, "partition": number, "replicas": to} for number, to in enumerate(MOVED)]
    plan = cluster.root / "moved.json"
    plan.write_text(json.dumps({"version": 1, "partitions": rows}))
    package = "org.apache.kafka.tools.reassign" if cluster.release.number >= (3, 7) else "kafka.admin"
    arguments = ["--bootstrap-server", cluster.bootstrap, "--execute", "--reassignment-json-file", plan]
    run_tool(cluster.release, cluster.root, f"{package}.ReassignPartitionsCommand", *arguments)
    plan.unlink()


def made(cluster: Cluster, wanted: dict[str, list[list[int]]]) -> None:
    """Topics with their replicas; asked again while the old one of that name is still there."""
    client = admin(cluster.bootstrap)
    for name, replicas in wanted.items():
        fresh = NewTopic(name, len(replicas), replica_assignment=replicas)
        for last in (False, False, True):
            try:
                client.create_topics([fresh], operation_timeout=30)[name].result(60)
                break
            except KafkaException:
                if last:
                    raise
                time.sleep(3)
