"""The rules of the log cleaner, release by release, at their boundaries."""

from dataclasses import replace

import pytest

from segmend.broker.cleaner import (
    Bound,
    Cleanable,
    CleanerLimits,
    CleanerVerdict,
    CleanerView,
    Reset,
    Turn,
    judge,
    map_slots,
)
from segmend.logdir.release import Release

NOW = 1_000_000
SEGMENTS = [
    Cleanable(base_offset=base, size=100, largest_timestamp=base + 10, first_timestamp=base + 10)
    for base in (0, 10, 20, 30)
]
LOG = CleanerView(segments=SEGMENTS, log_start=0, log_end=35, high_watermark=35)


def judged(release: str = "4.3", limits: CleanerLimits | None = None, **given: object) -> CleanerVerdict:
    view = replace(LOG, **given)  # type: ignore[arg-type]
    return judge(view, limits or CleanerLimits(), Release.parse(release), NOW)


def test_all_but_the_active_segment_of_a_log_that_was_never_cleaned() -> None:
    found = judged()
    assert (found.first_dirty, found.stop, found.bound) == (0, 30, Bound.ACTIVE)
    assert (found.clean_bytes, found.dirty_bytes, found.turn) == (0, 300, Turn.RATIO)


@pytest.mark.parametrize(("open_at", "stop"), [(25, 20), (20, 20), (5, 0), (33, 30)])
def test_an_open_transaction_holds_the_segment_it_begins_in(open_at: int, stop: int) -> None:
    assert judged(unstable=open_at).stop == stop


@pytest.mark.parametrize(("release", "stop"), [("3.0", 30), ("3.1", 10)])
def test_the_high_watermark_counts_since_3_1(release: str, stop: int) -> None:
    assert judged(release, high_watermark=15).stop == stop


@pytest.mark.parametrize(("release", "first"), [("2.3.0", 0), ("2.3.1", 12)])
def test_the_log_start_offset_counts_since_2_3_1(release: str, first: int) -> None:
    assert judged(release, log_start=12).first_dirty == first


@pytest.mark.parametrize(
    ("release", "first", "reset"), [("2.3.0", 99, None), ("2.3.1", 0, Reset.BEYOND), ("4.3", 0, Reset.BEYOND)]
)
def test_a_checkpoint_beyond_the_end(release: str, first: int, reset: Reset | None) -> None:
    found = judged(release, checkpoint=99)
    assert (found.first_dirty, found.reset) == (first, reset)


def test_the_end_itself_is_not_beyond_it() -> None:
    assert judged(checkpoint=35).first_dirty == 35
    assert judged(checkpoint=35).dirty_bytes == 0


def test_a_checkpoint_below_the_start() -> None:
    found = judged(log_start=10, checkpoint=5)
    assert (found.first_dirty, found.reset) == (10, Reset.BELOW)


def test_the_ratio_must_be_passed() -> None:
    """A segment is dirty of two."""
    limits = CleanerLimits(dirty_ratio=0.5)
    assert judged(limits=limits, checkpoint=10, segments=SEGMENTS[:3]).turn is None
    assert judged(limits=limits, checkpoint=10).turn == Turn.RATIO


def test_a_checkpoint_inside_a_segment_counts_it_twice() -> None:
    found = judged(checkpoint=15)
    assert (found.clean_bytes, found.dirty_bytes) == (200, 200)


def test_the_lag_counts_from_the_first_dirty_segment_on() -> None:
    young = [replace(SEGMENTS[0], largest_timestamp=NOW), *SEGMENTS[1:]]
    limits = CleanerLimits(min_lag_ms=500)
    assert judged(limits=limits, segments=young).stop == 0
    assert judged(limits=limits, segments=young, checkpoint=10).stop == 30


def test_the_lag_is_passed_at_its_millisecond() -> None:
    at = [*SEGMENTS[:2], replace(SEGMENTS[2], largest_timestamp=NOW - 500), SEGMENTS[3]]
    limits = CleanerLimits(min_lag_ms=500)
    assert judged(limits=limits, segments=at).stop == 30
    assert judged(limits=replace(limits, min_lag_ms=501), segments=at).stop == 20


def test_max_lag_goes_by_the_first_batch_of_a_dirty_segment() -> None:
    limits = CleanerLimits(dirty_ratio=1.0, max_lag_ms=NOW - 11)
    assert judged(limits=limits).turn == Turn.MAX_LAG
    assert judged(limits=limits).due_ms == NOW - 1
    assert judged(limits=limits, checkpoint=10).turn is None
    assert judged("2.2", limits=limits).turn is None
    undated = [replace(each, first_timestamp=0) for each in SEGMENTS]
    assert judged(limits=limits, segments=undated).due_ms is None


def test_a_map_takes_so_many_keys() -> None:
    assert map_slots(128 << 20, 1, 0.9) == 5_033_164
    assert map_slots(1048577, 1, 0.0004) == 17
    assert map_slots(2 << 20, 2, 0.9) == 39_321
