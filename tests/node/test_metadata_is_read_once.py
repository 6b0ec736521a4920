"""One command reads the cluster's metadata once: its log and its snapshots are opened at most once each."""

import time
from collections import Counter
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.golden.shared import golden

import segmend
from segmend.logdir.disk import FileReader


@pytest.fixture
def broker(tmp_path: Path) -> list[segmend.LogDir]:
    """A copy of the golden broker, of which nothing is in memory yet."""
    copy_tree(golden("4.3.1-clean") / "b1", tmp_path / "b1")
    time.sleep(0.03)
    return [segmend.open(path) for path in sorted((tmp_path / "b1").glob("d*"))]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file of `__cluster_metadata-0` was opened."""
    found: Counter[str] = Counter()
    init = FileReader.__init__

    def counted(self: FileReader, path: str) -> None:
        init(self, path)
        if "/__cluster_metadata-0/" in path:
            found[path.rpartition("/")[2]] += 1

    monkeypatch.setattr(FileReader, "__init__", counted)
    return found


def once(opened: Counter[str]) -> None:
    records = {name: count for name, count in opened.items() if name.endswith((".log", ".checkpoint"))}
    assert f"{0:020d}.log" in records
    assert set(records.values()) == {1}, opened
    assert max(opened.values()) <= 2, opened


@pytest.mark.slow
def test_a_plan_for_one_missing_index(broker: list[segmend.LogDir], opened: Counter[str]) -> None:
    next(Path(broker[0].path).glob("orders.eu-west_1-0/*.index")).unlink()
    plan = segmend.plan("repair", *broker)
    assert len(plan.steps) == 1
    assert plan.forecast
    once(opened)


@pytest.mark.parametrize("level", list(segmend.Level))
def test_a_check(level: segmend.Level, broker: list[segmend.LogDir], opened: Counter[str]) -> None:
    assert list(segmend.check(*broker, level=level)) == []
    once(opened)


def test_a_forecast(broker: list[segmend.LogDir], opened: Counter[str]) -> None:
    run = segmend.forecast(*broker)
    list(run)
    assert run.broker is not None
    assert run.broker.starts
    once(opened)
