"""The real broker opens a rescued log dir without a complaint, and serves what it served before."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.run import run
from tests.golden.shared import golden
from tests.real.conftest import need_kafka
from tests.rescue.served import serving
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
        assert run("rescue", source, "--out", home / source.name, "--kafka", version).code == 0
    wanted = written(name)
    with serving(version, home, tmp_path) as broker:
        seen = read(broker, SimpleNamespace(root=tmp_path), set(wanted))  # type: ignore[arg-type]
        said = [line for line in broker.lines() if COMPLAINT.search(line) and not USUAL.search(line)]
    # A killed one got more between that look and its death.
    differs = [each for each, rows in wanted.items() if seen.get(each, [])[: len(rows)] != rows]
    assert not differs
    assert not said
