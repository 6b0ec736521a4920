"""Dirs of a lone node restored older than its metadata, or away for a while, as real brokers leave them."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from segmend import check
from segmend.findings import Severity
from segmend.formats.clean_shutdown import FILE_NAME as MARKER
from segmend.loading import BrokerOutcome, ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir
from tests.brokers import broker_of
from tests.copies import copy_tree
from tests.golden.produce import producer
from tests.golden.topics import Topic, create
from tests.lab.cluster import Cluster
from tests.real.conftest import need_kafka
from tests.seeds import SWEEP

pytestmark = [pytest.mark.broker, pytest.mark.slow]
DIRS, AWAY = ("m", "d0", "d1", "d2"), "d2"


def write(cluster: Cluster, topic: str) -> None:
    client = producer(cluster.bootstrap)
    for number in range(9):
        client.produce(topic, b"x" * 50, partition=number)
    assert client.flush(60) == 0


def story(cluster: Cluster, kept: Path) -> None:
    """Copies of its dirs after two runs stopped in order and one killed, and after runs without one dir.

    `live` is one of that dir of just before the second stop.
    """
    broker, number = cluster.brokers[0], iter(range(9))

    def run(name: str, topic: str, end: Callable[[], object]) -> None:
        cluster.start()
        if next(number) == 0:
            create(cluster.bootstrap, [Topic("t", {}, 9), Topic("idle", {}, 9)])
            write(cluster, "idle")
        write(cluster, topic) if topic else time.sleep(2)
        end()
        copy_tree(broker.root, kept / name)

    def away() -> None:
        shutil.rmtree(broker.root / AWAY)
        (broker.root / AWAY).write_text("not mounted")

    def copied() -> None:
        copy_tree(broker.root / AWAY, kept / "live" / AWAY)
        time.sleep(2)
        broker.stop()

    run("first", "t", broker.stop)
    run("second", "t", copied)
    shutil.copytree(broker.root, kept / "aside", copy_function=shutil.copy2)
    run("killed", "t", broker.kill)
    away()
    run("killed, without", "", broker.kill)
    (broker.root / AWAY).unlink()
    (broker.root / AWAY).mkdir()
    for path in (broker.root / each for each in DIRS):
        shutil.rmtree(path)
        copy_tree(kept / "aside" / path.name, path)
    away()
    run("without", "", broker.stop)
    run("without, killed", "", broker.kill)


@pytest.mark.parametrize("version", ["2.8.2", "4.3.1"])
def test_a_copy_of_7_s_before_a_kill_is_told(version: str, tmp_path: Path) -> None:
    """Where its logs are written all the time; it lacks one go of the high watermarks, which take 5 s."""
    need_kafka(version)
    with Cluster(version, tmp_path / "cluster") as cluster:
        cluster.start()
        create(cluster.bootstrap, [Topic("t", {}, 9)])
        home, copy = cluster.brokers[0].root, tmp_path / "copy"

        def write_for(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                write(cluster, "t")
                time.sleep(0.2)

        write_for(11)
        copy_tree(home / "d1", copy)
        write_for(7)
        cluster.brokers[0].kill()
    assert unknown_dirs(home, version) == []
    shutil.rmtree(home / "d1")
    copy_tree(copy, home / "d1")
    assert unknown_dirs(home, version) == ["d1"]


def unknown_dirs(home: Path, version: str) -> list[str]:
    """Those of which the forecast does not know what they should have."""
    paths = [str(home / each) for each in ("d0", "d1")]
    *_, last = forecast(broker_of(paths, version), ForecastOptions(now_ms=0))
    assert isinstance(last, BrokerOutcome)
    words = (each.partition(": what it should have") for each in last.unknown)
    return [Path(path).name for path, found, _ in words if found]


def told(root: Path, version: str) -> tuple[set[str], set[str]]:
    """The dirs of which nobody knows what they should have (with a warning), and those of a note."""
    paths = [str(root / each) for each in DIRS]
    *_, last = forecast(broker_of(paths, version), ForecastOptions(now_ms=0))
    assert isinstance(last, BrokerOutcome)
    # A run without a dir may make its replicas anew, empty, in another one.
    assert last.starts or "Duplicate log directories" in (last.reason or "")
    unknown = {each.partition(":")[0].rpartition("/")[2] for each in last.unknown}
    found = [each for each in check(*map(LogDir.open, paths), kafka=version) if each.code == "C14"]
    assert {Path(each.dir).name for each in found if each.severity == Severity.WARNING} == unknown
    return unknown, {Path(each.dir).name for each in found if each.severity == Severity.INFO}


@pytest.mark.parametrize("version", ["3.7.2", "3.9.2", "4.3.1"] if SWEEP else ["4.3.1"])
def test_what_is_said_of_dirs_of_another_run(version: str, tmp_path: Path) -> None:
    need_kafka(version)
    kept, root = tmp_path / "kept", tmp_path / "root"
    apart = {"metadata.log.dir": str(tmp_path / "cluster" / "b1" / "m")}
    with Cluster(version, tmp_path / "cluster", log_dirs=3, settings=apart) as cluster:
        story(cluster, kept)

    def put(usual: str, *, marked: bool = True, **other: str) -> tuple[set[str], set[str]]:
        """Dirs of one moment, some of another one; those of an earlier one perhaps without their markers."""
        shutil.rmtree(root, ignore_errors=True)
        for name in DIRS:
            copy_tree(kept / other.get(name, usual) / name, root / name)
            if not marked:
                (root / name / MARKER).unlink(missing_ok=True)
        return told(root, version)

    data, nothing = {*DIRS} - {"m"}, (set[str](), set[str]())
    for moment in ("first", "second", "killed"):
        assert put(moment) == put(moment, marked=False) == nothing
    for marked in (True, False):
        for older, newer in (("first", "second"), ("first", "killed"), ("second", "killed")):
            assert put(older, m=newer, marked=marked) == (data, set())
            assert put(newer, d2=older, marked=marked) == ({"d2"}, set())
        assert put("second", d2="live", marked=marked) == (({"d2"}, set()) if marked else nothing)
        assert put("killed, without", d2="killed", marked=marked) == ({"d2"}, set())
        for moment in ("without", "without, killed"):
            assert put(moment, d2="live", marked=marked) == ({"d2"}, set())
            assert put(moment, d2="second", marked=marked) == (set(), {"d2"})
            assert put(moment, d2="first", marked=marked) == ({"d2"}, set())
