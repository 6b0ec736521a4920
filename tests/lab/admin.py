"""An admin client that does not give up on a broker that has only just come up."""

from collections.abc import Callable, Collection, Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, DescribeClusterResult, PartitionMetadata

from tests.waiting import until

PATIENCE = 120
"""Seconds until a cluster that names no controller is given up."""


def admin(bootstrap: str) -> AdminClient:
    """A quiet admin client of a cluster that has a controller, and can say so (its futures die with it).

    librdkafka asks for the controller when it connects, and then not again for
    topic.metadata.refresh.interval.ms (5 minutes). A broker with ZooKeeper answers clients before
    its controller has told it who that is: whoever came in between waited in vain.
    """
    settings = {"bootstrap.servers": bootstrap, "log_level": 2, "topic.metadata.refresh.interval.ms": 1000}
    client = AdminClient(settings)
    until(f"the controller of {bootstrap}", lambda: _has_controller(client), PATIENCE)
    return client


def _has_controller(client: AdminClient) -> bool:
    # Not list_topics: librdkafka cannot parse the answer of a 1.1.0 about a hundred of them.
    try:
        return client.describe_cluster(request_timeout=10).result(20).controller is not None
    except (KafkaException, TimeoutError):
        return False


def wait_until_known(bootstrap: str, brokers: int) -> DescribeClusterResult:
    """Of a KRaft cluster who is up first may not see the others yet, nor give them replicas."""
    client = admin(bootstrap)  # its futures die with it
    # librdkafka gives up the address it began with while it hears of the brokers.
    return until(
        f"{brokers} brokers of {bootstrap}",
        lambda: client.describe_cluster(request_timeout=10).result(20),
        good=lambda told: len(told.nodes) >= brokers,
        despite=(KafkaException, TimeoutError),
    )


def until_all(
    bootstrap: str,
    good: Callable[[PartitionMetadata], object],
    topics: Iterable[str] = (),
    seconds: float = 120,
) -> None:
    """Until it is so of all partitions of these topics, or of all that there are."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = list(topics)

    def others() -> list[tuple[str, object]]:
        told = client.list_topics(timeout=30).topics
        parts = [
            (name, part)
            for name in wanted or told
            for part in (name in told and told[name].partitions.values()) or [None]
        ]
        return [
            (name, part and (part.leader, part.isrs)) for name, part in parts if not part or not good(part)
        ]

    until("leaders and in-sync replicas", others, seconds, lambda found: not found, despite=KafkaException)


def delete_topics(bootstrap: str, names: Collection[str]) -> None:
    """Those of them that there are; until nobody is told of them any more."""
    client = admin(bootstrap)
    there = {*names} & client.list_topics(timeout=20).topics.keys()
    for gone in client.delete_topics([*there], operation_timeout=30).values() if there else ():
        gone.result(60)
    until(f"{there} to go", lambda: not {*names} & client.list_topics(timeout=20).topics.keys())
