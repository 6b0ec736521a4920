"""A segment in the middle is gone: seen in every format, also where only the records tell of no cleaner."""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.golden.shared import golden

from segmend.checks import CheckRun, Level
from segmend.loading import Forecast, ForecastOptions

COMPRESSED = ["codec-gzip-0", "codec-lz4-0", "codec-snappy-0"]


@pytest.mark.parametrize("name", ["codec-none-0", *COMPRESSED])
@pytest.mark.parametrize("level", [Level.DEFAULT, Level.DEEP])
def test_in_the_oldest_format(name: str, level: Level, tmp_path: Path) -> None:
    (original,) = golden("0.8.2.2-killed").glob(f"b1/*/{name}")
    log_dir = tmp_path / "d"
    shutil.copytree(original, log_dir / name)
    (log_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    bases = sorted(int(each.stem) for each in original.glob("*.log"))
    for file in (log_dir / name).glob(f"{bases[2]:020}.*"):
        file.unlink()
    broker = broker_of([log_dir], "0.8.2.2")
    found = [each for each in CheckRun(broker, level=level) if each.code == "N08"]
    assert [(each.offset, each.detail["missing"]) for each in found] == [(bases[2], bases[3] - bases[2])]
    forecast = Forecast(broker, ForecastOptions(now_ms=0))
    effects = [each for line in forecast for each in getattr(line, "effects", ())]
    assert bases[2] in [each.offset for each in effects if each.effect == "reads-fail"]
