"""One of two dirs is of an earlier stop of its broker: an old snapshot, or a disk that was not mounted."""

import shutil
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.golden.shared import golden

from segmend import check
from segmend.findings import Severity
from segmend.formats.clean_shutdown import FILE_NAME
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.tree import LogDir


@pytest.mark.parametrize("older", [0, 1])
@pytest.mark.parametrize(("release", "known"), [("4.3.1", True), ("2.8.2", False)])
def test_no_all_clear_for_a_dir_of_an_earlier_stop(
    tmp_path: Path, release: str, known: bool, older: int
) -> None:
    shutil.copytree(golden(f"{release}-clean") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    for number, path in enumerate(dirs):
        (path / FILE_NAME).write_text(f'{{"version":0,"brokerEpoch":{7 if number == older else 10}}}')
    logs = [LogDir.attempt(str(path)) for path in dirs]
    last = list(forecast(broker_of(logs, release), ForecastOptions(now_ms=0)))[-1].to_json()
    told = [each for each in last["unknown"] if "broker epoch 7" in each]
    found = [each for each in check(*logs, kafka=release) if each.code == "C14"]
    expected = [str(dirs[older])] if known else []
    assert [each.partition(":")[0] for each in told] == expected
    assert [(each.dir, each.severity) for each in found] == [(path, Severity.WARNING) for path in expected]
