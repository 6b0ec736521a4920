"""The dirs of several brokers, told apart by what lies in them."""

from pathlib import Path

import pytest

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.errors import UsageError
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.shared import golden


def opened(*names: str) -> list[LogDir]:
    return [LogDir.open(str(path)) for name in names for path in sorted(golden(name).glob("b*/d*"))]


def test_each_dir_is_of_the_broker_that_its_disk_names() -> None:
    fleet = FleetDirs(opened("4.3.1-fleet"))
    (cluster,) = fleet.clusters
    assert cluster is fleet.only_cluster
    told = {node: {each.node_id for each in broker.dirs} for node, broker in cluster.brokers.items()}
    assert told == {node: {node} for node in told}
    assert len(told) > 2
    ends = [broker.own_metadata_log for broker in cluster.brokers.values()]
    assert cluster.metadata is not None
    assert cluster.metadata.log.position == max(log.position for log in ends if log is not None)


def test_brokers_of_two_clusters_are_never_one() -> None:
    fleet = FleetDirs(opened("2.8.2-killed", "4.3.1-fleet"))
    old, new = fleet.clusters
    assert (len(old.brokers), len(fleet.known)) == (1, 1)
    assert old.release < new.release == fleet.release
    assert fleet.known[0].cluster is new
    with pytest.raises(UsageError, match="2 clusters"):
        _ = fleet.only_cluster


@pytest.mark.parametrize(
    "command",
    [("forecast", "--cluster"), ("diff",), ("fleet", "forecast", "--driver", "local")],
)
def test_a_dir_that_names_no_cluster_is_a_named_node_s_by_its_id_alone(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """It may be another cluster's, whose replica would stand for one that is gone."""
    node = tmp_path / "node"
    copy_tree(golden("4.3.1-clean") / "b1", node)
    dirs = sorted(path.parent for path in node.glob("*/meta.properties"))
    whole = run(*command, *dirs, "--json")
    identity = dirs[1] / "meta.properties"
    lines = identity.read_text().splitlines(keepends=True)
    identity.write_text("".join(line for line in lines if not line.startswith("cluster.id")))
    apart = run(*command, *dirs, "--json")
    words = f"{dirs[1]}: it names no cluster, and others of node 1 do"
    assert words not in whole.out
    assert words in apart.out
    assert apart.code & 4
    last = {key: value for key, value in apart.json[-1].items() if isinstance(value, list)}
    assert any(words in str(each) for each in last.values())


@pytest.mark.parametrize(
    ("names", "older"), [(("1.1.0-killed", "4.3.1-fleet"), True), (("4.3.1-fleet",), False)]
)
def test_a_rescued_dir_is_written_by_the_rules_of_its_own_cluster(
    names: tuple[str, ...], older: bool, tmp_path: Path
) -> None:
    """Not by those of the newest among the dirs: 1.1.0 knows no partition.metadata."""
    dirs = [each.path for each in opened(*names)]
    home = FleetDirs(map(LogDir.open, dirs)).home(None)
    assert home is not None
    assert (home.release < Release.parse("2.8")) is older
    run("rescue", *dirs, "--topic", "orders*", "--out", tmp_path / "out", "--as", "log-dir")
    assert bool(list(tmp_path.glob("out/orders*/partition.metadata"))) is not older
