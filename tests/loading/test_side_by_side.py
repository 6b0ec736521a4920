"""Directories loaded by several processes: the same forecast, whatever becomes of them."""

import threading
from functools import partial
from pathlib import Path

import pytest
from tests.checks import build_partition as build
from tests.faults.written import known_dirs, plain, removed

from segmend.loading import Options, forecast, side_by_side
from segmend.loading.reads import Budget
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir
from segmend.logdir.user import User
from segmend.node.broker_dirs import BrokerDirs

NOW_MS = 1_790_000_000_000


def told(dirs: list[Path], workers: int) -> list[object]:
    broker = BrokerDirs([LogDir.open(str(each)) for each in dirs], release=Release.parse("4.3"))
    options = Options(clean=False, now_ms=NOW_MS, workers=workers, user=User.named("0:0"))
    lines: list[object] = [line.to_json() for line in forecast(broker, options)]
    return [*lines, sorted(broker.release.asked or ())]  # the latter also out of other processes


@pytest.mark.parametrize("granted", [0, 2, 2_000])
@pytest.mark.parametrize("dies", [False, True])
def test_several_processes_say_what_one_says(
    granted: int, dies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirs = known_dirs(tmp_path)
    removed("t-0/partition.metadata")(dirs)
    monkeypatch.setattr("segmend.logdir.as_user._ATTRIBUTES_ASKED", 0)
    monkeypatch.setattr("segmend.loading.run.Budget", partial(Budget, segments=granted))
    alone = told(dirs, 1)
    forks, apart = counted_forks(monkeypatch), side_by_side._apart

    def worked(*given: object) -> object:
        return 1 / 0 if dies else apart(*given)

    monkeypatch.setattr(side_by_side, "_apart", worked)
    assert told(dirs, 3) == alone
    assert forks
    assert all((found is None) == dies for found in forks)


def counted_forks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What each other process finds from now on; two directories are worth one."""
    monkeypatch.setattr(side_by_side, "MANY", 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests leave threads behind
    forks: list[object] = []

    class Counted(side_by_side._Fork):
        def result(self) -> object:
            forks.append(super().result())
            return forks[-1]

    monkeypatch.setattr(side_by_side, "_Fork", Counted)
    return forks


@pytest.mark.parametrize("most", [1, 5, 10, 18, 24, 100])
@pytest.mark.parametrize("surely", [1.25, 0.01])
def test_the_attribute_is_asked_for_by_one_process(
    most: int, surely: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are begun before it was asked for of all logs that it is asked for; also where that was wrong."""
    dirs = [build.write_log_dir(tmp_path / "a", [plain(f"p{number}") for number in range(8)])]
    monkeypatch.setattr("segmend.logdir.as_user._ATTRIBUTES_ASKED", most)
    monkeypatch.setattr("segmend.loading.run.Budget", partial(Budget, segments=0))
    alone = told(dirs, 1)
    forks = counted_forks(monkeypatch)
    monkeypatch.setattr(side_by_side, "_TELLING", 1)
    monkeypatch.setattr(side_by_side, "_SURELY", surely)
    assert told(dirs, 2) == alone
    assert len(forks) == (most < 20 or surely < 1)
