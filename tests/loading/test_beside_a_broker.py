"""A broker that runs rolls and deletes while its dirs are looked at: what goes meanwhile is no failure."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.beside import broker_on
from tests.brokers import broker_of
from tests.faults.written import clean_dir
from tests.golden.unpack import unpack
from tests.lab.upgrade import ARCHIVES

from segmend.loading import ForecastOptions, beside_a_broker, forecast
from segmend.loading.dirs import DirState
from segmend.loading.replicas import Loaded, Situation, load_directory
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir


def started(log_dirs: list[Path]) -> Any:
    return start_of([LogDir.open(str(each)) for each in log_dirs])


def start_of(log_dirs: list[LogDir]) -> Any:
    return list(forecast(broker_of(log_dirs, "4.3"), ForecastOptions()))[-1]


def paused_by(monkeypatch: pytest.MonkeyPatch, pause: Callable[[float], None]) -> None:
    """This instead of the module's own waits; a thread of an earlier test that sleeps is none of them."""
    monkeypatch.setattr(beside_a_broker, "time", SimpleNamespace(sleep=pause))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_what_goes_while_it_is_loaded(
    whole: bool, live: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_dirs = clean_dir(tmp_path)

    def load(state: DirState, partition: PartitionDir, situation: Situation) -> Loaded:
        """As it is; but first the broker deletes what was listed."""
        path = Path(partition.path)
        if partition.entries and path.exists() and path.name == "u-0":
            shutil.rmtree(path) if whole else sorted(path.glob("*.log"))[0].unlink(missing_ok=True)
        monkeypatch.setattr(beside_a_broker, "load_directory", load_directory)
        return load_directory(state, partition, situation)

    monkeypatch.setattr(beside_a_broker, "load_directory", load)
    (log_dirs[0] / ".lock").touch()
    if not live:
        assert started(log_dirs).offline or not started(log_dirs).starts
        return
    with broker_on(log_dirs[0]):
        found = started(log_dirs)
    assert (found.starts, found.offline) == (True, 0)
    assert any("u-0" in each for each in found.unknown) == whole


def test_what_went_before_it_was_listed(tmp_path: Path) -> None:
    log_dirs = clean_dir(tmp_path)
    with broker_on(log_dirs[0]):
        opened = [LogDir.open(str(each)) for each in log_dirs]
        assert "u-0" in {each.name for each in opened[0].partitions}
        shutil.rmtree(log_dirs[0] / "u-0")
        found = start_of(opened)
    assert (found.starts, found.offline) == (True, 0)
    assert any("u-0" in each for each in found.unknown)


@pytest.mark.parametrize("goes", [False, True])
def test_what_the_broker_is_about_to_delete(
    goes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metadata has the deletion of a topic a moment before its directories are gone."""
    dirs = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    topic = dirs[1] / "plain-0"
    metadata = topic / "partition.metadata"
    version, topic_id = metadata.read_text().split("topic_id: ")
    metadata.write_text(f"{version}topic_id: QQQQ{topic_id[4:]}")

    def pause(_seconds: float) -> None:
        if goes:
            shutil.rmtree(topic, ignore_errors=True)

    paused_by(monkeypatch, pause)
    with broker_on(dirs[1]):
        found = started(dirs)
    assert (found.lost.partitions, any(topic.name in each for each in found.unknown)) == (int(not goes), goes)


@pytest.mark.parametrize("comes", [False, True])
def test_what_the_broker_is_about_to_make(
    comes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metadata has a topic a moment before its directories; the checkpoints have lines of one before."""
    dirs = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    topic = dirs[1] / "plain-0"
    topic.rename(tmp_path / "before")

    def pause(_seconds: float) -> None:
        if comes:
            topic.mkdir(exist_ok=True)

    paused_by(monkeypatch, pause)
    with broker_on(dirs[1]):
        found = started(dirs)
    assert (found.lost.partitions, any(topic.name in each for each in found.unknown)) == (
        int(not comes),
        comes,
    )


def test_a_broker_that_goes_on_deleting_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic of many partitions goes one by one, in longer than one of them takes."""
    (one, _) = sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))
    topics = [one / name for name in os.listdir(one) if name in ("compact-0", "txn-0")]
    for number, topic in enumerate(topics):
        metadata = f"version: 0\ntopic_id: QQQQQQQQQQQQQQQQQQQQQ{number}\n"
        (topic / "partition.metadata").write_text(metadata)
    waits = itertools.count(1)

    def pause(_seconds: float) -> None:
        if next(waits) % 30 == 0 and topics:
            shutil.rmtree(topics.pop(0))

    with broker_on(one):
        paused_by(monkeypatch, pause)
        found = started([one, one.with_name("d1")])
    assert (topics, found.lost.partitions, found.unserved) == ([], 0, 0)


def test_a_broker_that_goes_on_making_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = DirState(log_dir=LogDir.open(str(tmp_path)), clean=True, live=True)
    for partition in range(3):
        waits = itertools.count(1)

        def pause(_seconds: float, name: str = f"t-{partition}", waits: Iterator[int] = waits) -> None:
            if next(waits) == 30:
                (tmp_path / name).mkdir()

        paused_by(monkeypatch, pause)
        assert beside_a_broker.arriving([state], f"t-{partition}") is not None
