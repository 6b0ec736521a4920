"""What groups committed goes within minutes of a start, where it is older than is kept and they are empty."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run
from tests.lab.disasters.draw import Disaster
from tests.lab.disasters.judge import Judge
from tests.lab.disasters.run import hurt_copy
from tests.lab.ports import wait_until_free
from tests.waiting import until

KEPT, GOES = "offsets.retention.minutes", "nobody needs what groups without members have committed"


def node(version: str, root: Path) -> Judge:
    """One whose groups have ended days ago, told to keep for a minute what they committed."""
    scene = hurt_copy(Disaster(version, version, "clean", ()), root)
    broker = Judge(version, scene)
    broker.settings |= {KEPT: "1", "offsets.retention.check.interval.ms": "1000"}
    return broker


def assumed(broker: Judge, root: Path, *without: str) -> list[str]:
    """What `forecast` takes for granted of it."""
    path = root / "given.properties"
    rows = broker.configuration().items()
    path.write_text("".join(f"{key}={value}\n" for key, value in rows if key not in without))
    told = run("forecast", *broker.dirs, "--config", path, "--kafka", broker.release.version, "--json")
    assert told.code == 0
    found: list[str] = told.json[-1]["assumed"]
    return found


def committed(broker: Judge) -> list[Any]:
    """The values of all commits, and of groups."""
    logs = [log for each in broker.dirs for log in each.glob("__consumer_offsets-*/*.log")]
    rows = [row for log in logs for row in run("show", log, "--records", "--json").of("record")]
    return [row["value"] for row in rows]


def test_it_is_named_as_taken_for_granted(tmp_path: Path) -> None:
    broker = node("4.3.1", tmp_path)
    (told,) = [each for each in assumed(broker, tmp_path) if each.startswith(GOES)]
    assert f"{KEPT}=1" in told
    for log in (log for each in broker.dirs for log in each.glob("__consumer_offsets-*/*.log")):
        log.touch()
    assert not [each for each in assumed(broker, tmp_path, KEPT) if each.startswith(GOES)]


@pytest.mark.broker
@pytest.mark.parametrize("version", ["2.8.2", "4.3.1"])
def test_a_broker_takes_it_away(version: str, tmp_path: Path) -> None:
    broker = node(version, tmp_path)
    assert [each for each in assumed(broker, tmp_path) if each.startswith(GOES)]
    assert None not in committed(broker)
    wait_until_free([broker.seat.port, broker.seat.controller_port])
    with broker:
        broker.write_config()
        broker.launch()
        broker.wait_ready()
        until("a commit taken away", lambda: committed(broker), good=lambda rows: None in rows, every=1)
