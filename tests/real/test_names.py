"""Partitions renamed, cloned, restamped and deleted under a real broker, and the way back once it ran."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Ran, run
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.admin import admin
from tests.lab.cluster import Cluster
from tests.lab.reader import read
from tests.real.conftest import Start
from tests.real.test_surgery import filled, home_of
from tests.seeds import some_of

pytestmark = pytest.mark.broker


@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", some_of(["4.3.1", "1.1.0"], 2))
def test_a_broker_serves_what_names_and_ids_say(start: Start, version: str, tmp_path: Path) -> None:
    cluster = filled(start, version)
    dirs, plan, state = cluster.brokers[0].dirs, tmp_path / "plan.json", ("--state-dir", tmp_path / "state")
    make_topics(cluster, "restored-red", "clone")
    before = offsets(cluster, "red", "green", "blue")

    def segmend(*argv: object, code: int = 0) -> Ran:
        return run(*argv, code=code)

    def planned(operation: str, *options: object, code: int = 0, to: Path = plan) -> Ran:
        return segmend("plan", operation, *dirs, *options, "-o", to, "--json", code=code)

    # Another name for one topic, a clone of another, in one plan; the empty ones give way, also beside.
    cluster.stop()
    home, other = home_of(dirs, "red-0")
    if (other / "restored-red-0").is_dir():
        planned("move", "--partition", "restored-red-0", "--to", home)
        segmend("apply", plan, "--yes", *state, code=1)
    two = tmp_path / "one.json", tmp_path / "other.json"
    planned("rename", "--topic", "re?", "--to", "restored-{topic}", "--replace", to=two[0])
    planned("rename", "--topic", "green", "--to", "clone", "--copy", "--replace", to=two[1])
    segmend("plan", "compose", *two, "-o", plan)
    segmend("apply", plan, "--yes", *state, code=1)
    cluster.start()
    assert offsets(cluster, "restored-red", "clone", "green", "red") == {
        "restored-red": before["red"], "clone": before["green"], "green": before["green"], "red": [],
    }  # fmt: skip
    send(producer(cluster.bootstrap), "restored-red", events("restored-red", 20))
    since = offsets(cluster, "restored-red")["restored-red"]
    assert len(since) > len(before["red"])

    # The broker ran: no undo, but a way back that keeps what came since.
    cluster.stop()
    latest = segmend("journal", "list", "--json", *state).json[-1]["journal"]
    assert "segmend plan reverse" in segmend("undo", latest, "--yes", *state, code=8).err
    segmend("plan", "reverse", latest, *state, "-o", plan, code=4)
    segmend("apply", plan, "--yes", *state, code=5)
    cluster.start()
    assert offsets(cluster, "red", "restored-red", "clone") == {
        "red": since, "restored-red": [], "clone": before["green"],
    }  # fmt: skip

    if cluster.release.mode == "kraft":
        restamped(cluster, tmp_path, planned)
        segmend("apply", plan, "--yes", *state, code=1)
        cluster.start()
        assert offsets(cluster, "blue")["blue"] == before["blue"]

    # The last copy, by its figure, and back again although the broker made an empty one.
    cluster.stop()
    planned("delete", "--partition", "green-0", code=4)
    planned("delete", "--partition", "green-0", "--accept-loss", f"{len(before['green'])}-records")
    segmend("apply", plan, "--yes", *state, code=1)
    cluster.start()
    assert offsets(cluster, "green")["green"] == []
    cluster.stop()
    latest = segmend("journal", "list", "--json", *state).json[-1]["journal"]
    segmend("plan", "reverse", latest, *state, "-o", plan)
    segmend("apply", plan, "--yes", *state, code=1)
    cluster.start()
    assert offsets(cluster, "green")["green"] == before["green"]


def make_topics(cluster: Cluster, *names: str) -> None:
    create(cluster.bootstrap, [Topic(name, small_segments(cluster.release)) for name in names])


def offsets(cluster: Cluster, *topics: str) -> dict[str, list[int]]:
    """The offset of every record that a consumer gets, without an error."""
    found = read(cluster.bootstrap, list(topics))
    assert {name: row["errors"] for name, row in found.items()} == {name: [] for name in topics}
    return {name: row["seen"] for name, row in found.items()}


def restamped(cluster: Cluster, scratch: Path, planned: Callable[..., Ran]) -> None:
    """A topic is deleted and made anew; the records of the old one come back from a copy of its directory."""
    cluster.stop()
    home, _ = home_of(cluster.brokers[0].dirs, "blue-0")
    shutil.copytree(home / "blue-0", scratch / "blue-0")
    cluster.start()
    client = admin(cluster.bootstrap)
    client.delete_topics(["blue"])["blue"].result(60)
    make_topics(cluster, "blue")
    cluster.stop()
    home, _ = home_of(cluster.brokers[0].dirs, "blue-0")
    shutil.rmtree(home / "blue-0")
    shutil.copytree(scratch / "blue-0", home / "blue-0")
    ran = planned("restamp", "--topic", "blue")
    start = ran.of("plan")[0]["forecast"]
    assert (start["before"]["records_lost"] > 0, start["after"]["records_lost"]) == (True, 0)
