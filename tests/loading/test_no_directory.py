"""Something else than a directory lies where a log dir was: a mount that is not there, a link in a circle.

Played on 0.8.2.2, 0.10.2.2 and 0.11.0.3, which end, and on 1.0.2, which goes on without the dir (KIP-112).
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.cli.run import run
from tests.faults.written import two_dirs, with_zookeeper
from tests.loading.test_outcomes import online

from segmend.loading import ForecastOptions, forecast
from segmend.loading.run import Line
from segmend.loading.values import BrokerOutcome
from segmend.logdir.log_dir import LogDir

PLACES: dict[str, Callable[[Path], object]] = {
    "file": Path.touch,
    "loop": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo,
}


@pytest.mark.parametrize("identified", [True, False])
@pytest.mark.parametrize("what", PLACES)
@pytest.mark.parametrize("release", ["0.8.2", "0.10.2", "0.11", "1.0", "2.8"])
def test_a_log_dir_that_is_none(release: str, what: str, identified: bool, tmp_path: Path) -> None:
    """Whether or not the other dir has a meta.properties, which brokers write since 0.9."""
    dirs = two_dirs(tmp_path)
    with_zookeeper(dirs)
    if not identified:
        (dirs[0] / "meta.properties").unlink()
    dirs[1].rename(tmp_path / "kept")
    PLACES[what](dirs[1])
    lines = [*forecast(broker_of([LogDir.attempt(str(path)) for path in dirs], release), ForecastOptions())]
    last = lines[-1]
    assert online(lines) == [True, False]
    assert any(str(dirs[1]) in each for each in last.unknown), "what lay in it is not known"
    assert last.starts == (release in ("1.0", "2.8"))
    if not last.starts:
        assert last.reason == f"{dirs[1]} is not a readable log directory."
        assert all(line.unserved for line in lines if hasattr(line, "unserved") and line is not last)


def test_a_log_dir_of_the_same_broker_that_was_left_out(tmp_path: Path) -> None:
    """1.1.0 made all that was in it again, empty, where log.dirs no longer had it."""
    first, second = two_dirs(tmp_path, True)
    with_zookeeper([first, second])
    shutil.copytree(first, tmp_path / "copy")  # has nothing more
    lacking = run("forecast", first, "--json", "--kafka", "1.1.0", code=4).json[-1]["unknown"]
    assert [each for each in lacking if each.startswith(f"{second}: a dir of this broker")] == lacking != []
    assert lacking[0] in run("check", first, "--json", "--kafka", "1.1.0", code=0).json[-1]["skipped"]
    assert run("forecast", first, second, "--json", "--kafka", "1.1.0", code=0).json[-1]["unknown"] == []
    stranger = (second / "meta.properties").read_text().replace("broker.id=", "broker.id=7")
    (second / "meta.properties").write_text(stranger)
    assert run("forecast", first, "--json", "--kafka", "1.1.0", code=0).json[-1]["unknown"] == []


@pytest.mark.parametrize("what", [*PLACES, "dead"])
@pytest.mark.parametrize("release", ["1.1.0", "2.5.1", "2.8.2"])
def test_something_else_in_the_place_of_a_replica_that_only_zookeeper_knows(
    release: str, what: str, tmp_path: Path
) -> None:
    """Each of these took the dir offline that had the replica, and was forecast online."""
    dirs = two_dirs(tmp_path)
    with_zookeeper(dirs)
    shutil.rmtree(dirs[1] / "v-0")
    PLACES.get(what, lambda path: path.symlink_to(tmp_path / "not-mounted"))(dirs[1] / "v-0")
    lines, last = _started(dirs, release)
    assert online(lines) == [True, False]
    assert any(f"{dirs[1]}/v-0: whether ZooKeeper has" in each for each in last.unknown)
    for path in dirs[1].glob("*-checkpoint"):
        path.write_text("0\n0\n")
    lines, last = _started(dirs, release)
    assert online(lines) == [True, True], "nothing tells that the replica was here"
    assert any(f"{dirs[1]}/v-0: whether ZooKeeper has" in each for each in last.unknown)
    told = run("check", *dirs, "--json", "--kafka", release, code=4).json[-1]["skipped"]
    assert any(f"{dirs[1]}/v-0: whether ZooKeeper has" in each for each in told)


@pytest.mark.parametrize("release", ["1.1.0", "2.8.2", "3.9.2"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_node_of_empty_disks_is_no_all_clear_under_zookeeper(
    release: str, count: int, tmp_path: Path
) -> None:
    """2.8.2 made all its partitions again, empty: nothing of it is on the disks."""
    dirs = [tmp_path / f"d{number}" for number in range(count)]
    for each in dirs:
        each.mkdir()
    config = tmp_path / "server.properties"
    config.write_text(f"broker.id=1\nzookeeper.connect=h:1\nlog.dirs={','.join(map(str, dirs))}\n")
    last = run("forecast", *dirs, "--config", config, "--kafka", release, "--json", code=4).json[-1]
    assert [each.partition(": ")[0] for each in last["unknown"]] == [*map(str, dirs)]


@pytest.mark.parametrize("lost", ["v-0", "u-0"])
def test_a_replica_of_which_only_a_checkpoint_tells_is_no_all_clear(lost: str, tmp_path: Path) -> None:
    """Of a dir that has no other, also; and after a kill before the recovery point was written."""
    dirs = two_dirs(tmp_path)
    with_zookeeper(dirs)
    (folder,) = tmp_path.glob(f"*/{lost}")
    shutil.rmtree(folder)
    _, last = _started(dirs, "2.8.2")
    told = f"whether {lost} had records here: there is no such directory"
    assert told in last.unknown
    (folder.parent / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    _, last = _started(dirs, "2.8.2")
    assert (told in last.unknown) == (lost == "u-0"), "of a deleted topic 1.1.0 and 2.8.2 kept the other one"


def test_a_replica_in_whose_place_something_else_lies_is_made_where_fewer_logs_are(tmp_path: Path) -> None:
    """1.1.0 made it in the other dir if that had fewer, and went on with both: ZooKeeper knows no dirs."""
    dirs = two_dirs(tmp_path)
    with_zookeeper(dirs)
    shutil.rmtree(dirs[0] / "t-0")
    (dirs[0] / "t-0").touch()
    assert online(_started(dirs, "2.5.1")[0]) == [False, True], "one log in each"
    shutil.copytree(dirs[0] / "u-0", dirs[0] / "w-0")
    assert online(_started(dirs, "2.5.1")[0]) == [True, True]
    assert online(_started([dirs[0]], "2.5.1")[0]) == [False]


def _started(dirs: Sequence[Path], release: str) -> tuple[list[Line], BrokerOutcome]:
    lines = [*forecast(broker_of([LogDir.attempt(str(path)) for path in dirs], release), ForecastOptions())]
    last = lines[-1]
    assert isinstance(last, BrokerOutcome)
    return lines, last


def test_a_lone_future_under_zookeeper_is_no_all_clear_of_check_either(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    with_zookeeper(dirs)
    (dirs[1] / "v-0").rename(dirs[1] / f"v-0.{'0' * 32}-future")
    told = run("check", *dirs, "--json", "--kafka", "2.8.2", code=4).json[-1]["skipped"]
    assert any("whether ZooKeeper has v-0 here" in each for each in told)
