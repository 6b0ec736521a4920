"""Next commands that talk to the cluster, pasted against a live broker: each does what it says."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.acts import open_transaction
from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.process import run_tool
from tests.lab.releases import release

from segmend.checks import remedies
from segmend.findings import Remedy

PROGRAMS = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}
"""What the scripts start."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """One, with a topic that has a setting of its own."""
    with Broker(release("4.3.1"), tmp_path, settings=QUIET) as found:
        found.start()
        create(found.bootstrap, [Topic("orders.eu", {"segment.bytes": "2097152"})])
        yield found


def pasted(broker: Broker, remedy: Remedy) -> str:
    """What the program says."""
    program, *words = shlex.split(remedy.command.replace("HOST:9092", broker.bootstrap))
    return run_tool(broker.release, broker.root, PROGRAMS[program], *words)


@pytest.mark.broker
def test_commands_for_the_cluster_are_taken(broker: Broker) -> None:
    described = pasted(broker, remedies.describe("orders.eu"))
    assert "TopicId: " in described
    assert "segment.bytes=2097152" in described
    pasted(broker, remedies.unset("orders.eu", "segment.bytes"))
    assert "segment.bytes" not in pasted(broker, remedies.describe("orders.eu"))
    open_one = open_transaction(broker.bootstrap, "orders.eu", "left-open")
    assert "ProducerId" in pasted(broker, remedies.find_hanging("orders.eu", 0))
    del open_one
