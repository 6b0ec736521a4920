"""Directories loaded by several processes: the same forecast, whatever becomes of them."""

import threading
from functools import partial
from pathlib import Path

import pytest
from tests.checks import build_partition as build
from tests.conftest import one_in
from tests.faults.written import known_dirs, plain, removed

from segmend.loading import ForecastOptions, forecast, side_by_side
from segmend.loading.reads import Budget
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.logdir.user import User
from segmend.node.broker_dirs import BrokerDirs

NOW_MS = 1_790_000_000_000


def told(dirs: list[Path], workers: int) -> list[object]:
    broker = BrokerDirs([LogDir.open(str(each)) for each in dirs], release=Release.parse("4.3"))
    options = ForecastOptions(clean=False, now_ms=NOW_MS, workers=workers, user=User.named("0:0"))
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


def test_without_a_process_more_it_is_loaded_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirs = [build.write_log_dir(tmp_path / "a", [plain(f"p{number}") for number in range(8)])]
    alone = told(dirs, 1)
    counted_forks(monkeypatch)

    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("segmend.loading.side_by_side.os.fork", refused)
    assert told(dirs, 2) == alone


def counted_forks(monkeypatch: pytest.MonkeyPatch, telling: int = 0) -> list[object]:
    """What each other process finds from now on; whatever is left is worth one."""
    monkeypatch.setattr(side_by_side, "LONG", 0)
    monkeypatch.setattr(side_by_side, "_TELLING", telling)
    monkeypatch.setattr(side_by_side, "_RARELY", 0)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests leave threads behind
    forks: list[object] = []

    class Counted(side_by_side._Fork):
        def result(self, number: int) -> object:
            forks.append(super().result(number))
            return forks[-1]

    monkeypatch.setattr(side_by_side, "_Fork", Counted)
    return forks


@pytest.mark.parametrize("most", one_in(3, [1, 5, 10, 18, 24, 20_000]))
@pytest.mark.parametrize("immutable", [(), ("p1-0",), ("p4-0",), ("p6-0", "p7-0")])
def test_the_attribute_is_asked_for_as_by_one_process(
    most: int, immutable: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes ask of as many as were left at their begin; those beyond the limit count as unasked."""
    dirs = [build.write_log_dir(tmp_path / "a", [plain(f"p{number}") for number in range(8)])]
    monkeypatch.setattr("segmend.logdir.as_user._ATTRIBUTES_ASKED", most)
    monkeypatch.setattr("segmend.logdir.disk.is_immutable", lambda path: path.split("/")[-2] in immutable)
    monkeypatch.setattr("segmend.loading.run.Budget", partial(Budget, segments=0))
    alone = told(dirs, 1)
    forks = counted_forks(monkeypatch)
    assert told(dirs, 2) == alone
    assert forks


@pytest.mark.parametrize(("granted", "shared"), [(0, True), (6, True), (2_000, False)])
def test_it_is_shared_where_the_others_are_granted_no_reads(
    granted: int, shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each of their directories would be loaded twice."""
    dirs = [build.write_log_dir(tmp_path / "a", [plain(f"p{number}") for number in range(24)])]
    monkeypatch.setattr("segmend.loading.run.Budget", partial(Budget, segments=granted))
    alone = told(dirs, 1)
    rarely = side_by_side._RARELY
    forks = counted_forks(monkeypatch, telling=1)
    monkeypatch.setattr(side_by_side, "_RARELY", rarely)
    assert told(dirs, 2) == alone
    assert bool(forks) == shared


def test_what_is_soon_done_is_not_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirs = [build.write_log_dir(tmp_path / "a", [plain(f"p{number}") for number in range(24)])]
    long = side_by_side.LONG
    forks = counted_forks(monkeypatch, telling=1)
    monkeypatch.setattr(side_by_side, "LONG", long * 100)  # this machine may be busy
    assert told(dirs, 2)
    assert not forks
