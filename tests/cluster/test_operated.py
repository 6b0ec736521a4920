"""Clusters that operators changed: dirs replaced, backups restored, replicas on their way."""

import re
from pathlib import Path

import pytest

import segmend
from segmend.broker.election import reassigned
from segmend.cluster.leadership import Outage
from segmend.cluster.nodes import sight, start, stopped_in
from segmend.cluster.quorum import quorum
from segmend.cluster.start import ELECTED
from segmend.formats.names import CLUSTER_METADATA
from segmend.frozen import replace
from segmend.loading import Extent, ForecastOptions, PartitionOutcome, Service
from segmend.loading.metadata import metadata_of
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage, PartitionLeader
from segmend.node.older import ahead, told
from segmend.report.cluster import node_lines
from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.golden.unpack import unpack
from tests.lab.quorums.record import HERE

OTHER = "K-Ig_f_ET5iThwrutOYS5w"
EXTENT = Extent(log_start_offset=0, log_end_offset=9, segments=1, bytes=9)
WHOLE = PartitionOutcome(dir="/d", name="t-0", topic="t", partition=0, before=EXTENT, after=EXTENT)


@pytest.fixture
def voters(tmp_path: Path) -> Path:
    """Three nodes whose voters are in the log."""
    unpack(HERE / "4.3.1-dynamic.tar.xz", tmp_path / "voters")
    return tmp_path / "voters"


def with_id(log_dir: Path, directory_id: str) -> None:
    path = log_dir / "meta.properties"
    path.write_text(re.sub(r"directory\.id=.*", f"directory.id={directory_id}", path.read_text()))


def node(root: Path, number: int, config: ServerConfig | None = None) -> BrokerDirs:
    return BrokerDirs([segmend.open(root / f"b{number}/d0")], given=config)


def test_a_voter_in_another_dir_has_no_vote(voters: Path) -> None:
    """4.3.1 waited for ever where two of three were up, one of them in a dir of another id."""
    with_id(voters / "b1/d0", OTHER)
    sights = {number: sight(node(voters, number)) for number in (1, 2, 3)}
    assert quorum((1, 2, 3), sights, {}).leaders_possible == (2,)
    found = quorum((1, 2, 3), sights, {3: "left out"}, joined=[1])
    assert (found.comes_up, found.voters_up) == (False, [2])
    assert OTHER in (found.voters[0].reason or "")


def test_of_a_dir_whose_identity_nobody_can_read_no_lost_vote_is_told(voters: Path) -> None:
    (voters / "b1/d0/meta.properties").unlink()
    assert node(voters, 1).lost_vote is None


def test_the_voters_of_the_log_win_over_those_of_the_configuration(voters: Path, tmp_path: Path) -> None:
    """`KRaftControlRecordStateMachine.lastVoterSet`: the others are for clusters without any in the log."""
    config = tmp_path / "server.properties"
    config.write_text("controller.quorum.voters=1@a:1,9@b:1\n")
    assert node(voters, 1, ServerConfig.load(str(config))).voters == {1, 2, 3}


@pytest.mark.parametrize(("voters_left", "waits"), [((1,), True), ((1, 2), True), ((1, 2, 3), False)])
def test_a_node_waits_where_the_others_are_no_majority(
    voters: Path, voters_left: tuple[int, ...], waits: bool
) -> None:
    with_id(voters / "b1/d0", OTHER)
    broker = node(voters, 1)
    log = broker.own_metadata_log
    assert log is not None
    log.image.voters = {each: log.image.voters[each] for each in voters_left}
    assert (metadata_of(broker, whole=True).waits is not None) == waits


@pytest.mark.slow
def test_a_lone_voter_in_another_dir_waits_for_ever(tmp_path: Path) -> None:
    copy_tree(golden("4.3.1-killed"), tmp_path / "node")
    dirs = sorted((tmp_path / "node").glob("b1/d*"))
    assert run("forecast", *dirs, "--json").json[-1]["outcome"] == "starts"
    with_id(next(each for each in dirs if (each / CLUSTER_METADATA).is_dir()), OTHER)
    ran = run("forecast", *dirs, "--json")
    assert (ran.code, ran.json[-1]["outcome"]) == (4, "refuses")
    assert "waits for a leader that cannot be elected: voter 1 is the one whose" in ran.json[-1]["reason"]


@pytest.mark.slow
def test_metadata_older_than_a_log_is_no_all_clear(tmp_path: Path) -> None:
    """As where the disks of two of three voters were restored from a backup."""
    copy_tree(golden("4.3.1-fleet"), fleet := tmp_path / "fleet")
    log = next(fleet.glob("b3/d*/orders-0"))
    (log / "leader-epoch-checkpoint").write_text("0\n1\n900 0\n")
    ran = run("forecast", "--cluster", *sorted(fleet.glob("b*/d*")), "--json", code=4)
    assert any("orders-0 had leaders that it does not know" in each for each in ran.json[-1]["unknown"])


def test_logs_of_epochs_that_the_metadata_does_not_know_are_ahead() -> None:
    image = MetadataImage(names={"id": "t"}, leaders={("id", 0): PartitionLeader(epoch=3)})
    image.leaders["id", 1] = PartitionLeader(epoch=4)
    found = ahead({("t", 0): 4, ("t", 1): 4, ("gone", 0): 9}, image)
    assert found == {("t", 0)}
    assert [each[:19] for each in told(ELECTED, found)] == ["what the metadata l"]


@pytest.mark.parametrize(
    ("removing", "serving", "found"),
    [
        ((), (1, 2, 3), (1, 2, 3)),
        ((1, 2), (1, 2, 3), (3,)),
        ((1, 2), (1, 2), (1, 2, 3)),
        ((1,), (1, 3), (1, 2, 3)),
    ],
    ids=["none", "moves", "waits for the new one", "waits for one that stays"],
)
def test_a_reassignment_is_done_when_all_that_stay_are_in_sync(
    removing: tuple[int, ...], serving: tuple[int, ...], found: tuple[int, ...]
) -> None:
    """As 3.9.2 left `moving-0` with nodes 1 and 3 in sync while node 2 was away."""
    assert reassigned((1, 2, 3), removing, serving) == found


@pytest.mark.parametrize(("release", "refuses"), [("3.6", True), ("3.7", False)])
def test_who_gets_a_partition_in_the_end_leads_and_is_counted(release: str, refuses: bool) -> None:
    """As 3.9.2 went on with `moving-1`: node 3 alone had it a moment after the start."""
    image = MetadataImage(names={"id": "t"}, ids={"t": "id"}, configs={"t": {"min.insync.replicas": "2"}})
    record = {"replicas": [1, 2], "leader": 1, "leaderEpoch": 0, "isr": [1, 2]}
    image.apply("PARTITION_RECORD", {"topicId": "id", "partitionId": 0, **record})
    change = {"replicas": [3, 1, 2], "addingReplicas": [3], "removingReplicas": [1, 2]}
    image.apply("PARTITION_CHANGE_RECORD", {"topicId": "id", "partitionId": 0, **change})
    seen = Outage(
        release=Release.parse(release), down={}, clean=frozenset(), marks={},
        replicas={("t", 0): {1: WHOLE, 2: WHOLE, 3: WHOLE}},
    )  # fmt: skip
    (line,) = seen.leaderships(image)
    assert (line.leaders_possible, line.to_json()["reassigned_to"]) == ((1, 2), [3])
    assert line.refuses_writes == refuses


def image_of_two(leader: int) -> MetadataImage:
    """One partition of nodes 1 and 2, both in sync."""
    image = MetadataImage(names={"id": "t"}, ids={"t": "id"}, configs={"t": {"min.insync.replicas": "2"}})
    image.replicas["id", 0], image.leaders["id", 0] = (1, 2), PartitionLeader(leader=leader, isr=(1, 2))
    return image


@pytest.mark.parametrize(("controllers", "fate"), [((1,), "led"), ((1, 2), "leaderless")])
def test_an_election_that_only_some_controllers_make_may_not_come(
    controllers: tuple[int, ...], fate: str
) -> None:
    """4.0.1 waited for node 1, which alone was told to elect anybody: node 2 was the controller."""
    lax = {1: {"unclean.leader.election.enable": "true"}, 2: {}}
    seen = Outage(
        release=Release.parse("4.0"), down={1: "left out"}, clean=frozenset(), marks={}, settings=lax,
        replicas={("t", 0): {2: WHOLE}}, controllers=controllers,
    )  # fmt: skip
    (line,) = seen.leaderships(image_of_two(leader=1))
    assert (line.outcome, line.leaders_possible) == (fate, (2,))


@pytest.mark.parametrize(("leader", "perhaps"), [(1, (1,)), (2, ())])
def test_a_node_that_led_in_a_dir_that_fails_may_make_its_replicas_anew(
    leader: int, perhaps: tuple[int, ...]
) -> None:
    """As 4.0.1 and 4.2.0 did, and then took acks=all."""
    away = replace(WHOLE, outcome=Service.OFFLINE, after=Extent())
    seen = Outage(
        release=Release.parse("4.2"), down={}, clean=frozenset(), marks={},
        replicas={("t", 0): {1: away, 2: WHOLE}},
    )  # fmt: skip
    (line,) = seen.leaderships(image_of_two(leader))
    assert (line.perhaps, line.refuses_writes) == (perhaps, True)


def test_a_replica_behind_one_that_failed_may_lead_once_it_is_elected_anew() -> None:
    """As 3.9.2 did where the controller had missed the node before it was back."""
    late = replace(WHOLE, outcome=Service.UNSERVED, after=Extent(), not_reached=True)
    seen = Outage(
        release=Release.parse("3.9"), down={2: "left out"}, clean=frozenset(), marks={},
        replicas={("t", 0): {1: late}},
    )  # fmt: skip
    (line,) = seen.leaderships(image_of_two(leader=1))
    assert (line.outcome, line.leaders_possible) == ("leaderless", (1,))


@pytest.mark.parametrize(
    ("told", "epoch"), [((7, 7), 7), ((7, 6), None), ((7, None), None)], ids=["one", "two", "one killed"]
)
def test_a_node_stopped_cleanly_in_the_epoch_that_all_its_dirs_tell(
    told: tuple[int | None, ...], epoch: int | None, tmp_path: Path
) -> None:
    """4.3.1 left `safe-0` without a leader where the marker of one dir was that of an earlier stop."""
    for number, each in enumerate(told):
        (tmp_path / f"d{number}").mkdir()
        if each is not None:
            text = f'{{"version":0,"brokerEpoch":{each}}}'
            (tmp_path / f"d{number}/.kafka_cleanshutdown").write_text(text)
    broker = BrokerDirs([segmend.open(each) for each in sorted(tmp_path.iterdir())])
    assert stopped_in(broker) == epoch


def test_what_retention_deletes_after_the_starts_is_told(voters: Path) -> None:
    """A lone node's forecast said it, the cluster's "loses nothing"."""
    broker = BrokerDirs([segmend.open(voters / "b1/d0")])
    options = ForecastOptions(now_ms=4_000_000_000_000)
    outcome = start(1, broker, None, options).outcome
    assert outcome.to_json()["deleted_later"] == outcome.deleted > 0
    assert "records deleted within minutes after it" in next(node_lines([outcome]))
