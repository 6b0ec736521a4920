"""The real broker opens a rescued log dir without a complaint, and serves what it served before."""

import random
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.run import run
from tests.golden.shared import golden
from tests.real.conftest import need_kafka
from tests.rescue.replicas import hurt, replicas, told
from tests.rescue.served import consumed, serving
from tests.surgery.shows.server import read, written

pytestmark = pytest.mark.broker
COMPLAINT = re.compile(
    r" (?:WARN|ERROR|FATAL) .*(?:kafka\.log\.|storage\.internals)|[Rr]ecovering (?:unflushed )?segment|orrupt"
)

# A quorum's own log is always opened as if it was not closed; the settings of the lab turn the cleaner off.
USUAL = re.compile(r"__cluster_metadata-0|log\.cleaner\.enable|log cleaner will always")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["4.3.1-killed", "1.1.0-killed"])
def test_the_broker_serves_the_same_records(name: str, tmp_path: Path) -> None:
    version = name.partition("-")[0]
    need_kafka(version)
    home = tmp_path / "b1"
    home.mkdir()
    for source in sorted(golden(name).glob("b1/d*")):
        ran = run("rescue", source, "--out", home / source.name, "--kafka", version, "--json")
        # Of a partition that was being moved one dir has the replica, and the other its copy.
        copies = any(source.glob("*-future"))
        assert (ran.code, bool(ran.json[-1]["strays"])) == (4 if copies else 0, copies)
    wanted = written(name)
    with serving(version, home, tmp_path) as broker:
        seen = read(broker, SimpleNamespace(root=tmp_path), set(wanted))  # type: ignore[arg-type]
        said = [line for line in broker.lines() if COMPLAINT.search(line) and not USUAL.search(line)]
    # A killed one got more between that look and its death.
    differs = [each for each, rows in wanted.items() if seen.get(each, [])[: len(rows)] != rows]
    assert not differs
    assert not said


UPGRADED = ("upgraded-0", "v0-gzip-0", "v0-none-0", "v1-lz4-0", "v1-none-0", "codec-snappy-0")
"""Magic 0, 1 and 2 alone, and all of them in one log."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", ["1.1.0", "0.11.0.3", "2.8.2"])
def test_a_log_of_old_and_new_messages_out_of_hurt_replicas_is_served(version: str, tmp_path: Path) -> None:
    need_kafka(version)
    draw = random.Random(version)
    dirs = replicas(golden("1.1.0-killed"), tmp_path / "hurt", UPGRADED)
    run("rescue", dirs[0], "--out", tmp_path / "whole", "--as", "jsonl", code=0)
    hurt(dirs, draw, lambda: set(draw.sample(range(3), draw.choice((0, 1, 2)))))
    home = tmp_path / "b1"
    (home / "d1").mkdir(parents=True)
    run("rescue", *dirs, "--out", home / "d0", "--kafka", version, code=0)
    run("rescue", *dirs, "--out", tmp_path / "rows", "--as", "jsonl", code=0)
    whole = told(tmp_path / "whole")
    assert told(tmp_path / "rows") == whole
    with serving(version, home, tmp_path) as broker:
        seen = {name: list(consumed(broker.bootstrap, name[:-2], 0)) for name in UPGRADED}
        said = [line for line in broker.lines() if COMPLAINT.search(line) and not USUAL.search(line)]
    for name, rows in seen.items():
        assert rows == [as_consumed(row) for row in whole[name]], name
    assert not said


def as_consumed(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """A line of a rescue as librdkafka gives the record: 0 for magic 0, which has no time."""
    time = round(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000)
    headers = [(each["key"], each["value"]) for each in row["headers"]]
    return row["key"], row["value"], headers, max(time, 0)
