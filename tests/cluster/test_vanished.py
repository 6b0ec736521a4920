"""A partition that no dir has any more: nobody may say that all is equal, or that nothing is missing."""

import shutil
from pathlib import Path

import pytest

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.vanished import vanished
from segmend.logdir.log_dir import LogDir
from tests.cli.run import run
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.golden.shared import golden

ALL = ("0.8.2.2-killed", "1.1.0-killed", "2.8.2-killed", "3.9.2-clean", "4.3.1-killed", "4.3.1-fleet")


def taken_from(golden: Path, into: Path, *names: str, checkpoints: bool = True) -> list[Path]:
    """The log dirs of a golden without these partitions."""
    copy_tree(golden, into)
    dirs = sorted(into.glob("b*/d*"))
    for log_dir in dirs:
        for name in names:
            shutil.rmtree(log_dir / name, ignore_errors=True)
        for each in () if checkpoints else log_dir.glob("*-offset-checkpoint"):
            each.write_text("0\n0\n")
    return dirs


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_missed_where_all_is_there(name: str) -> None:
    dirs = [LogDir.open(str(path)) for path in sorted(golden(name).glob("b*/d*"))]
    assert vanished(FleetDirs(dirs)) == {}
    assert [vanished(FleetDirs([each])) for each in dirs] == [{}] * len(dirs), "one dir of several was saved"


@pytest.mark.parametrize("checkpoints", one_in(2, [True, False]))
def test_what_all_brokers_lost_is_no_all_clear(checkpoints: bool, tmp_path: Path) -> None:
    dirs = taken_from(golden("4.3.1-fleet"), tmp_path / "fleet", "orders-0", checkpoints=checkpoints)
    ran = run("diff", *dirs, "--json")
    assert (ran.code, ran.json[-1]["vanished"]) == (4, 1)
    assert ran.json[-1]["notes"][0].startswith("orders-0: ")
    assert "none of these dirs" in run("diff", *dirs).out
    assert run("diff", *dirs, "--topic", "clicks").code == 0
    assert run("diff", *(each / "orders-3" for each in dirs if (each / "orders-3").exists())).code == 0
    for again in range(2):
        ran = run("rescue", *dirs, "--topic", "o*", "--as", "jsonl", "--out", tmp_path / "out", "--json")
        gone = ran.json[-1]["vanished"]
        assert (ran.code, [(each["topic"], each["partition"]) for each in gone]) == (4, [("orders", 0)]), (
            again
        )
    assert "orders-0: " in (tmp_path / "out" / "_rescue.txt").read_text()
    ran = run("export", *dirs, "--topic", "o*", "--out", tmp_path / "table", "--json")
    assert (ran.code, len(ran.json[-1]["vanished"])) == (4, 1)


def test_lines_of_the_checkpoints_where_no_metadata_tells(tmp_path: Path) -> None:
    dirs = taken_from(golden("1.1.0-killed"), tmp_path / "one", "codec-gzip-0")
    found = vanished(FleetDirs(LogDir.open(str(path)) for path in dirs))
    assert list(found) == [("codec-gzip", 0)]
    assert "reach to offset" in found["codec-gzip", 0]


def test_what_came_since_the_dirs_were_listed_is_not_gone(tmp_path: Path) -> None:
    """Beside a running broker: the metadata is read after the names, and has topics that came meanwhile."""
    whole = golden("4.3.1-fleet")
    paths = taken_from(whole, tmp_path / "fleet", "orders-0")
    listed = [LogDir.open(str(path)) for path in paths]
    assert {key for log_dir in listed for key in log_dir.recovery_points} > {("orders", 0)}
    (from_dir,) = sorted(whole.glob("b1/d*/orders-0"))
    copy_tree(from_dir, tmp_path / "fleet" / from_dir.relative_to(whole))
    assert vanished(FleetDirs(listed)) == {}
