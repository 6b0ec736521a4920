"""Surgery and real brokers: one keeps the other out, and starts on what it left."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient  # type: ignore[attr-defined]

from tests.cli.run import SOURCE, run
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.cluster import Cluster
from tests.lab.process import run_tool
from tests.lab.reader import read
from tests.real.conftest import Start
from tests.seeds import some_of
from tests.surgery.picture import picture
from tests.surgery.shows.server import places
from tests.waiting import until

pytestmark = pytest.mark.broker

NEWEST = "4.3.1"
TOPICS = ["red", "green", "blue"]

# `segmend apply` that waits in its first rename, with all locks held, until its stdin is closed.
WAITING = """
import sys
from segmend.surgery.writing.effects import Effects
from segmend.cli.main import main
rename = Effects.rename
def waiting(self, old, new):
    if "segmend.tmp" in old and "checkpoint" in new:
        print("holding", flush=True)
        sys.stdin.read()
    rename(self, old, new)
Effects.rename = waiting
sys.exit(main(sys.argv[1:]))
"""


def filled(start: Start, version: str) -> Cluster:
    """A running broker with three topics of one partition in small segments."""
    cluster = start(version)
    create(cluster.bootstrap, [Topic(name, small_segments(cluster.release)) for name in TOPICS])
    client = producer(cluster.bootstrap)
    for name in TOPICS:
        send(client, name, events(name, 60))
    return cluster


def home_of(dirs: list[Path], name: str) -> tuple[Path, Path]:
    """The log dir that has a partition, and another."""
    home = next(each for each in dirs if (each / name).is_dir())
    return home, next(each for each in dirs if each != home)


def moved(plan: Path, dirs: list[Path], name: str) -> Path:
    """Plan to move a partition to the other log dir; gives its new place."""
    _, target = home_of(dirs, name)
    run("plan", "move", *dirs, "--partition", name, "--to", target, "-o", plan, "--json", code=0)
    return target / name


def test_a_running_broker_is_never_operated_on(start: Start, tmp_path: Path) -> None:
    cluster = filled(start, NEWEST)
    dirs = cluster.brokers[0].dirs
    moved(tmp_path / "plan.json", dirs, "red-0")
    home, target = home_of(dirs, "red-0")
    before = picture(home / "red-0")
    state = tmp_path / "state"
    ran = run("apply", tmp_path / "plan.json", "--yes", "--state-dir", state)
    assert (ran.code, "its .lock is held by process" in ran.err) == (64, True)
    assert not state.exists()
    assert picture(home / "red-0") == before
    assert not (target / "red-0").exists()
    assert cluster.brokers[0].running
    assert contents(cluster)


def test_a_broker_started_meanwhile_is_the_one_that_fails(start: Start, tmp_path: Path) -> None:
    cluster = filled(start, NEWEST)
    broker = cluster.brokers[0]
    records = contents(cluster)
    cluster.stop()
    place = moved(tmp_path / "plan.json", broker.dirs, "red-0")
    argv = ["apply", str(tmp_path / "plan.json"), "--yes", "--state-dir", str(tmp_path / "state")]
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, *argv],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SOURCE)},
    ) as surgeon:  # fmt: skip
        assert surgeon.stdout is not None
        assert surgeon.stdin is not None
        while "holding" not in surgeon.stdout.readline():
            pass
        broker.launch()
        assert broker.child is not None
        assert broker.child.wait(120) != 0
        assert any("Failed to acquire lock" in line for line in broker.lines())
        surgeon.stdin.close()
        surgeon.stdout.read()
    assert surgeon.returncode == 1
    assert not [path for each in broker.dirs for path in each.glob(".lock")]
    cluster.start()
    assert place.is_dir()
    assert contents(cluster) == records


@pytest.mark.parametrize(
    ("version", "main"),
    some_of(
        [(NEWEST, "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"),
         ("1.1.0", "kafka.admin.ReassignPartitionsCommand")], 2
    ),
)  # fmt: skip
def test_kafka_s_own_tool_takes_the_move_that_a_plan_prints(
    start: Start, version: str, main: str, tmp_path: Path
) -> None:
    """For a broker that is to go on running."""
    cluster = filled(start, version)
    dirs, records = cluster.brokers[0].dirs, contents(cluster)
    home, target = home_of(dirs, "red-0")
    ran = run("plan", "move", *dirs, "--partition", "red-0", "--to", target, "--json")
    told = tmp_path / "reassign.json"
    told.write_text(json.dumps(ran.of("plan")[0]["extra"]["kafka-reassign-partitions"]))
    where = ["--bootstrap-server", cluster.bootstrap]
    where += ["--zookeeper", cluster.zookeeper.address] if cluster.zookeeper else []
    said = run_tool(cluster.release, tmp_path, main, *where, "--reassignment-json-file", told, "--execute")
    assert "uccessfully started" in said, said
    places = home / "red-0", target / "red-0"
    until(
        "the replica to have moved",
        lambda: [p.is_dir() for p in places],
        good=lambda now: now == [False, True],
    )
    assert contents(cluster) == records


@pytest.mark.parametrize("version", some_of([NEWEST, "3.9.2", "1.1.0"], 3))
def test_moved_and_drained_partitions_are_served_from_their_new_place(
    start: Start, version: str, tmp_path: Path
) -> None:
    """What describe says stays the same, what kafka-log-dirs says does not."""
    cluster = filled(start, version)
    broker, state, plan = cluster.brokers[0], tmp_path / "state", tmp_path / "plan.json"
    records, told = contents(cluster), described(cluster)
    cluster.stop()
    place = moved(plan, broker.dirs, "red-0")
    assert run("apply", plan, "--yes", "--state-dir", state).code == 1
    cluster.start()
    assert (contents(cluster), described(cluster)) == (records, told)
    assert places(broker, tmp_path)["red-0"] == place.parent.name
    cluster.stop()
    first, second = broker.dirs
    run("plan", "drain", first, second, "--from", second, "-o", plan, "--json", code=0)
    assert run("apply", plan, "--yes", "--state-dir", state).code == 1
    cluster.start()
    assert (contents(cluster), described(cluster)) == (records, told)
    assert {place for name, place in places(broker, tmp_path).items() if name[:-2] in TOPICS} == {first.name}


def described(cluster: Cluster) -> dict[str, list[Any]]:
    """Leader, replicas and ISR of each partition, as `kafka-topics --describe` has them."""
    topics = (
        AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0}).list_topics(timeout=10).topics
    )
    return {
        name: [(each.id, each.leader, each.replicas, each.isrs) for each in topics[name].partitions.values()]
        for name in TOPICS
    }


def contents(cluster: Cluster) -> dict[str, list[int]]:
    """The offset of every record that a consumer gets, without an error."""
    found = read(cluster.bootstrap, TOPICS)
    assert {name: row["errors"] for name, row in found.items()} == {name: [] for name in TOPICS}
    seen = {name: row["seen"] for name, row in found.items()}
    assert all(len(offsets) > 100 for offsets in seen.values()), {k: len(v) for k, v in seen.items()}
    return seen
