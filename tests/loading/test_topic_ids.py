"""Topic ids that contradict each other under ZooKeeper: a 3.9.2 served no replica whose file was swapped.

NOT_LEADER_OR_FOLLOWER for both, as the ids of LeaderAndIsr were others; all else was served.
"""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import with_zookeeper

IDS = ("aaaaaaaaaaaaaaaaaaaaaA", "bbbbbbbbbbbbbbbbbbbbbA")


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    path = tmp_path / "a"
    for name in ("t-0", "t-1", "t-2", "u-0"):
        (path / name).mkdir(parents=True)
        (path / name / f"{0:020}.log").touch()
        identify(path / name, IDS["tu".index(name[0])])
    with_zookeeper([path])
    return path


def identify(partition: Path, topic_id: str) -> None:
    (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


def doubts(log_dir: Path, release: str) -> list[str]:
    told = run("forecast", log_dir, "--kafka", release, "--json").json[-1]["unknown"]
    return [each for each in told if "whether it is served" in each]


def test_ids_that_agree_are_taken_for_right(log_dir: Path) -> None:
    assert doubts(log_dir, "3.9.2") == []


def test_a_replica_with_another_id_may_not_be_served(log_dir: Path) -> None:
    identify(log_dir / "t-1", "cccccccccccccccccccccA")
    (told,) = doubts(log_dir, "3.9.2")
    assert told.startswith(f"{log_dir}/t-1: ")
    assert run("forecast", log_dir, "--kafka", "3.9.2", code=4).out.count("no loss seen") == 1
    assert doubts(log_dir, "2.7") == []


def test_of_an_id_of_two_topics_one_is_wrong(log_dir: Path) -> None:
    identify(log_dir / "u-0", IDS[0])
    told = [each.partition(": ")[0] for each in doubts(log_dir, "2.8")]
    assert told == [f"{log_dir}/{name}" for name in ("t-0", "t-1", "t-2", "u-0")]


def test_of_a_tie_nobody_is_right(log_dir: Path) -> None:
    (log_dir / "t-2" / "partition.metadata").unlink()
    identify(log_dir / "t-1", "cccccccccccccccccccccA")
    assert len(doubts(log_dir, "3.9.2")) == 2
