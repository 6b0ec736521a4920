"""What is said of compaction against what real cleaners did, as recorded; wrong models differ from it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segmend.broker import cleaner
from segmend.broker.cleaner import Bound, CleanerLimits, CleanerVerdict, CleanerView, Turn
from segmend.explain import compaction
from segmend.logdir.release import NEWEST, Release
from tests.lab.compaction.compare import disagreements, played, recorded, records, size_errors
from tests.seeds import SWEEP

EACH = 5
"""The fast tests take one start of so many; CI also every second one of the rest, a sweep all."""
STARTS = [
    pytest.param(
        version, start, id=f"{version}-{start['kind']}-{start['seed']}",
        marks=[pytest.mark.slow] if number % EACH else [],
    )
    for number, (version, start) in enumerate((v, start) for v in records() for start in recorded(v))
    if SWEEP or number % EACH == 0 or number % 2 == 0
]  # fmt: skip
Judge = Callable[[CleanerView, CleanerLimits, Release, int], CleanerVerdict]


@pytest.mark.parametrize(("version", "start"), STARTS)
def test_cleaners_did_what_is_said(version: str, start: dict[str, Any], tmp_path: Path) -> None:
    told = list(played(version, start, tmp_path))
    differing = {log.name: disagreements(said, seen) for log, said, seen in told}
    assert {name: found for name, found in differing.items() if found} == {}


def test_hundreds_of_logs_are_recorded() -> None:
    for version in ("1.1.0", "2.8.2", "3.3.2", "3.9.2", "4.3.1"):
        rows = [row for start in recorded(version) for row in start["logs"]]
        assert len(rows) >= 300, version
        assert sum(bool(row[1]) for row in rows) >= 100, version


@pytest.mark.slow
def test_the_size_after_a_cleaning_is_what_is_left(tmp_path: Path) -> None:
    """Small logs are read whole; the rest is what codecs make of fewer records."""
    errors = [each for start in recorded("4.3.1") for each in size_errors("4.3.1", start, tmp_path)]
    assert len(errors) >= 60
    assert sum(errors) / len(errors) < 0.02
    assert max(errors) < 0.25


def by_offset(view: CleanerView, limits: CleanerLimits, release: Release, now: int) -> CleanerVerdict:
    """Ends at the open transaction, not at the base of its segment."""
    found = cleaner.judge(view, limits, release, now)
    return replace(found, stop=found.uncleanable) if found.bound == Bound.TRANSACTION else found


def lag_from_the_start(
    view: CleanerView, limits: CleanerLimits, release: Release, now: int
) -> CleanerVerdict:
    """The first young segment of the whole log ends it."""
    found = cleaner.judge(view, limits, release, now)
    young = [s for s in view.segments[:-1] if s.largest_timestamp > now - limits.min_lag_ms]
    if limits.min_lag_ms <= 0 or not young or young[0].base_offset >= found.stop:
        return found
    return replace(found, stop=young[0].base_offset, dirty_bytes=0, turn=None)


def at_the_ratio(view: CleanerView, limits: CleanerLimits, release: Release, now: int) -> CleanerVerdict:
    """It is enough to reach the ratio."""
    found = cleaner.judge(view, limits, release, now)
    due = found.dirty_bytes and found.ratio >= limits.dirty_ratio
    return replace(found, turn=Turn.RATIO) if due else found


def without_max_lag(view: CleanerView, limits: CleanerLimits, release: Release, now: int) -> CleanerVerdict:
    """max.compaction.lag.ms does not count."""
    return cleaner.judge(view, replace(limits, max_lag_ms=2**63 - 1), release, now)


def without_checkpoint(
    view: CleanerView, limits: CleanerLimits, release: Release, now: int
) -> CleanerVerdict:
    """cleaner-offset-checkpoint does not count."""
    return cleaner.judge(replace(view, checkpoint=None), limits, release, now)


def as_the_newest(view: CleanerView, limits: CleanerLimits, release: Release, now: int) -> CleanerVerdict:
    """Every release does what the newest does."""
    return cleaner.judge(view, limits, NEWEST, now)


MUTANTS = [
    (by_offset, "4.3.1"), (lag_from_the_start, "4.3.1"), (at_the_ratio, "4.3.1"),
    (without_max_lag, "4.3.1"), (without_checkpoint, "4.3.1"), (as_the_newest, "1.1.0"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "version"), MUTANTS)
def test_a_wrong_model_differs(
    mutant: Judge, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "judge", mutant)
    told = (each for start in recorded(version) for each in played(version, start, tmp_path))
    assert any(disagreements(said, seen) for _, said, seen in told)
