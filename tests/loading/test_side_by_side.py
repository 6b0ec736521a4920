"""Directories loaded by several processes: the same forecast, whatever becomes of them."""

import threading
from functools import partial
from pathlib import Path

import pytest
from tests.faults.written import known_dirs, removed

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
    monkeypatch.setattr(side_by_side, "MANY", 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests leave threads behind
    forks, apart = [], side_by_side._apart

    def worked(*given: object) -> object:
        return 1 / 0 if dies else apart(*given)

    class Counted(side_by_side._Fork):
        def result(self) -> object:
            forks.append(super().result())
            return forks[-1]

    monkeypatch.setattr(side_by_side, "_apart", worked)
    monkeypatch.setattr(side_by_side, "_Fork", Counted)
    assert told(dirs, 3) == alone
    assert forks
    assert all((found is None) == dies for found in forks)
