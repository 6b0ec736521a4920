"""A segment of the old formats that is gone: what check and forecast say of it, and what a consumer got."""

import json
from pathlib import Path

import pytest

from segmend.checks import CheckRun, Level
from segmend.loading import ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.log_dir import LogDir
from tests.brokers import broker_of
from tests.conftest import GOLDEN
from tests.golden.unpack import unpack
from tests.lab.goldens.gone_segments import RECORD, hurt

RECORDED: dict[str, dict[str, list[list[int]]]] = json.loads(RECORD.read_text())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_consumer_misses_what_is_said_to_be_gone(name: str, tmp_path: Path) -> None:
    golden, started = name.split()
    home = unpack(GOLDEN / f"{golden}.tar.xz", tmp_path) / "b1"
    gone, seen = hurt(home), RECORDED[name]
    assert gone.keys() == seen.keys()
    dirs = [LogDir.open(str(path)) for path in sorted(home.glob("d*"))]
    found = [each for each in CheckRun(broker_of(dirs, started), level=Level.DEEP) if each.code == "N08"]
    said = {each.folder: (each.offset, (each.offset or 0) + each.detail["missing"]) for each in found}
    fails = {
        line.name
        for line in forecast(broker_of(dirs, started), ForecastOptions())
        if isinstance(line, PartitionOutcome) and any(each.effect == "reads-fail" for each in line.effects)
    }
    for partition, runs in seen.items():
        (_, end), (begin, _) = runs  # nothing before, between or behind them
        assert (end + 1, begin) == gone[partition], partition
        assert said.pop(partition) == gone[partition], partition
        assert partition in fails
    assert said == {}
