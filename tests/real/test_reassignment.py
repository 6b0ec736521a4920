"""The moves that `fleet capacity --reassign` prints, given to the broker's own tool."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from segmend.fleet import capacity_run, disks
from segmend.fleet.disks import DiskOfBrokers
from segmend.fleet.listing import Place
from tests.cli.run import run
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create
from tests.lab.admin import admin
from tests.lab.cluster import Cluster
from tests.lab.process import run_tool
from tests.real.conftest import need_kafka

pytestmark = pytest.mark.broker

VERSION = "4.3.1"
TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
PATIENCE = 60
"""Seconds for a few hundred kilobytes to move between two brokers of one machine."""


def tool(cluster: Cluster, file: Path, action: str) -> str:
    told = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", file, action)
    return run_tool(cluster.release, cluster.root, TOOL, *told)


def moved(cluster: Cluster, file: Path) -> str:
    """What --verify says once all is done, or at the end of our patience."""
    deadline, said = time.monotonic() + PATIENCE, ""
    while time.monotonic() < deadline:
        said = tool(cluster, file, "--verify")
        if "still in progress" not in said:
            return said
    return said


@pytest.fixture
def small_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each log dir is taken for a disk of 20 MB that nobody else uses."""
    monkeypatch.setattr(capacity_run, "RESERVE", 0)

    def space(place: Place) -> tuple[object, DiskOfBrokers]:
        held = (file for file in Path(place.path).glob("t-*/*") if file.is_file())
        used, total = sum(file.stat().st_blocks * 512 for file in held), 20_000_000
        disk = DiskOfBrokers(brokers=(), dirs=(), total=total, used=used, available=total - used)
        return place.path, replace(disk)

    monkeypatch.setattr(disks, "_disk", space)


@pytest.mark.usefixtures("small_disks")
def test_kafka_s_own_tool_takes_the_moves(tmp_path: Path) -> None:
    need_kafka(VERSION)
    with Cluster(VERSION, tmp_path / "live", brokers=2) as cluster:
        cluster.start()
        # Every replica in one log dir: what an operator finds who has added a disk and a broker.
        create(cluster.bootstrap, [Topic("t", {}, partitions=6)])
        file, full = tmp_path / "moves.json", str(cluster.brokers[0].dirs[0])
        rows = [{"topic": "t", "partition": n, "replicas": [1], "log_dirs": [full]} for n in range(6)]
        file.write_text(json.dumps({"version": 1, "partitions": rows}))
        tool(cluster, file, "--execute")
        assert "complete" in moved(cluster, file)
        client = producer(cluster.bootstrap)
        for number in range(6):
            send(client, "t", events("t", 400), partition=number)
        dirs = [path for broker in cluster.brokers for path in broker.dirs]
        ran = run("fleet", "capacity", *dirs, "--driver", "local", "--reassign", "--spread", "1%", code=0)
        rows = json.loads(ran.out)["partitions"]
        assert rows
        assert all(row["replicas"] == [2] for row in rows)
        file.write_text(ran.out)
        assert "Successfully started" in tool(cluster, file, "--execute")
        said = moved(cluster, file)
        for row in rows:
            assert f"Reassignment of partition t-{row['partition']} is completed" in said
        client_of_all = admin(cluster.bootstrap)
        described = client_of_all.list_topics("t", timeout=30).topics["t"].partitions
        away = {row["partition"] for row in rows}
        assert {number for number, each in described.items() if each.replicas == [2]} == away
        # Of the first broker alone: from its full log dir to the other one.
        mine = cluster.brokers[0].dirs
        ran = run("fleet", "capacity", *mine, "--driver", "local", "--reassign", "--spread", "1%", code=0)
        rows = json.loads(ran.out)["partitions"]
        assert rows
        assert all((row["replicas"], row["log_dirs"]) == ([1], [str(mine[1])]) for row in rows)
        file.write_text(ran.out)
        tool(cluster, file, "--execute")
        moved(cluster, file)
        assert all((mine[1] / f"t-{row['partition']}").is_dir() for row in rows)
