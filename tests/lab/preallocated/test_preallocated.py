"""The forecast of preallocated logs after a kill, against brokers that were started over them."""

import json
from pathlib import Path
from typing import Any

import pytest

from segmend.checks import CheckRun
from segmend.findings import Severity
from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from tests.brokers import broker_of
from tests.golden.unpack import unpack
from tests.lab.broker import Seat
from tests.lab.preallocated.record import CASES, HERE, PARTITIONS, hurt, node

RELEASES = sorted(path.stem for path in HERE.glob("*.json"))
assert RELEASES, "the recordings are part of the repository"
SEEN: dict[str, dict[str, Any]] = {each: json.loads((HERE / f"{each}.json").read_text()) for each in RELEASES}


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("name", CASES)
def test_brokers_cut_what_is_said(version: str, name: str, tmp_path: Path) -> None:
    seen, case = SEEN[version][name], CASES[name]
    root = unpack(HERE / f"{version}.tar.xz", tmp_path)
    hurt(case, root / "b1")
    broker = node(version, root, Seat(1), case.settings)
    given = broker_of(
        [LogDir.open(str(each)) for each in broker.dirs], version, ServerConfig(given=broker.configuration())
    )
    *lines, last = forecast(given, ForecastOptions())
    assert isinstance(last, BrokerOutcome)
    assert last.starts == (seen["outcome"] == "starts"), last.reason
    worst = min((each.severity.rank for each in CheckRun(given)), default=9)
    if not last.starts:
        assert worst == Severity.ERROR.rank
        return
    said = {line.name: line for line in lines if isinstance(line, PartitionOutcome)}
    for partition in PARTITIONS:
        extent = [said[partition].after.log_start_offset, said[partition].after.log_end_offset]
        assert extent == seen["offsets"][partition]
        assert said[partition].after.bytes == sum(
            size for place, size in seen["sizes"].items() if place.startswith(f"{partition}/")
        )
    whole = seen["offsets"][PARTITIONS[0]] == seen["offsets"][PARTITIONS[1]]
    assert last.nothing_lost == whole, last.unknown
    assert (worst > Severity.WARNING.rank) == (whole and not case.marked)
