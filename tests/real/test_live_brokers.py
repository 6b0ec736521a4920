"""What segmend says of real brokers' log dirs, while they run, after a stop, after kill -9."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ran, python, run
from tests.cli.test_read_only import WATCHER
from tests.copies import copy_tree
from tests.golden.judge import ask, warnings
from tests.golden.shared import golden
from tests.golden.story import QUICK
from tests.lab.broker import Broker
from tests.lab.releases import release
from tests.lab.soak import soak
from tests.lab.zookeeper import ZooKeeper
from tests.real.conftest import Start, need_kafka
from tests.real.load import create_topics, under_load
from tests.seeds import SEED, SWEEP

pytestmark = pytest.mark.broker

NEWEST = "4.3.1"
LEVELS = ([], ["--startup"], ["--deep"])


def findings(ran: Ran, *severities: str) -> list[dict[str, Any]]:
    """The findings of these severities."""
    return [row for row in ran.of("finding") if row["severity"] in severities]


RUNNING = "K15"
"""The note that a broker holds the lock: no fault."""


def healthy_at_every_level(dirs: Iterable[Path]) -> None:
    """No level of `check` has an error or a warning."""
    for level in LEVELS:
        ran = run("check", *level, *dirs, "--json")
        assert findings(ran, "error", "warning") == []
        assert ran.code == 0


def test_a_running_broker_under_load(start: Start) -> None:
    cluster = start(NEWEST)
    dirs = cluster.brokers[0].dirs
    create_topics(cluster.bootstrap, cluster.release)
    with under_load(cluster.bootstrap):
        for level in LEVELS:
            ran = run("check", *level, *dirs, "--json")
            assert {row["code"] for row in findings(ran, "error", "warning", "info")} == {RUNNING}
            assert ran.code == 0
            said = run("check", *level, *dirs).out
            assert said.count("a broker is running here") == len(dirs)
        shown = run("show", *dirs, "--json")
        assert [row["broker_running"] for row in shown.of("dir")] == [True] * len(dirs)
        commands = [["check", *level, *map(str, dirs)] for level in LEVELS] + [["show", *map(str, dirs)]]
        watched = python("-c", WATCHER, json.dumps(commands))
        assert watched.returncode == 0, watched.stderr
        told = json.loads(watched.stdout)
        assert told["seen"] == []
        assert told["codes"] == [0] * len(commands)
        assert cluster.brokers[0].running


def test_nothing_is_alarmed_while_topics_come_and_go(tmp_path: Path) -> None:
    need_kafka(NEWEST)
    drawn, said = soak(NEWEST, tmp_path, seconds=60 if SWEEP else 8, seed=SEED)
    assert said == []
    assert drawn.total() > 3


def test_after_kill_9_under_load(start: Start) -> None:
    cluster = start(NEWEST)
    broker = cluster.brokers[0]
    create_topics(cluster.bootstrap, cluster.release)
    with under_load(cluster.bootstrap):
        broker.kill()
    healthy_at_every_level(broker.dirs)
    assert not any(row["clean_shutdown"] for row in run("show", *broker.dirs, "--json").of("dir"))
    broker.start()
    assert not [line for line in broker.lines() if "Corruption found" in line or "Found invalid" in line]


def test_offsets_of_a_stopped_broker(start: Start) -> None:
    cluster = start(NEWEST)
    broker = cluster.brokers[0]
    create_topics(cluster.bootstrap, cluster.release)
    with under_load(cluster.bootstrap):
        pass
    seen = ask(cluster.bootstrap, broker.root, "--no-records")["partitions"]
    broker.stop()
    shown = run("show", *broker.dirs, "--json").of("partition")
    found = {
        f"{row['topic']}-{row['partition']}": {
            name: row[name] for name in ("log_start_offset", "log_end_offset")
        }
        for row in shown
        if row["kind"] == "current"
    }
    wanted = {name: {key: row[key] for key in found[name]} for name, row in seen.items()}
    assert wanted == {name: found[name] for name in seen}
    assert {name.rpartition("-")[0] for name in set(found) - set(seen)} <= {"__consumer_offsets"}
    assert sum(row["log_end_offset"] for row in found.values()) > 100
    healthy_at_every_level(broker.dirs)


def test_startup_lists_what_a_1_1_0_broker_warns_about(tmp_path: Path) -> None:
    need_kafka("1.1.0")
    root = tmp_path / "b1"
    copy_tree(golden("1.1.0-killed") / "b1", root)
    dirs = [root / "d0", root / "d1"]
    ran = run("check", "--startup", "--kafka", "1.1.0", *dirs, "--json")
    said = {(Path(row["dir"]).name, row["file"].partition(".")[0]) for row in ran.of("finding")
            if row["code"] == "I25"}  # fmt: skip
    kind = release("1.1.0")
    with Broker(kind, root, settings=QUICK, zookeeper=ZooKeeper.wanted(kind, tmp_path)) as broker:
        broker.start()
        warned = warnings(broker.lines(), root)
    assert said == {(row["dir"], row["file"].partition(".")[0]) for row in warned}
    assert len(said) > 30
