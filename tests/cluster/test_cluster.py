"""The forecast of a cluster as a user runs it, over three nodes of a real one, and its rules one by one."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import segmend
from segmend.broker.election import Leaves, electable, may_wait, possible_leaders
from segmend.cluster.leadership import Outage
from segmend.cluster.nodes import Sight
from segmend.cluster.order import start_order
from segmend.cluster.quorum import fetched_again, quorum
from segmend.cluster.values import ClusterOutcome, Leadership, Prospect, ReplicaCopy
from segmend.formats.control import LeaderChange, Voter
from segmend.formats.quorum_state import QuorumState
from segmend.loading import Effect, Extent, PartitionOutcome, Service
from segmend.loading.replicas import EMPTY
from segmend.logdir.release import Release
from segmend.node.metadata_copy import Election
from segmend.node.metadata_image import MetadataImage, PartitionLeader
from segmend.node.voter_files import VoterFiles
from tests.cli.run import run
from tests.cluster.two import one_of_two
from tests.copies import copy_tree
from tests.faults.hands import flipped, positions
from tests.faults.on_disk import flip, keep_lines, lengthen
from tests.golden.shared import golden
from tests.golden.unpack import unpack
from tests.lab.elections import HERE


@pytest.fixture
def dirs() -> list[Path]:
    """Node 3 ended last but for its ISR: it alone is in sync in 25 of 30 partitions."""
    return sorted(golden("4.3.1-fleet").glob("b*/d*"))


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A copy that may be hurt."""
    copy_tree(golden("4.3.1-fleet"), copy := tmp_path / "fleet")
    return copy


def dirs_of(fleet: Path) -> list[Path]:
    return sorted(fleet.glob("b*/d*"))


def test_the_whole_cluster_comes_up(dirs: list[Path]) -> None:
    ran = run("forecast", "--cluster", *dirs, "--json", code=0)
    assert [(line["node_id"], line["outcome"]) for line in ran.of("broker")] == [
        (1, "starts"),
        (2, "starts"),
        (3, "starts"),
    ]
    (quorum,) = ran.of("quorum")
    assert quorum["voters_up"] == [1, 2, 3]
    assert (quorum["committed_offset"], quorum["leaders_possible"]) == (630, [2, 1])
    assert {line["outcome"] for line in ran.of("partition")} == {"led"}
    assert ran.json[-1]["type"] == "cluster"
    assert "nothing lost" in run("forecast", "--cluster", *dirs).out


def test_only_some_nodes_come_up(dirs: list[Path]) -> None:
    ran = run("forecast", "--cluster", *dirs, "--only", "1,2", "--json", code=4)
    assert ran.json[-1]["fates"]["leaderless"] == 25
    assert all(
        line["in_sync_complete"] == [] for line in ran.of("partition") if line["outcome"] == "leaderless"
    )
    one = run("forecast", "--cluster", *dirs, "--only", "3", "--json")
    assert one.of("quorum")[0]["reason"] == "1 of 3 voters come up, 2 are needed"
    assert {line["outcome"] for line in one.of("partition")} == {"leaderless"}


def test_a_node_whose_dirs_are_not_given_is_not_known(dirs: list[Path]) -> None:
    ran = run("forecast", "--cluster", *dirs[2:], "--json", code=4)
    assert ran.json[-1]["unknown"] == ["node 1: its log dirs were not given"]


@pytest.mark.slow
def test_an_empty_replica_that_can_lead_is_a_risk_and_comes_last(fleet: Path) -> None:
    shutil.rmtree(next(fleet.glob("b3/d*/orders-0")))
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json")
    (line,) = [each for each in ran.of("partition") if (each["topic"], each["partition"]) == ("orders", 0)]
    assert (line["outcome"], line["leaders_possible"], line["records_at_risk"]) == ("loses", [3], 880)
    assert ran.code == 4


@pytest.mark.slow
def test_the_next_command_completes_the_copy_that_can_lead(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(next(fleet.glob("b3/d*/orders-0")))
    monkeypatch.chdir(fleet.parent)
    monkeypatch.setenv("XDG_STATE_HOME", str(fleet.parent / "state"))
    told = run("forecast", "--cluster", *dirs_of(fleet)).out.partition("orders-0: lose records")[2]
    command = re.search(r"^  next: segmend (plan graft .*)$", told, re.M)
    assert command is not None
    assert run(*shlex.split(command[1])).code == 0
    assert run("apply", "--yes", "plan.json").code in (1, 5)
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json")
    (line,) = [each for each in ran.of("partition") if (each["topic"], each["partition"]) == ("orders", 0)]
    assert (line["outcome"], line["in_sync_complete"], line["records_at_risk"]) == ("led", [3], 0)


@pytest.mark.slow
def test_what_a_reader_cannot_get_of_the_only_leader_is_a_loss(fleet: Path) -> None:
    """No offset is missing and no record counted: the batch is there, and nobody can read it."""
    log = min(next(fleet.glob("b3/d*/orders-0")).glob("*.log"))
    flip(log, 100)
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json")
    (line,) = [each for each in ran.of("partition") if (each["topic"], each["partition"]) == ("orders", 0)]
    assert (line["outcome"], line["leaders_possible"], line["in_sync_complete"]) == ("loses", [3], [])
    assert (ran.code, ran.json[-1]["nodes_whole"]) == (4, False)


@pytest.mark.slow
def test_a_majority_without_metadata_may_elect_one_of_them(fleet: Path) -> None:
    for node in "b1", "b2":
        shutil.rmtree(next(fleet.glob(f"{node}/d*/__cluster_metadata-0")))
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json", code=4)
    assert sorted(ran.of("quorum")[0]["leaders_possible"]) == [1, 2, 3]
    assert [each for each in ran.json[-1]["unknown"] if "voter 1" in each and "stray" in each]


@pytest.mark.slow
def test_where_only_voters_without_metadata_come_up_every_topic_is_a_stray(fleet: Path) -> None:
    """As 4.3.1 did, whose lone controller had lost its log."""
    for node in "b1", "b2":
        shutil.rmtree(next(fleet.glob(f"{node}/d*/__cluster_metadata-0")))
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--only", "1,2", "--json")
    assert [line["lost"]["partitions"] > 0 for line in ran.of("broker")] == [True, True]
    assert ran.code == 4
    assert {line["topic"] for line in ran.of("partition")} >= {"__consumer_offsets"}
    assert {line["outcome"] for line in ran.of("partition")} == {"leaderless"}
    assert all("a stray on every node then" in line["reason"] for line in ran.of("partition"))


@pytest.mark.slow
@pytest.mark.parametrize(("cut", "lost"), [("3", []), ("123", [2, 1, 2])])
def test_what_is_cut_off_a_copy_of_the_metadata_is_fetched_again_from_one_that_has_it(
    cut: str, lost: list[int], fleet: Path
) -> None:
    """Of two sound copies of three one is elected; where none is, nobody has what went."""
    for node in cut:
        (log,) = fleet.glob(f"b{node}/d*/__cluster_metadata-0/*.log")
        data = log.read_bytes()
        log.write_bytes(flipped(len(positions(data)) - 2)(data))
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json")
    counted = [line["metadata_records_lost"] for line in ran.of("broker")]
    assert [each for each in counted if each] == lost
    assert (ran.code, ran.json[-1]["nodes_whole"]) == ((4, False) if lost else (0, True))
    told = run("forecast", "--cluster", *dirs_of(fleet)).out
    assert told.count("of the cluster's metadata lost; ") == len(lost)
    assert ("nothing lost: 30 partitions" in told) == (not lost)


@pytest.mark.slow
def test_the_user_counts(fleet: Path) -> None:
    other = ("--as-user", str(os.getuid() + 4711))
    ran = run("forecast", "--cluster", *dirs_of(fleet), *other, "--json")
    assert {line["outcome"] for line in ran.of("broker")} == {"refuses"}
    assert ran.code == 4


def settings(tmp_path: Path, node: str, **rows: str) -> Path:
    """A server.properties; a node id is in it if one is given."""
    path = tmp_path / f"{node or 'nobody'}.properties"
    told = {"node.id": node, **rows} if node else rows
    path.write_text("".join(f"{name.replace('_', '.')}={value}\n" for name, value in told.items()))
    return path


@pytest.fixture
def without_elr(tmp_path: Path) -> list[Path]:
    """Three killed nodes of 3.9.2: with KIP-966 the cluster has the setting, not server.properties."""
    return sorted(unpack(HERE / "3.9.2-killed.tar.xz", tmp_path / "nodes").glob("b*/d*"))


def test_each_node_has_its_own_settings(without_elr: list[Path], tmp_path: Path) -> None:
    """By the node.id in the file, or as NODE=FILE."""
    strict, first = settings(tmp_path, "", min_insync_replicas="3"), settings(tmp_path, "1")
    command = ("forecast", "--cluster", *without_elr)
    ran = run(*command, "--config", first, "--config", f"2={strict}", "--json")
    led = {line["topic"]: line for line in ran.of("partition") if 2 in line["leaders_possible"]}
    assert {name: led[name]["min_insync_replicas"] for name in ("full", "safe")} == {"full": 3, "safe": 2}
    for wrong in ([strict], [settings(tmp_path, "9")], [first, f"1={strict}"]):
        given = [word for each in wrong for word in ("--config", each)]
        assert run(*command, *given).code == 16


@pytest.mark.slow
def test_a_dir_is_whose_log_dirs_has_it(fleet: Path) -> None:
    """A disk of node 2 in the place of one of node 1: node 1 refuses it, node 2 does not mind."""
    shutil.rmtree(fleet / "b1/d0")
    shutil.copytree(fleet / "b2/d0", fleet / "b1/d0")
    given = []
    for node in (1, 2, 3):
        config = fleet / f"b{node}.properties"
        config.write_text(
            f"node.id={node}\nlog.dirs={','.join(map(str, sorted(fleet.glob(f'b{node}/d*'))))}\n"
        )
        given += ["--config", config]
    ran = run("forecast", "--cluster", *dirs_of(fleet), *given, "--json")
    assert [line["outcome"] for line in ran.of("broker")] == ["refuses", "starts", "starts"]


def test_without_a_quorum_a_node_waits(fleet: Path) -> None:
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--only", "1", "--json")
    assert [line["reason"] for line in ran.of("broker")] == [
        "the metadata quorum does not come up; after a minute: Shutting down because we were unable to "
        "register with the controller quorum."
    ]
    assert "waits: " in run("forecast", "--cluster", *dirs_of(fleet), "--only", "1").out


def test_a_partition_that_refuses_writes_is_told(without_elr: list[Path], tmp_path: Path) -> None:
    """As 4.3.1 did ("Not enough in-sync replicas"): two of three came up, and acks=all needs three."""
    strict = settings(tmp_path, "", min_insync_replicas="3")
    given = [word for node in (1, 2, 3) for word in ("--config", f"{node}={strict}")]
    command = ("forecast", "--cluster", *without_elr, *given)
    ran = run(*command, "--only", "1,2", "--json")
    refusing = {line["topic"] for line in ran.of("partition") if line["refuses_acks_all"]}
    assert {"full", "any"} <= refusing
    assert "safe" not in refusing, "two are enough for it, by its own setting"
    assert ran.json[-1]["refuse_acks_all"] >= 6
    assert ran.code == 4
    said = run(*command, "--only", "1,2").out
    assert "refuses writes with acks=all: 2 in-sync replicas of 3" in said
    assert "consumers get nothing above its high watermark until then" in said
    assert run(*command, "--json").json[-1]["refuse_acks_all"] == 0


def test_the_controllers_settings_let_anybody_lead(dirs: list[Path], tmp_path: Path) -> None:
    unclean = settings(tmp_path, "", unclean_leader_election_enable="true")
    given = [word for node in (1, 2) for word in ("--config", f"{node}={unclean}")]
    ran = run("forecast", "--cluster", *dirs, *given, "--only", "1,2", "--json")
    assert ran.json[-1]["fates"]["leaderless"] == 0


@pytest.mark.parametrize(("release", "needed"), [("3.6", 5), ("3.7", 3)])
def test_more_in_sync_than_replicas_are_not_asked_for_since_3_7(release: str, needed: int) -> None:
    image = MetadataImage(configs={"t": {"min.insync.replicas": "5"}})
    seen = Outage(release=Release.parse(release), down={}, clean=frozenset(), replicas={}, marks={})
    assert seen._min_insync(image, "t", (1,), 3) == needed


@pytest.mark.parametrize(("able", "needed"), [((1,), 5), ((3,), 3), ((1, 3), 5)])
def test_among_releases_the_strictest_of_those_that_can_lead_counts(
    able: tuple[int, ...], needed: int
) -> None:
    image = MetadataImage(configs={"t": {"min.insync.replicas": "5"}})
    old, new = Release.parse("3.6"), Release.parse("3.7")
    seen = Outage(release=new, releases={1: old, 3: new}, down={}, clean=frozenset(), replicas={}, marks={})
    assert seen._min_insync(image, "t", able, 3) == needed


@pytest.mark.slow
def test_a_dir_that_cannot_be_looked_at_is_named(fleet: Path) -> None:
    shutil.rmtree(fleet / "b1" / "d1")
    (fleet / "b1" / "d1").write_text("")
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json", code=4)
    assert [each for each in ran.json[-1]["unknown"] if each.startswith(str(fleet / "b1" / "d1"))]


@pytest.mark.slow
def test_a_torn_end_that_a_sound_copy_does_not_miss_is_none(fleet: Path) -> None:
    """Half a batch behind the last whole one, on a node that was killed: as at most kills."""
    log = max(next(fleet.glob("b3/d*/__transaction_state-1")).glob("*.log"))
    lengthen(log, b"\0" * 11)
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json")
    name = ("__transaction_state", 1)
    (line,) = [each for each in ran.of("partition") if (each["topic"], each["partition"]) == name]
    assert (line["outcome"], sorted(line["in_sync_complete"])) == ("led", [1, 3])
    assert (ran.code, ran.json[-1]["nodes_whole"]) == (4, False)


@pytest.mark.parametrize(
    ("there", "told"), [((), "unknown"), ((3,), "unknown"), ((2,), "led"), ((2, 3), "led")], ids=str
)
def test_replicas_made_anew_that_nobody_tells_of_are_not_known(there: tuple[int, ...], told: str) -> None:
    """Each node alone says that another one may have them."""
    says, new = "Created log", Extent(log_start_offset=0, log_end_offset=0, segments=0, bytes=0)
    made = PartitionOutcome(
        dir="/d", name="t-0", topic="t", partition=0, before=new, after=EMPTY,
        effects=(Effect(effect="log-recreated-empty", file="t-0", offset=0, broker_says=says),),
        outcome=Service.EMPTY, reason=says,
    )  # fmt: skip
    whole = replace(made, before=EMPTY, effects=(), outcome=Service.SERVED, reason=None)
    seen = Outage(
        release=Release.parse("4.3"), down={}, clean=frozenset((1, 2)), marks={("t", 0): 0},
        replicas={("t", 0): {node: whole if node in there else made for node in (1, 2, 3)}},
    )  # fmt: skip
    image = MetadataImage()
    image.names["id"] = "t"
    image.replicas["id", 0] = (1, 2, 3)
    image.leaders["id", 0] = PartitionLeader(leader=1, epoch=0, isr=(1, 2))
    (line,) = seen.leaderships(image)
    assert (line.outcome, line.in_sync_complete) == (told, (1, 2) if told == "led" else ())


@pytest.mark.slow
def test_a_partition_that_is_gone_from_all_nodes_is_no_all_clear(fleet: Path) -> None:
    """With its lines in the checkpoints, as a disk that is lost takes them."""
    for folder in fleet.glob("b*/d*/orders-0"):
        shutil.rmtree(folder)
        for path in folder.parent.glob("*-offset-checkpoint"):
            keep_lines(path, lambda row: not row.startswith("orders 0 "))
    ran = run("forecast", "--cluster", *dirs_of(fleet), code=4)
    assert "orders-0: not known" in ran.out


@pytest.mark.slow
def test_from_python(dirs: list[Path]) -> None:
    for only, good in ((None, True), ([2, 3], False)):
        *_, last = segmend.forecast_cluster(*map(segmend.open, map(str, dirs)), only=only)
        assert isinstance(last, ClusterOutcome)
        assert last.nothing_lost is good


def test_a_fleet_gives_the_same_lines() -> None:
    root = golden("4.3.1-fleet")
    one = run("forecast", "--cluster", *sorted(root.glob("b*/d*")), "--only", "1,2", "--json")
    other = run("fleet", "forecast", root, "--only", "1,2", "--driver", "local", "--json")
    assert one.code == other.code == 4
    assert one.json[2:] == other.json[2:]
    assert [line["unserved"] for line in one.of("broker")] == [
        line["unserved"] for line in other.of("broker")
    ]


def test_where_no_metadata_log_is_nobody_is_sent_to_a_zookeeper(fleet: Path) -> None:
    for folder in fleet.glob("b*/d*/__cluster_metadata-0"):
        shutil.rmtree(folder)
    ran = run("forecast", "--cluster", *dirs_of(fleet), code=4)
    assert "give the dirs of the controllers, too" in ran.out
    assert "--zookeeper" not in ran.out


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_a_dir_that_names_nobody_is_of_the_node_beside_whose_it_lies(how: str, fleet: Path) -> None:
    """`fleet forecast` said that node 2 refuses, `forecast --cluster` that it starts without the dir."""
    (fleet / "b1/d1").rename(fleet / "b2/d9")
    meta = fleet / "b2/d9/meta.properties"
    meta.unlink() if how == "gone" else meta.write_text(meta.read_text().partition("node.id")[0])
    one = run("forecast", "--cluster", *dirs_of(fleet), "--json", code=4)
    other = run("fleet", "forecast", fleet, "--driver", "local", "--json", code=4)
    told = [(line["node_id"], line["outcome"], line["reason"]) for line in one.of("broker")]
    assert told == [(line["node_id"], line["outcome"], line["reason"]) for line in other.of("broker")]
    assert [outcome for _, outcome, _ in told] == ["starts", "refuses", "starts"]


def test_a_dir_of_another_cluster_is_named_beside_the_answer(fleet: Path) -> None:
    other = golden("4.3.1-clean") / "b1/d0"
    ran = run("forecast", "--cluster", other, *dirs_of(fleet), "--json", code=4)
    alone = run("forecast", "--cluster", *dirs_of(fleet), "--json")
    assert ran.of("broker") == alone.of("broker")
    (told,) = [each for each in ran.json[-1]["unknown"] if "it is of cluster" in each]
    assert told.startswith(f"{other}: ")


def test_a_node_refuses_beside_whose_dirs_one_of_another_cluster_lies(fleet: Path) -> None:
    copy_tree(golden("4.3.1-clean") / "b1/d0", fleet / "b2/d9")
    ran = run("forecast", "--cluster", *dirs_of(fleet), "--json", code=4)
    assert [line["outcome"] for line in ran.of("broker")] == ["starts", "refuses", "starts"]


@pytest.mark.slow
def test_an_empty_cluster_id_is_none(fleet: Path) -> None:
    dirs = dirs_of(fleet)
    meta = dirs[-1] / "meta.properties"
    meta.write_text(re.sub(r"(?m)^cluster\.id=.*$", "cluster.id=", meta.read_text()))
    ran = run("forecast", "--cluster", *dirs)
    assert (ran.code, "clusters" in ran.err) == (4, False)


@pytest.mark.parametrize("only", ["4", "one", "1,,2"])
def test_only_takes_nodes_that_were_given(dirs: list[Path], only: str) -> None:
    assert run("forecast", "--cluster", *dirs, "--only", only).code == 16


@pytest.mark.slow
def test_zookeeper_keeps_who_is_in_sync() -> None:
    ran = run("forecast", "--cluster", *sorted(golden("2.8.2-clean").glob("b*/d*")), "--json", code=4)
    assert {line["leaders_possible"] for line in ran.of("partition")} == {None}
    assert (ran.of("quorum")[0]["outcome"], ran.of("quorum")[0]["reason"]) == ("unknown", None)
    assert "ZooKeeper" in ran.json[-1]["unknown"][0]


def test_who_wins_an_election() -> None:
    logs = {1: (2, 630), 2: (3, 631), 3: (2, 525)}
    assert electable(logs, dict.fromkeys(logs, (1, 2, 3))) == [2, 1]
    assert electable(logs, dict.fromkeys(logs, (1, 2, 3, 4, 5))) == [2]
    assert electable(logs, dict.fromkeys((1, 2), (1, 2, 3, 4, 5))) == []
    assert electable({1: (0, 0), 2: (0, 0), 3: (3, 9)}, dict.fromkeys((1, 2, 3), (1, 2, 3))) == [3, 1, 2]


def test_each_asks_the_voters_of_its_own_log() -> None:
    """As 4.3.1 did where two nodes had logs from before the third removed one of them."""
    old, new = (1, 2, 3), (1, 2)
    assert electable({2: (1, 120), 3: (1, 120)}, {2: old, 3: old}) == [2, 3]
    assert electable({2: (1, 201), 3: (1, 120)}, {2: new, 3: old}) == []
    assert electable({1: (1, 207), 3: (1, 120)}, {1: new, 3: old}) == []
    assert electable({1: (1, 207), 2: (1, 201), 3: (1, 120)}, {1: new, 2: new, 3: old}) == [1]


def test_one_that_stays_away_knows_of_newer_voters_in_vain() -> None:
    logs = {1: ((1, 207), (1, 2)), 2: ((1, 120), (1, 2, 3)), 3: ((1, 120), (1, 2, 3))}
    sights = {node: Sight(position=log, voters=voters) for node, (log, voters) in logs.items()}
    assert quorum((1, 2, 3), sights, {1: "left out"}).leaders_possible == (2, 3)
    assert quorum((1, 2), sights, {}).leaders_possible == (1, 2, 3)


def test_who_can_lead() -> None:
    assert possible_leaders([1, 2], [2, 3]) == (2,)
    assert possible_leaders([1], [2, 3]) == ()
    assert possible_leaders([1], [2, 3], unclean_election=[1, 2, 3]) == (2, 3)
    assert possible_leaders([1], [1, 2], unclean_election=[1, 2, 3]) == (1, 2)
    assert may_wait([1, 2], [2], [], Leaves.KILLED)
    assert not may_wait([1, 2], [2], [2], Leaves.KILLED)
    assert may_wait([1, 2], [2], [2], Leaves.ANYBODY)
    assert not may_wait([1, 2], [2], [], Leaves.NOBODY)
    assert not may_wait([1, 2], [1, 2], [], Leaves.ANYBODY)


def at_risk(partition: int, whole: list[int], short: list[int]) -> Leadership:
    """A partition that whole and short copies can lead."""
    copies = [
        ReplicaCopy(node_id=node, dir="d", outcome=Service.SERVED, after=Extent(), complete=node in whole)
        for node in (*whole, *short)
    ]
    able = tuple(sorted((*whole, *short)))
    return Leadership(
        topic="t", partition=partition, replicas=able, isr=able, elr=(), leaders_possible=able,
        in_sync_complete=tuple(whole), copies=tuple(copies), outcome=Prospect.AT_RISK,
    )  # fmt: skip


def test_complete_replicas_start_first() -> None:
    assert start_order([1, 2, 3], []) == (((1, 2, 3),), 0)
    assert start_order([1, 2, 3], [at_risk(0, [2, 3], [1])]) == (((2, 3), (1,)), 0)
    steps, helpless = start_order([1, 2], [at_risk(0, [1], [2]), at_risk(1, [2], [1])])
    assert (steps, helpless) == (((1,), (2,)), 1)
    assert start_order([1, 2, 3], [at_risk(0, [2, 3], [1])], (1, 2, 3), 2) == (((2, 3), (1,)), 0)
    alone = start_order([1, 2, 3], [at_risk(0, [1], [2, 3])], (1, 2, 3), 2)
    assert alone == (((1, 2, 3),), 1), "node 1 alone waits for a quorum, and ends"
    waits = replace(at_risk(0, [2, 3], [1]), order_helps=False)
    assert start_order([1, 2, 3], [waits]) == (((1, 2, 3),), 1)


def seen(*epochs: tuple[int, int], end: int, snapshot: int = 0) -> Sight:
    """A metadata log with these leader epochs and their first offsets."""
    return Sight(position=(epochs[-1][0], end), snapshot=snapshot, epochs=epochs)


@pytest.mark.parametrize(
    ("sights", "committed"),
    [
        ([seen((1, 0), end=50), seen((1, 0), end=40), seen((1, 0), end=30)], 40),
        # Node 3 wrote more than the others before it was alone; those that went on without it count.
        ([seen((1, 0), (2, 20), end=30), seen((1, 0), (2, 20), end=28), seen((1, 0), end=90)], 28),
        ([seen((1, 0), (3, 20), end=30), seen((1, 0), (2, 15), end=80), seen((1, 0), end=90)], 20),
        ([seen((4, 70), end=75, snapshot=70), seen((1, 0), (2, 60), end=65), seen((1, 0), end=61)], 70),
        ([seen((4, 70), end=75, snapshot=70), seen((4, 71), end=74, snapshot=71), seen((1, 0), end=9)], 74),
    ],
)
def test_of_the_metadata_what_a_majority_has_of_the_newest_log_is_committed(
    sights: list[Sight], committed: int
) -> None:
    """Epoch first, then offset: a longer log of an older epoch is no majority's (Raft)."""
    found = quorum((1, 2, 3), dict(enumerate(sights, 1)), {})
    assert found.committed == committed
    assert found.leaders_possible == (1, 2), "never the long log of the old epoch"


def test_a_voter_that_ends_over_its_logs_has_voted() -> None:
    """As 4.3.1 did: node 2 won by the vote of node 3, which found a partition twice a moment later."""
    sights = {1: seen((2, 0), end=326), 2: seen((2, 0), end=320), 3: seen((2, 0), end=222)}
    down = {3: "Duplicate log directories for any-0"}
    assert quorum((1, 2, 3), sights, down).leaders_possible == (1,)
    assert quorum((1, 2, 3), sights, down, joined=[3]).leaders_possible == (1, 2)
    assert quorum((1, 2, 3), sights, down | {2: "left out"}, joined=[3]).leaders_possible == ()


@pytest.mark.parametrize(("release", "held"), [("3.6", False), ("3.7", True)])
def test_too_few_in_sync_hold_the_high_watermark_since_3_7(release: str, held: bool) -> None:
    line = one_of_two(release, 1, configs={"t": {"min.insync.replicas": "2"}}, clean=frozenset((1,)))
    assert (line.refuses_writes, line.withholds) == (True, held)


def test_unclean_elections_are_heeded_by_who_can_be_the_controller() -> None:
    image = MetadataImage(configs={"t": {"unclean.leader.election.enable": "true"}})
    old, new = Release.parse("3.7"), Release.parse("3.9")
    seen = Outage(
        release=new, releases={1: old, 3: new}, down={}, clean=frozenset(), replicas={}, marks={},
        controllers=(1,),
    )  # fmt: skip
    assert seen._unclean(image, "t") == [False]
    assert replace(seen, controllers=(1, 3))._unclean(image, "t") == [False, True]


@pytest.mark.parametrize(("release", "able"), [("3.8", ()), ("3.9", (2,))])
def test_kraft_heeds_unclean_elections_since_3_9(release: str, able: tuple[int, ...]) -> None:
    line = one_of_two(release, 2, configs={"t": {"unclean.leader.election.enable": "true"}})
    assert line.leaders_possible == able
    assert line.outcome == (Prospect.LOSES if able else Prospect.LEADERLESS), "it was not in sync"


@pytest.mark.parametrize("release", ["3.7", "3.9", "4.0"])
def test_a_replica_that_may_lead_at_a_loss_is_told_beside_the_wait(release: str) -> None:
    """As 3.7.2 waited where no session outlasted the start, and 3.9.2 did not."""
    line = one_of_two(release, 1, (1, 2), marks={("t", 0): 12})
    assert (line.outcome, line.records_at_risk) == (Prospect.LEADERLESS, 3)
    assert "if it does not: of those that can be elected (node 1), none is known to have" in (
        line.reason or ""
    )


def voter(node: int, epoch: int, votes: Mapping[int, Sequence[int]], end: int = 50) -> Sight:
    """A node whose quorum-state ends at an epoch, and whose log says who voted in others (for the first)."""
    elections = tuple(
        Election(
            epoch=each, offset=each,
            change=LeaderChange(0, ids[0] if ids else 2, (), tuple(Voter(one, None) for one in ids)),
        )
        for each, ids in votes.items()
    )  # fmt: skip
    files = VoterFiles(
        whose=f"node {node}", node_id=node, directory_id=None, elections=elections, end=end,
        state=QuorumState(leader_epoch=epoch),
    )  # fmt: skip
    return Sight(position=(epoch, end), followed=(-1, epoch), files=files)


def test_a_voter_of_an_older_copy_is_known_by_the_votes_that_others_saw() -> None:
    new = voter(2, 7, {3: (2, 3), 7: (2, 1)}, end=90)
    found = quorum((1, 2, 3), {1: voter(1, 4, {}), 2: new, 3: voter(3, 4, {})}, {})
    assert list(found.older) == [1]
    assert "it voted in epoch 7 (for node 2), and its quorum-state ends at epoch 4" in found.older[1]
    assert found.twice == (7, (1, 3)), "both know of none in 7"
    had = {1: (4, 50), 2: (7, 90), 3: (4, 50)}
    assert fetched_again((1, 2, 3), had, (4, 50)), "what one of three has is not committed"
    assert not fetched_again((1, 2, 3), {2: (7, 90), 3: (4, 50)}, (4, 50)), "but the other may have had it"


@pytest.mark.parametrize(
    ("epochs", "down", "twice"),
    [
        ((7, 7, 4), {}, None),
        ((4, 7, 4), {}, (7, (1, 3))),
        ((4, 7, 4), {3: "away"}, None),
        ((4, 7, 7), {}, None),
    ],
)
def test_an_epoch_is_led_twice_where_a_majority_forgot_it(
    epochs: tuple[int, ...], down: dict[int, str], twice: tuple[int, tuple[int, ...]] | None
) -> None:
    """Also where the log does not say who voted: a majority did."""
    sights = {node: voter(node, epoch, {7: ()} if epoch == 7 else {}) for node, epoch in enumerate(epochs, 1)}
    assert quorum((1, 2, 3), sights, down).twice == twice


def test_without_a_majority_of_logs_nothing_is_known_to_be_committed() -> None:
    assert quorum((1, 2, 3), {1: seen((1, 0), end=50)}, {}).committed is None


@pytest.mark.parametrize(
    ("end", "loses", "in_sync", "mark", "said"),
    [
        (28, False, (1, 2), 20, True),
        (28, False, (1, 2), 29, False),
        (28, True, (1, 2), 20, False),
        (28, False, (1,), 20, False),
    ],
    ids=["a little behind", "below the high watermark", "cut by its start", "not in sync"],
)
def test_what_a_replica_in_sync_lacks_was_not_acknowledged(
    end: int, loses: bool, in_sync: tuple[int, ...], mark: int, said: bool
) -> None:
    """Unless a power cut took it: nobody can see that."""
    seen = Outage(
        release=Release.parse("4.3"), down={}, clean=frozenset(), replicas={}, marks={("t", 0): mark}
    )
    after = Extent(log_start_offset=0, log_end_offset=end)
    short = ReplicaCopy(node_id=2, dir="/d", outcome=Service.SERVED, after=after, records_lost=2, loses=loses)
    assert seen._was_not_acknowledged(("t", 0), [short], in_sync) == said


@pytest.mark.slow
def test_a_node_that_forgot_that_it_led(fleet: Path) -> None:
    """4.0.1 and 4.3.1 end over the first answer of another one (`KafkaRaftClient.maybeTransition`)."""
    logs = {int(path.parts[-3][1:]): path for path in fleet.glob("b*/d*/__cluster_metadata-0")}
    states = {node: json.loads((path / "quorum-state").read_text()) for node, path in logs.items()}
    epoch, leader = max((state["leaderEpoch"], state["leaderId"]) for state in states.values())
    dirs = sorted(fleet.glob("b*/d*"))
    words = f"node {leader}: whether it ends: "
    assert words not in run("forecast", "--cluster", *dirs).out
    shutil.rmtree(logs[leader])
    ran = run("forecast", "--cluster", *dirs, "--json")
    told = [each for each in ran.json[-1]["unknown"] if each.startswith(words)]
    assert (ran.code, len(told)) == (4, 1)
    assert f"epoch {epoch}" in told[0]
    (line,) = [each for each in ran.of("broker") if each["node_id"] == leader]
    assert f"node {leader}: {line['unknown'][-1]}" == told[0]
    said = run("forecast", "--cluster", *dirs).out
    assert "starts, no loss seen here, may end then: whether it ends: " in said
    alone = run("forecast", "--cluster", *dirs, "--only", leader, "--json")
    assert not any(words in each for each in alone.json[-1]["unknown"])
