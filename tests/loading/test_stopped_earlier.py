"""One of two dirs is of an earlier stop of its broker: an old snapshot, or a disk that was not mounted."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.golden.shared import golden

from segmend import check
from segmend.findings import Severity
from segmend.formats.clean_shutdown import FILE_NAME
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
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


DAY, NOW = 86_400, 1_790_000_000


def set_times(folder: Path, when: Callable[[str], int]) -> None:
    """Set the time of each file by its name."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (when(path.name), when(path.name)))


def of_the_last_run(name: str) -> int:
    """Sealed segments are of a week ago, what the broker goes on with is of now."""
    return NOW - 7 * DAY if name.startswith("00000000000000000000.") else NOW


def earlier(dirs: list[Path], release: str) -> list[str]:
    """The dirs of which the times say that they are of an earlier run."""
    return list(broker_of([LogDir.attempt(str(path)) for path in dirs], release).written_earlier)


@pytest.mark.parametrize("older", [0, 1])
@pytest.mark.parametrize("base", ["1.1.0-clean", "1.1.0-killed", "2.8.2-killed", "4.3.1-killed"])
def test_checkpoints_of_an_earlier_run_tell_of_an_older_dir(tmp_path: Path, base: str, older: int) -> None:
    shutil.copytree(golden(base) / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    release = base.partition("-")[0]
    for path in dirs:
        set_times(path, of_the_last_run)
    assert earlier(dirs, release) == []
    set_times(dirs[older], lambda name: of_the_last_run(name) - DAY)
    assert earlier(dirs, release) == [str(dirs[older])]
    set_times(dirs[1 - older], lambda name: NOW)  # as a copy makes them
    assert earlier(dirs, release) == []
    set_times(
        dirs[1 - older], lambda name: NOW if name == HIGH_WATERMARK else NOW - 2 * DAY
    )  # edited by hand
    assert earlier(dirs, release) == []


def test_no_all_clear_for_a_dir_of_an_earlier_run(tmp_path: Path) -> None:
    shutil.copytree(golden("1.1.0-killed") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    for number, path in enumerate(dirs):
        set_times(path, lambda name, days=number: of_the_last_run(name) - days * DAY)  # type: ignore[misc]
    logs = [LogDir.attempt(str(path)) for path in dirs]
    last = list(forecast(broker_of(logs, "1.1.0"), ForecastOptions(now_ms=0)))[-1].to_json()
    assert f"{dirs[1]}: what it should have: its checkpoints were last written 86,400 s" in last["unknown"][0]
