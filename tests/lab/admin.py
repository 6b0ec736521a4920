"""An admin client that does not give up on a broker that has only just come up."""

import time
from contextlib import suppress

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, DescribeClusterResult

from tests.lab.errors import LabError

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
    deadline = time.monotonic() + PATIENCE
    while not _has_controller(client):
        if time.monotonic() > deadline:
            raise LabError(f"{bootstrap} names no controller after {PATIENCE} s")
        time.sleep(0.1)
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
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        # librdkafka gives up the address it began with while it hears of the brokers.
        with suppress(KafkaException, TimeoutError):
            told = client.describe_cluster(request_timeout=10).result(20)
            if len(told.nodes) >= brokers:
                return told
        time.sleep(0.2)
    raise LabError(f"{bootstrap} names fewer than {brokers} brokers after 60 s")
