"""Today's engine against what real brokers deleted, when and by which rule; and wrong engines against it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from segmend.broker import retention
from segmend.broker.retention import RetentionLimit
from segmend.broker.rule import Rule
from segmend.loading import Later, forecast, high_watermark, later
from tests.conftest import one_in
from tests.lab.releases import release
from tests.lab.retention.compare import disagreements
from tests.lab.retention.draw import Trial, draw
from tests.lab.retention.judged import asked, judged, topic_id
from tests.lab.retention.record import RECORDED, Row, gone_of, recorded
from tests.lab.retention.write import write
from tests.seeds import some_of

VERSIONS = sorted(path.name.removesuffix(".jsonl.xz") for path in RECORDED.iterdir())

Patch = pytest.MonkeyPatch


def again(version: str, row: Row, log_dir: Path) -> Trial:
    """The recorded trial's log dir as it was."""
    trial = draw(release(version), row["seed"], row["topics"])
    log_dir.mkdir()
    if release(version).mode == "kraft":
        (log_dir / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=lab\n")
        for topic in trial.topics:
            (log_dir / f"{topic.name}-0").mkdir()
            text = f"version: 0\ntopic_id: {topic_id(topic.name)}"
            (log_dir / f"{topic.name}-0" / "partition.metadata").write_text(text)
    write(trial, log_dir, row["now"])
    return trial


def wrong(version: str, row: Row, trial: Trial, log_dir: Path) -> list[str]:
    """What segmend says otherwise than the broker did."""
    said = partial(judged, log_dir, release(version), trial, replayed=True)
    return list(disagreements(said, gone_of(row), row["first"], row["last"]))


@pytest.mark.slow
@pytest.mark.parametrize("version", one_in(len(VERSIONS), VERSIONS))
def test_segments_go_as_they_did(version: str, swift_path: Path, all_cases: bool) -> None:
    rows = recorded(version)
    assert rows
    for row in some_of(rows, 2, VERSIONS.index(version)) if all_cases else rows[:1]:
        log_dir = swift_path / str(row["seed"])
        trial = again(version, row, log_dir)
        assert wrong(version, row, trial, log_dir) == []


@pytest.mark.slow
def test_there_are_ten_thousand_segments() -> None:
    drawn = [draw(release(v), row["seed"], row["topics"]) for v in VERSIONS for row in recorded(v)]
    assert sum(len(topic.segments) for trial in drawn for topic in trial.topics) >= 10_000
    assert {trial.clean for trial in drawn} == {True, False}


def said_by_forecast(
    version: str, trial: Trial, log_dir: Path, now: int
) -> dict[str, tuple[int, int, int, int]]:
    """Segments and bytes that go for sure at the first looks, and those that wait, by topic."""
    broker, options = asked(log_dir, release(version), trial, now, replayed=True)
    told = [line for line in forecast(broker, options) if isinstance(line, Later) and line.limit]
    found = {}
    for topic in {str(line.topic) for line in told}:
        mine = [line for line in told if line.topic == topic]
        sure = [line for line in mine if line.seconds is not None]
        waits = [line for line in mine if line.seconds is None]
        found[topic] = (*_sum(sure), *_sum(waits))
    return found


def _sum(lines: list[Later]) -> tuple[int, int]:
    return sum(line.segments for line in lines), sum(line.bytes_lost for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("version", one_in(len(VERSIONS), VERSIONS))
def test_the_forecast_says_what_explain_says(version: str, tmp_path: Path) -> None:
    row = recorded(version)[-1]
    trial = again(version, row, tmp_path / "d")
    said = {}
    for each in judged(tmp_path / "d", release(version), trial, row["first"], replayed=True):
        goes = [v.segment.size for v in each.verdicts if v.goes or v.holds == "next-look"]
        waits = [v.segment.size for v in each.verdicts if v.awaits and v.holds != "next-look"]
        if goes or waits:
            said[each.topic] = (len(goes), sum(goes), len(waits), sum(waits))
    assert said_by_forecast(version, trial, tmp_path / "d", row["first"]) == said


def old_order(patch: Patch) -> None:
    rules = (RetentionLimit.TIME, RetentionLimit.SIZE, RetentionLimit.LOG_START)
    patch.setattr(retention, "WITH_DELETE", Rule("as up to 2.8", (((0, 8), rules),)))


def no_high_watermark(patch: Patch) -> None:
    patch.setattr(retention, "UP_TO_HIGH_WATERMARK", Rule("never", (((0, 8), False),)))


def time_of_files(patch: Patch) -> None:
    patch.setattr(later, "TIME_INDEX", Rule("never", (((0, 8), False),)))


def lifted_below_min_isr(patch: Patch) -> None:
    patch.setattr(high_watermark, "HELD_BELOW_MIN_ISR", Rule("never", (((0, 8), False),)))


MUTANTS = [
    ("3.9.2", old_order), ("3.9.2", no_high_watermark), ("3.9.2", time_of_files),
    ("3.7.2", lifted_below_min_isr),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("version", "mutant"), MUTANTS)
def test_a_wrong_engine_is_caught(
    version: str, mutant: Callable[[Patch], None], tmp_path: Path, monkeypatch: Patch
) -> None:
    row = recorded(version)[0]
    trial = again(version, row, tmp_path / "d")
    mutant(monkeypatch)
    assert len(wrong(version, row, trial, tmp_path / "d")) > 5
