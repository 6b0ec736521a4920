"""Replicas that are to be, and are not among the dirs: what they may have had beyond is in doubt."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.unpack import unpack
from tests.lab.elections import HERE
from tests.merge.test_diff import PLAIN, broker
from tests.merge.test_passed_over import COMMANDS, told

Cluster = Callable[[str], Path]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """The dirs `b*/d*` of three real brokers."""
    return lambda name: unpack(HERE / f"{name}.tar.xz", tmp_path / name)


@pytest.mark.parametrize("command", COMMANDS)
def test_brokers_of_which_no_dir_is_given_are_named(
    command: tuple[str, ...], cluster: Cluster, tmp_path: Path
) -> None:
    """They were in sync, as the one that is here was: it has all that was acknowledged."""
    root = cluster("4.3.1-clean")
    for which, away in (("2", [1, 3]), ("[12]", [3]), ("*", [])):
        dirs = sorted(root.glob(f"b{which}/d*"))
        ran = told(command, tmp_path / f"o{which}", *dirs, code=0)
        assert ran.of("summary")[0]["not_here"] == away
    people = run("diff", *root.glob("b2/d*"))
    assert "not looked at: replicas on broker 1, 3, of which no dir is here" in people.out
    alone = broker(tmp_path, 7, PLAIN)
    assert told(command, tmp_path / "alone", alone, code=0).of("summary")[0]["not_here"] is None
    assert (
        "which brokers are to have replicas is not known" in run("rescue", alone, "--out", tmp_path / "t").out
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_replicas_none_of_which_was_in_sync(
    command: tuple[str, ...], cluster: Cluster, tmp_path: Path
) -> None:
    """Broker 3 went before 30 records more were acknowledged; those that have them lost the partition."""
    root = cluster("4.3.1-behind")
    for gone in root.glob("b[12]/d*/safe-0"):
        shutil.rmtree(gone)
    for each in root.glob("b[12]/d*/*-offset-checkpoint"):
        each.unlink()
    dirs = sorted(root.glob("b*/d*"))
    ran = told((*command, "--topic", "safe"), tmp_path / "o", *dirs, code=4)
    doubts = {line["partition"]: line["doubts"] for line in ran.of("partition")}
    assert doubts[0][0].startswith("by the metadata log only brokers 1, 2 were in sync")
    assert doubts[1] == doubts[2] == []
    assert doubts[0][0] in run("explain", "merge", *dirs, "--topic", "safe", code=4).out


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["replication-offset-checkpoint", "recovery-point-offset-checkpoint"])
def test_a_checkpoint_that_tells_of_more_than_the_replicas_have(
    name: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    """The replica of that dir is gone; nothing else tells how far it went."""
    dirs = [broker(tmp_path, number, PLAIN[:5]) for number in (1, 2)]
    shutil.move(dirs[0] / "t-0", dirs[0] / "other-0")
    for end in (50, 51):
        (dirs[0] / name).write_text(f"0\n1\nt 0 {end}\n")
        code = 4 if end == 51 or "diff" in command else 0
        ran = told((*command, "--topic", "t"), tmp_path / f"o{end}", *dirs, code=code)
        words = [each for line in ran.of("partition") for each in line["doubts"]]
        assert any(f"reach to offset {end}, and no replica is in it" in each for each in words) is (end == 51)


@pytest.mark.parametrize("command", [("rescue",), ("rescue", "--as", "jsonl")])
def test_a_mark_that_may_be_of_an_older_topic_is_no_doubt_of_what_others_have(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """Where a broker began a replica anew on a new disk its old line says something of what nobody has."""
    for count, code in ((10, 0), (5, 4)):
        dirs = [broker(tmp_path / f"{count}", number, PLAIN[:count]) for number in (1, 2)]
        marks = dirs[1] / "replication-offset-checkpoint"
        marks.write_text("0\n1\nt 0 100\n")
        os.utime(marks, (1, 1))
        shutil.rmtree(dirs[1] / "t-0")
        (dirs[1] / "t-0").mkdir()
        (dirs[1] / "t-0" / f"{0:020d}.log").touch()
        ran = told(command, tmp_path / f"o{count}", *dirs, code=code)
        (line,) = ran.of("partition")
        assert ["older than this directory" in each for each in line["doubts"]] == ([True] if code else [])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_that_ends_before_its_recovery_point(command: tuple[str, ...], tmp_path: Path) -> None:
    """The end of all of it was lost, with the line of its high watermark; no disk syncs what it has not."""
    dirs = [broker(tmp_path, number, PLAIN[:5]) for number in (1, 2)]
    for end, code in ((50, 0), (51, 4)):
        (dirs[0] / "recovery-point-offset-checkpoint").write_text(f"0\n1\nt 0 {end}\n")
        ran = told(command, tmp_path / f"o{end}", *dirs, code=code)
        (line,) = ran.of("partition")
        words = (
            f"{dirs[0]}/recovery-point-offset-checkpoint tells of offsets from 50 on, which no log here has"
        )
        assert any(each.startswith(words) for each in line["doubts"]) is bool(code)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_partition_that_is_gone_with_the_metadata(
    command: tuple[str, ...], cluster: Cluster, tmp_path: Path
) -> None:
    """Of a metadata log without its beginning no topic is none: the checkpoints still tell."""
    root = cluster("4.3.1-killed")
    for each in (*root.glob("b*/d*/safe-0"), *root.glob("b*/d*/__cluster_metadata-0/*.log")):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    ran = told((*command, "--topic", "safe"), tmp_path / "o", *sorted(root.glob("b*/d*")), code=4)
    assert "safe-0: its lines in the checkpoints of" in str(ran.of("summary")[0])


def test_a_replica_that_the_checkpoints_of_its_dir_have_and_the_dir_has_not(tmp_path: Path) -> None:
    """With ZooKeeper nothing else tells that its broker is to have one."""
    dirs = [broker(tmp_path, number, PLAIN) for number in (1, 2)]
    shutil.move(dirs[0] / "t-0", dirs[0] / "other-0")
    assert run("diff", *dirs).code == 0
    (dirs[0] / "replication-offset-checkpoint").write_text("0\n1\nt 0 100\n")
    for command in (("diff",), ("fleet", "diff")):
        ran = told(command, tmp_path, *dirs, code=4)
        lines = {line["topic"]: (line["verdict"], line["absent"]) for line in ran.of("partition")}
        assert lines == {"other": ("equal", []), "t": ("behind", [1])}
    assert run("diff", dirs[0] / "other-0", dirs[1] / "t-0").code == 0, "its dir was not given"
    assert run("rescue", *dirs, "--out", tmp_path / "o").code == 0, "the other one has all of it"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_to_the_directory_of_another_partition(command: tuple[str, ...], tmp_path: Path) -> None:
    """Whose name comes first counts for nothing: the other one has no records here, and it is said."""
    dirs = [broker(tmp_path, number, PLAIN) for number in (1, 2)]
    for each in dirs:
        (each / "a-0").symlink_to("t-0")
    ran = told(command, tmp_path / "o", *dirs, code=4)
    assert [line["topic"] for line in ran.of("partition")] == ["t"]
    assert ran.of("summary")[0]["shared"] == [
        f"{each / 'a-0'}: the same directory as {each / 't-0'}" for each in dirs
    ]
    told((*command, "--topic", "t"), tmp_path / "t", *dirs, code=0)
    for each in dirs:
        (each / "a-0").unlink()
        (each / "t-0").rename(each / "elsewhere")
        (each / "t-0").symlink_to("elsewhere")
    told(command, tmp_path / "linked", *dirs, code=0)
