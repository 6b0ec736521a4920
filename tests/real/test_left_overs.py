"""Directories brought back, volumes given their identity, room made on a full disk: real brokers judge."""

import contextlib
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cli.run import run
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.admin import admin
from tests.lab.cluster import Cluster
from tests.lab.errors import LabError
from tests.lab.process import STOPS_IN
from tests.lab.reader import led, read
from tests.lab.releases import release
from tests.mounts import TMPFS, mounted, need_mount
from tests.real.conftest import Start, need_kafka
from tests.seeds import some_of
from tests.surgery.desk import left_code_of
from tests.waiting import until

pytestmark = pytest.mark.broker

NEWEST = "4.3.1"
TOPICS = ["red", "green"]


def fill(cluster: Cluster) -> None:
    """Two topics of one partition in small segments."""
    create(cluster.bootstrap, [Topic(name, small_segments(cluster.release)) for name in TOPICS])
    client = producer(cluster.bootstrap)
    for name in TOPICS:
        send(client, name, events(name, 60))


def offsets(cluster: Cluster, *topics: str) -> dict[str, list[int]]:
    """The offset of every record that a consumer gets, without an error."""
    found = read(cluster.bootstrap, list(topics))
    assert [row["errors"] for row in found.values()] == [[] for _ in topics]
    return {name: row["seen"] for name, row in found.items()}


def apply(plan: Path, *options: object) -> None:
    run("apply", plan, "--yes", "--state-dir", plan.parent / "state", *options, code=1 + left_code_of(plan))


@pytest.mark.parametrize("version", some_of([NEWEST, "3.9.2"], 2))
def test_a_stray_is_served_again(start: Start, version: str, tmp_path: Path) -> None:
    cluster = start(version)
    fill(cluster)
    dirs = cluster.brokers[0].dirs
    written = offsets(cluster, *TOPICS)
    cluster.stop()
    home = next(each for each in dirs if (each / "red-0").is_dir())
    (home / "red-0" / "partition.metadata").unlink()
    cluster.start()  # sets it aside as -stray and serves an empty log in its place
    assert offsets(cluster, "red") == {"red": []}
    cluster.stop()
    name = next(path.name for path in home.iterdir() if path.name.endswith("-stray"))
    # Nobody closed its log, and the clean marker says that nobody need look.
    assert (home / ".kafka_cleanshutdown").exists()
    assert max((home / name).glob("*.timeindex")).stat().st_size > 1 << 20
    plan = tmp_path / "plan.json"
    asked = ("plan", "adopt", *dirs, "--directory", name, "-o", plan)
    assert "--topic-id current" in run(*asked).err
    assert "--replace" in run(*asked, "--topic-id", "current").err
    assert run(*asked, "--topic-id", "current", "--replace").code == 0
    apply(plan)
    ran = run("forecast", *dirs, "--json")
    rows = [row["after"]["log_end_offset"] for row in ran.of("partition") if row["topic"] == "red"]
    assert rows == [max(written["red"]) + 1]
    cluster.start()
    assert offsets(cluster, *TOPICS) == written


def test_a_cloned_volume_gets_an_identity_with_which_the_broker_starts(start: Start, tmp_path: Path) -> None:
    cluster = start(NEWEST)
    fill(cluster)
    broker = cluster.brokers[0]
    written = offsets(cluster, *TOPICS)
    cluster.stop()
    first, second = (each / "meta.properties" for each in broker.dirs)
    own = second.read_text()
    shutil.copy(first, second)
    broker.launch()
    assert broker.child is not None
    assert broker.child.wait(STOPS_IN) != 0
    assert any("Duplicate directory ID" in line for line in broker.lines())
    plan = tmp_path / "plan.json"
    assert run("plan", "identity", *broker.dirs, "--config", broker.config, "-o", plan).code == 0
    apply(plan)
    assert _ids(second.read_text()) == _ids(own)
    cluster.start()
    assert offsets(cluster, *TOPICS) == written
    cluster.stop()
    home = next(each for each in broker.dirs if (each / "red-0").is_dir())
    stamp, old = home / "meta.properties", (home / "meta.properties").read_text()
    new = ("--directory-id", f"{home}=new")
    assert run("plan", "identity", *broker.dirs, *new, "-o", plan).code == left_code_of(plan)
    apply(plan)
    assert _ids(stamp.read_text()) != _ids(old)
    cluster.start()
    # The broker tells the controller where its replicas lie, but as a rule only after that has taken them for
    # offline and elected nobody: a later start finds it written.
    for _ in range(3):
        if led(cluster.bootstrap, TOPICS, seconds=5) == TOPICS:
            break
        cluster.stop()
        cluster.start()
    assert offsets(cluster, *TOPICS) == written


def _ids(properties: str) -> list[str]:
    return [line for line in properties.splitlines() if line.startswith("directory.id=")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A log dir that is a file system of 48 MiB of its own, still empty."""
    place = tmp_path / "live" / "b1" / "d0"
    place.mkdir(parents=True)
    need_mount(TMPFS, tmp_path)
    with mounted(TMPFS, tmp_path, place, size=48):
        yield place


@pytest.mark.parametrize("version", some_of([NEWEST, "3.9.2", "2.8.2", "1.1.0"], 4))
def test_a_full_disk_gets_the_room_that_a_start_needs(small_disk: Path, version: str, tmp_path: Path) -> None:
    freed(small_disk, version, tmp_path, tried=True)


def freed(disk: Path, version: str, tmp_path: Path, *, tried: bool) -> None:
    """What is deleted and not gone yet makes the room; the broker that the full disk stopped serves again."""
    need_kafka(version)
    kept = {"log.segment.delete.delay.ms": "3600000", "log.retention.ms": "-1"}
    settings = {**kept, **forgotten_soon(version)}
    with Cluster(version, tmp_path / "live", log_dirs=1, settings=settings) as cluster:
        cluster.start()
        fill(cluster)
        broker = cluster.brokers[0]
        client = producer(cluster.bootstrap)
        for _ in range(40):
            send(client, "green", events("green", 60))
        written = offsets(cluster, "red")
        asking = admin(cluster.bootstrap)
        for done in asking.delete_topics(["green"]).values():
            done.result()
        until("green-0 to go", lambda: not (broker.dirs[0] / "green-0").exists())
        _fill_up(disk)
        client = producer(cluster.bootstrap, message_timeout_ms=10000)
        with pytest.raises(RuntimeError):
            _send_for_ever(client)
        broker.kill()
        _fill_up(disk)
        full = os.statvfs(disk)
        assert full.f_bavail * full.f_frsize < 1_000_000  # XFS keeps some for itself
        if tried:
            with pytest.raises(LabError):
                broker.start()
            broker.kill()
        plan, spare = tmp_path / "plan.json", tmp_path / "spare"
        options = ("--bytes", "1MB", "--backup-dir", spare, "--config", broker.config)
        assert run("plan", "free", broker.dirs[0], *options, "-o", plan, "--json").code == left_code_of(plan)
        apply(plan)
        assert os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize >= 1_000_000
        cluster.start()
        assert offsets(cluster, "red")["red"][: len(written["red"])] == written["red"]
        send(producer(cluster.bootstrap), "red", events("red", 60))


def forgotten_soon(version: str) -> dict[str, str]:
    """A killed broker's id is not free before its session with ZooKeeper is over: 18 s, if not this."""
    old = release(version).mode == "zookeeper"
    return {"zookeeper.session.timeout.ms": "2000"} if old else {}


@pytest.fixture(params=["ext4", "xfs"])
def real_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The first log dir of two is a small disk of its own, of which root may use all."""
    place = tmp_path / "live" / "b1" / "d0"
    place.mkdir(parents=True)
    need_mount(request.param, tmp_path)
    with mounted(request.param, tmp_path, place, size=48 if request.param == "ext4" else None):
        shutil.rmtree(place / "lost+found", ignore_errors=True)  # no broker starts beside it
        yield place


@pytest.mark.parametrize("version", some_of([NEWEST, "1.1.0"], 2))
def test_a_full_ext4_or_xfs_gets_the_room_that_a_start_needs(
    real_disk: Path, version: str, tmp_path: Path
) -> None:
    # No start is tried on the full disk: 4.0 and later may empty the metadata log, on XFS (so it was here).
    freed(real_disk, version, tmp_path, tried=False)


@pytest.mark.parametrize("version", some_of([NEWEST, "2.8.2"], 2))
def test_the_way_out_of_a_full_disk_as_it_is_printed(
    real_disk: Path, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing there may go, so `plan free` names a move; its commands are typed as they stand."""
    need_kafka(version)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    settings = {"log.retention.ms": "-1", **forgotten_soon(version)}
    with Cluster(version, tmp_path / "live", settings=settings) as cluster:
        cluster.start()
        fill(cluster)
        broker = cluster.brokers[0]
        full = next(name for name in TOPICS if (real_disk / f"{name}-0").is_dir())
        client = producer(cluster.bootstrap)
        for _ in range(20):
            send(client, full, events(full, 60))
        written = offsets(cluster, *TOPICS)
        _fill_up(real_disk)
        with pytest.raises(RuntimeError):
            _send_for_ever(producer(cluster.bootstrap, message_timeout_ms=10000), full)
        broker.kill()
        _fill_up(real_disk)
        # No start is tried here: it may empty the metadata log that it recovers (4.0 and later, on XFS).
        ran = run("forecast", *broker.dirs, "--config", broker.config, code=4)
        assert f"{real_disk} serves: its file system is full" in ran.out
        asked = ("--bytes", "1MB", "--config", broker.config, "-o", "free.json")
        ran = run("plan", "free", *broker.dirs, *asked)
        move = _printed(ran.out + ran.err, "segmend plan move ")
        ran = run(*move)
        # Whether the full disk left torn logs, which a start cuts, is one of chance: it is said.
        left = left_code_of(Path(move[move.index("-o") + 1]))
        assert ran.code == left, ran
        run(*_printed(ran.out + ran.err, "segmend apply "), "--yes", code=1 + left)
        assert os.statvfs(real_disk).f_bavail * os.statvfs(real_disk).f_frsize >= 1_000_000
        cluster.start()
        found = offsets(cluster, *TOPICS)
        assert {name: found[name][: len(written[name])] for name in TOPICS} == written
        send(producer(cluster.bootstrap), full, events(full, 60))


def _printed(text: str, command: str) -> list[str]:
    """The arguments of a command that stands in what was printed, as a shell takes them apart."""
    return shlex.split(text[text.index(command) :].splitlines()[0], comments=True)[1:]


def _send_for_ever(client: Producer, topic: str = "red") -> None:
    while True:
        send(client, topic, events(topic, 60))


def _fill_up(disk: Path) -> None:
    """Take every block that is left; what ext4 holds back for blocks to come is free once they are there."""
    with open(disk / "filler", "ab", buffering=0) as file:
        for _ in range(3):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(4096))
            os.fsync(file.fileno())
