"""`plan merge` after a real unclean election: the newest branch, then the other one on purpose."""

import re
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.observe import consume, text
from tests.golden.records import events
from tests.lab.admin import until_all
from tests.lab.cluster import Cluster
from tests.lab.reader import consumer
from tests.merge.test_unclean import SETTINGS, played, until_led_by
from tests.real.conftest import need_kafka
from tests.seeds import some_of

pytestmark = pytest.mark.broker


class Story:
    """A cluster as it was killed: broker 2 has 30 records that broker 3, elected since, never saw."""

    def __init__(self, cluster: Cluster, root: Path) -> None:
        self.cluster, self.root = cluster, root
        copy_tree(cluster.root, root / "saved")

    def again(self) -> None:
        """As the brokers, and their ZooKeeper, were killed."""
        copy_tree(self.root / "saved", self.cluster.root)

    def dirs(self, node: int) -> list[Path]:
        return sorted((self.root / "live" / f"b{node}").glob("d[0-9]"))

    def merge(self, node: int, other: int, *options: object) -> str:
        """Plan and apply for one replica; what the plan said."""
        side, file = self.root / f"side-{node}", self.root / f"plan-{node}.json"
        side.mkdir()
        (source,) = (path for log_dir in self.dirs(other) for path in log_dir.glob("div-0"))
        where = ("--partition", "div-0", "--from", source, "--side", side, "-o", file)
        planned = run("plan", "merge", *self.dirs(node), *where, *options, code=0)
        run("apply", file, "--yes", "--state-dir", self.root / f"state-{node}", code=1)
        return planned.out

    def started(self) -> list[object]:
        """Broker 3 leads, broker 2 follows it and cuts nothing; what a consumer gets."""
        one, two, three = self.cluster.brokers
        if self.cluster.zookeeper:
            self.cluster.zookeeper.start()
            self.cluster.zookeeper.until_forgotten()
        for broker in (one, three):  # with broker 2 among them, it may be elected uncleanly
            broker.launch()
        three.wait_ready()
        until_led_by(self.cluster, 3)
        two.launch()
        until_all(self.cluster.bootstrap, lambda now: set(now.isrs) == {2, 3}, ["div"])
        reader = consumer(self.cluster.bootstrap, "read_uncommitted")
        rows = consume(reader, [TopicPartition("div", 0)])["div-0"]
        reader.close()
        return [row["value"] for row in rows]

    def ended(self, end: int) -> None:
        """Killed, the two have the same, and no follower was cut below the end that the plan told."""
        self.cluster.kill()
        two = self.cluster.brokers[1]
        cuts = re.findall(r"partition=div-0.*[Tt]runcating to offset (\d+)", "\n".join(two.lines()))
        assert all(int(each) >= end for each in cuts), cuts
        both = [path for node in (2, 3) for path in self.dirs(node)]
        found = run("diff", *both, "--topic", "div", "--json")
        (partition,) = found.of("partition")
        assert (found.code, partition["verdict"], partition["next_offset"]) == (0, "equal", end)


def values(*told: tuple[str, int]) -> list[object]:
    return [
        text(record.value) for name, batches in told for batch in events(name, batches, 5) for record in batch
    ]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", some_of(["4.3.1", "3.9.2", "2.8.2", "1.1.0"], 4))
def test_the_brokers_serve_the_branch_that_was_chosen(version: str, tmp_path: Path) -> None:
    need_kafka(version)
    with Cluster(version, tmp_path / "live", 3, settings=SETTINGS) as cluster:
        played(cluster)
        cluster.kill()
        story = Story(cluster, tmp_path)
        assert "30 records, offsets 40 to 69" in story.merge(2, 3)
        assert story.started() == values(("both", 8), ("new", 4))
        story.ended(60)
        story.again()
        assert "20 records, offsets 40 to 59" in story.merge(
            3, 2, "--prefer", 2, "--accept-loss", "20-records"
        )
        assert story.started() == values(("both", 8), ("old", 6))
        story.ended(70)
    shown = run("rescue", tmp_path / "side-2", "--out", tmp_path / "out", "--as", "jsonl", "--json")
    assert shown.of("partition")[0]["records"] == 30
