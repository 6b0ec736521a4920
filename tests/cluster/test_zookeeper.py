"""Clusters with ZooKeeper: what can be said without its files, and with them."""

import shutil
from pathlib import Path

import pytest

import segmend
from segmend.broker.election import may_wait_with_zookeeper
from segmend.cluster.values import ClusterOutcome
from tests.cli.run import run
from tests.cluster.two import one_of_two
from tests.golden.shared import golden
from tests.golden.unpack import unpack
from tests.lab.outages.base import HERE

BASE = "2.8.2-stagger"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Node 3 was killed, then 2, then 1: each with what the one before lacks."""
    root: Path = tmp_path_factory.mktemp("nodes")
    return unpack(HERE / f"{BASE}.tar.xz", root)


@pytest.fixture
def dirs(nodes: Path) -> list[Path]:
    return sorted(nodes.glob("b*/d*"))


def test_without_its_files_nobody_is_said_to_lead(dirs: list[Path]) -> None:
    ran = run("forecast", "--cluster", *dirs, "--json", code=4)
    assert {line["outcome"] for line in ran.of("partition")} == {"unknown"}
    assert "--zookeeper DATADIR" in ran.json[-1]["unknown"][0]
    said = run("forecast", "--cluster", *dirs).out
    assert "nothing lost" not in said
    assert "in sync):" in said
    assert "(not in sync)" not in said


def test_with_them_it_is_known_who_leads(nodes: Path, dirs: list[Path]) -> None:
    given = ["forecast", "--cluster", *dirs, "--zookeeper", nodes / "zookeeper" / "data", "--json"]
    ran = run(*given)
    lines = {f"{line['topic']}-{line['partition']}": line for line in ran.of("partition")}
    assert (lines["full-0"]["outcome"], lines["full-0"]["leaders_possible"]) == ("led", [1])
    assert lines["any-0"]["outcome"] == "at-risk"
    last = ran.json[-1]
    assert (last["start_order"], last["order_cannot_help"], last["unknown"]) == ([[1], [2, 3]], 0, [])


def test_only_some_of_them_come_up(nodes: Path, dirs: list[Path]) -> None:
    given = ["--zookeeper", nodes / "zookeeper" / "data", "--only", "2,3", "--json"]
    ran = run("forecast", "--cluster", *dirs, *given)
    fates = {line["topic"]: line["outcome"] for line in ran.of("partition")}
    assert (fates["full"], fates["any"]) == ("leaderless", "loses")


@pytest.mark.parametrize(("kafka", "fate"), [("1.1.0", "led"), ("2.2.0", "led"), ("2.3.0", "leaderless")])
def test_before_2_3_who_comes_first_takes_nobody_out(tmp_path: Path, kafka: str, fate: str) -> None:
    """Node 3 may be the controller before node 1 is there, the only one of those in sync that comes up.

    1.1.0 kept both in the ISR in each of the recorded outages.
    """
    root = unpack(HERE / "1.1.0-together.tar.xz", tmp_path)
    given = ["--zookeeper", root / "zookeeper" / "data", "--only", "1,3", "--kafka", kafka, "--json"]
    ran = run("forecast", "--cluster", *sorted(root.glob("b*/d*")), *given)
    lines = {f"{line['topic']}-{line['partition']}": line for line in ran.of("partition")}
    assert sorted(lines["pair-0"]["isr"]) == [1, 2]
    assert lines["pair-0"]["outcome"] == fate


@pytest.mark.parametrize("only", [(), ("--only", "2,3")])
def test_a_fleet_gives_the_same_lines(nodes: Path, dirs: list[Path], only: tuple[str, ...]) -> None:
    given = ["--zookeeper", nodes / "zookeeper" / "data", "--json", *only]
    one = run("forecast", "--cluster", *dirs, *given)
    other = run("fleet", "forecast", nodes, "--driver", "local", *given)
    assert (one.code, one.json) == (other.code, other.json)
    assert len(one.of("partition")) > 5


def test_a_fleet_refuses_what_a_cluster_refuses(nodes: Path) -> None:
    data = nodes / "zookeeper" / "data"
    root = golden("4.3.1-fleet")
    one = run("forecast", "--cluster", *sorted(root.glob("b*/d*")), "--zookeeper", data)
    other = run("fleet", "forecast", root, "--driver", "local", "--zookeeper", data)
    assert (one.code, one.err) == (other.code, other.err) == (16, other.err)
    assert "its metadata is on its disks" in other.err


def test_the_same_without_a_process(nodes: Path, dirs: list[Path]) -> None:
    data = str(nodes / "zookeeper" / "data")
    last = list(segmend.forecast_cluster(*map(segmend.open, map(str, dirs)), zookeeper=[data]))[-1]
    assert isinstance(last, ClusterOutcome)
    assert (last.start_order, last.unknown) == (((1,), (2, 3)), ())


def test_a_replica_that_is_gone_from_the_only_one_in_sync_is_a_loss(nodes: Path, tmp_path: Path) -> None:
    """1.1.0 to 3.9 make it anew, empty, and it leads; the others are cut to it."""
    root = Path(shutil.copytree(nodes, tmp_path / "hurt", symlinks=True))
    for folder in (root / "b1").glob("d*/full-0"):
        shutil.rmtree(folder)
    given = ["--zookeeper", root / "zookeeper" / "data", "--json"]
    ran = run("forecast", "--cluster", *sorted(root.glob("b*/d*")), *given)
    (line,) = (each for each in ran.of("partition") if (each["topic"], each["partition"]) == ("full", 0))
    assert (ran.code, line["outcome"], line["leaders_possible"]) == (4, "loses", [1])


def test_a_log_that_zookeeper_knows_nothing_of_is_nobodys(nodes: Path, tmp_path: Path) -> None:
    """As of a topic that was made after the backup of ZooKeeper."""
    root = Path(shutil.copytree(nodes, tmp_path / "hurt", symlinks=True))
    for name in ("ghost-0", "ghost-1"):
        shutil.copytree(next((root / "b1").glob("d*/one-0")), root / "b1" / "d0" / name)
    (root / "b1" / "d0" / "ghost-1" / "partition.metadata").unlink()
    given = ["--zookeeper", root / "zookeeper" / "data", "--only", "1", "--json"]
    ran = run("forecast", "--cluster", *sorted(root.glob("b*/d*")), *given)
    (node,) = ran.of("broker")
    assert (node["unserved"], ran.json[-1]["nodes_whole"]) == (2, False)


def test_the_option_is_for_clusters_with_zookeeper(nodes: Path, dirs: list[Path], tmp_path: Path) -> None:
    data = nodes / "zookeeper" / "data"
    assert run("forecast", dirs[0], "--zookeeper", data).code == 16
    kraft = unpack(HERE / "4.3.1-stagger.tar.xz", tmp_path)
    ran = run("forecast", "--cluster", *kraft.glob("b*/d*"), "--zookeeper", data)
    assert (ran.code, "KRaft" in ran.err) == (16, True)
    assert run("forecast", "--cluster", *dirs, "--zookeeper", dirs[0]).code == 8


def test_who_comes_first_takes_the_others_for_dead() -> None:
    assert may_wait_with_zookeeper([1, 2], [1], live=[1, 3])
    assert not may_wait_with_zookeeper([1, 2], [1], live=[1])
    assert not may_wait_with_zookeeper([1, 2], [1, 2], live=[1, 2, 3])
    assert not may_wait_with_zookeeper([1], [], live=[2])


@pytest.mark.parametrize(("release", "able"), [("0.10.2", (2,)), ("0.11", ()), ("2.8", ())])
def test_unclean_elections_were_the_default_up_to_0_10(release: str, able: tuple[int, ...]) -> None:
    line = one_of_two(release, 2, controllers=(2,), zookeeper=True)
    assert line.leaders_possible == able


@pytest.mark.parametrize(("release", "ends"), [("0.11", True), ("1.1", True), ("2.0", True), ("2.1", False)])
def test_before_2_1_a_follower_ends_over_what_its_leader_lost(
    nodes: Path, tmp_path: Path, release: str, ends: bool
) -> None:
    """Played on 1.0.2 and 1.1.0 (KAFKA-7414)."""
    root = Path(shutil.copytree(nodes, tmp_path / "hurt", symlinks=True))
    for folder in (root / "b1").glob("d*/*-0"):
        if folder.name in ("full-0", "any-0"):
            shutil.rmtree(folder)
    given = ["--zookeeper", root / "zookeeper" / "data", "--only", "1,2", "--kafka", release, "--json"]
    ran = run("forecast", "--cluster", *sorted(root.glob("b*/d*")), *given)
    lines = {f"{line['topic']}-{line['partition']}": line for line in ran.of("partition")}
    words = "node 2 can end then: Exiting because log truncation is not allowed for partition full-0"
    assert (words in lines["full-0"]["reason"]) is ends
    nodes_that_may_end = [line["node_id"] for line in ran.of("broker") if "Exiting" in str(line["unknown"])]
    assert nodes_that_may_end == ([2] if ends else [])
    alone = {name: line["outcome"] for name, line in lines.items() if line["leaders_possible"] == [2]}
    assert set(alone.values()) == {"unknown" if ends else "led"}, "with node 2 all goes that it alone has"
    assert not any(
        "can end then" in (line["reason"] or "") for name, line in lines.items() if name != "full-0"
    )
