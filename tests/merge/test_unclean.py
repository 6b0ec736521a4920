"""An unclean election on a real cluster: diff names where the deposed leader left; the broker cuts there."""

from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]
from tests.cli.run import run
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.lab.admin import admin, until_all, wait_until_known
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster, until_marks_are_written
from tests.lab.errors import LabError
from tests.lab.process import run_tool
from tests.real.conftest import need_kafka
from tests.seeds import SEED, some_of
from tests.waiting import until

from segmend.kernel.batches import iter_batches
from segmend.logdir.disk import FileReader

pytestmark = pytest.mark.broker
VERSIONS = ("4.3.1", *some_of(("3.9.2", "3.3.2", "2.8.2"), 3, SEED))
SETTINGS = {**QUIET, "unclean.leader.election.enable": "true", "broker.session.timeout.ms": "3000"}
ASKED = "3.3.2"
"""With KRaft, and before `election.UNCLEAN_HEEDED`."""
OF_ZOOKEEPER = {"zookeeper.session.timeout.ms": "6000"}


def write(cluster: Cluster, name: str, batches: int) -> None:
    send(producer(cluster.bootstrap), "div", events(name, batches, 5))


def until_led_by(cluster: Cluster, node: int) -> None:
    until_all(cluster.bootstrap, lambda now: now.leader == node, ["div"])


def elect(cluster: Cluster, broker: Broker) -> None:
    """Asked until it leads: for nothing while the controller takes who was killed for alive."""
    asked = ("--election-type", "UNCLEAN", "--topic", "div", "--partition", "0")

    def leader_after_it() -> int:
        with suppress(LabError):
            run_tool(
                cluster.release, broker.root, "kafka.admin.LeaderElectionCommand", "--bootstrap-server",
                broker.bootstrap, *asked,
            )  # fmt: skip
        return admin(cluster.bootstrap).list_topics("div", timeout=20).topics["div"].partitions[0].leader

    until("its election", leader_after_it, 90, lambda leader: leader == broker.seat.node_id, every=1)


def played(cluster: Cluster) -> None:
    """Broker 2 leads alone and takes 30 records that broker 3, elected uncleanly, never saw; it writes 20."""
    cluster.start()
    wait_until_known(cluster.bootstrap, 3)
    client = admin(cluster.bootstrap)
    topic = NewTopic("div", 1, replica_assignment=[[2, 3]], config={"unclean.leader.election.enable": "true"})
    client.create_topics([topic])["div"].result(60)
    one, two, three = cluster.brokers
    write(cluster, "both", 8)
    three.kill()
    until_led_by(cluster, 2)
    write(cluster, "old", 6)
    until_marks_are_written(cluster)
    two.kill()
    three.launch()
    three.wait_ready()
    if cluster.release.version == ASKED:
        elect(cluster, three)
    until_led_by(cluster, 3)
    write(cluster, "new", 4)
    until_marks_are_written(cluster)
    one.kill()
    three.kill()


def epoch_at(offset: int, log_dirs: Path) -> int:
    """Of the batch that begins there, as its header has it."""
    (log,) = log_dirs.glob("d*/div-0/*.log")
    with FileReader(str(log)) as reader:
        return next(
            each.partition_leader_epoch for each in iter_batches(reader) if each.base_offset == offset
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_diff_names_where_the_deposed_leader_left(version: str, tmp_path: Path) -> None:
    need_kafka(version)
    zookeeper = version == "2.8.2"
    settings = SETTINGS | OF_ZOOKEEPER if zookeeper else SETTINGS
    with Cluster(version, tmp_path / "live", 3, settings=settings) as cluster:
        played(cluster)
        dirs = sorted((tmp_path / "live").glob("b*/d*"))
        ran = run("diff", *dirs, "--topic", "div", "--json")
        replicas = {line["broker"]: line for line in ran.of("replica")}
        (partition,) = ran.of("partition")
        assert (ran.code, partition["verdict"], partition["best"]["broker"]) == (4, "diverged", 3)
        # Whether who loses a follower begins an epoch, hangs on the release.
        epoch = epoch_at(40, tmp_path / "live" / "b2")
        assert replicas[2]["diverged_at"] == {"offset": 40, "epoch": epoch}, replicas[2]
        assert [
            (each["first_offset"], each["last_offset"], each["records"]) for each in replicas[2]["diverged"]
        ] == [(40, 69, 30)]
        assert partition["missing"] == []
        assert (partition["next_offset"], partition["leader"]) == (60, None if zookeeper else 3)
        one, two, three = cluster.brokers
        for broker in (one, three):  # with broker 2 among them, it may be elected uncleanly
            broker.launch()
        three.wait_ready()
        until_led_by(cluster, 3)
        two.launch()
        said = two.wait_for(r"partition=div-0.*[Tt]runcating to offset \d+")
        until_all(cluster.bootstrap, lambda now: set(now.isrs) == {2, 3}, ["div"])
        until_marks_are_written(
            cluster
        )  # killed, for of a clean stop of all the last one may take five minutes
    assert said.rpartition("Truncating to offset ")[2].split()[0] == "40"
    assert run("diff", *dirs, "--topic", "div").code == 0
