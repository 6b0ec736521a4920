"""Which segments the first look of retention deletes: UnifiedLog.deleteOldSegments."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from segmend.broker.retention import HOLDS, Limits, Look, Retained, breaches, judge

NOW = 1_000_000
FOREVER = Limits(retention_ms=-1, retention_bytes=-1)


def log(*ages: int, size: int = 100) -> list[Retained]:
    """Segments of ten offsets each, `ages` milliseconds old."""
    return [
        Retained(base_offset=n * 10, end_offset=n * 10 + 10, size=size, largest_timestamp=NOW - age)
        for n, age in enumerate(ages)
    ]


def gone(
    segments: list[Retained], limits: Limits, *, start: int = 0, high: int = 10**9
) -> list[tuple[int, str]]:
    found = breaches(segments, limits, Look(log_start=start, high_watermark=high, now_ms=NOW))
    return [(breach.count, breach.limit) for breach in found]


def test_nothing_goes_without_limits() -> None:
    assert gone(log(900, 800, 700), FOREVER) == []


def test_old_segments_go_up_to_the_first_that_may_stay() -> None:
    limits = Limits(retention_ms=500, retention_bytes=-1)
    assert gone(log(900, 800, 100, 900), limits) == [(2, "retention.ms")]


def test_a_young_oldest_segment_shields_all_others() -> None:
    assert gone(log(100, 900, 900), Limits(retention_ms=500, retention_bytes=-1)) == []


def test_nothing_goes_above_the_high_watermark() -> None:
    assert gone(log(900, 900, 900), Limits(retention_ms=500, retention_bytes=-1), high=20) == [
        (2, "retention.ms")
    ]


def test_a_timestamp_of_zero_expires_everything() -> None:
    zero = [Retained(base_offset=0, end_offset=10, size=5, largest_timestamp=0)]
    assert gone(zero, Limits(retention_ms=500, retention_bytes=-1)) == [(1, "retention.ms")]


def test_size_counts_whole_segments() -> None:
    assert gone(log(1, 1, 1, 1), Limits(retention_ms=-1, retention_bytes=250)) == [(1, "retention.bytes")]


def test_segments_below_the_log_start_go_even_from_compacted_topics() -> None:
    limits = Limits(retention_ms=1, retention_bytes=1, delete=False)
    assert gone(log(900, 900, 900), limits, start=20) == [(2, "log start offset")]


segment_lists = st.lists(st.tuples(st.integers(-500, 2000), st.integers(0, 200)), max_size=8)
limits = st.builds(
    Limits,
    retention_ms=st.sampled_from([-1, 0, 500]),
    retention_bytes=st.sampled_from([-1, 0, 150, 400]),
    delete=st.booleans(),
)


@given(segment_lists, limits, st.integers(0, 90), st.integers(0, 90))
def test_each_segment_has_one_verdict_that_agrees_with_what_goes(
    drawn: list[tuple[int, int]], limits: Limits, start: int, high: int
) -> None:
    segments = [
        Retained(base_offset=n * 10, end_offset=n * 10 + 10, size=size, largest_timestamp=NOW - age)
        for n, (age, size) in enumerate(drawn)
    ]
    now = Look(log_start=start, high_watermark=high, now_ms=NOW)
    verdicts = judge(segments, limits, now)
    gone = [breach.limit for breach in breaches(segments, limits, now) for _ in range(breach.count)]
    assert [verdict.goes for verdict in verdicts] == gone + [None] * (len(segments) - len(gone))
    assert all((verdict.goes is None) == (verdict.holds in HOLDS) for verdict in verdicts)
    dates = [verdict.date_ms for verdict in verdicts if verdict.date_ms is not None]
    assert dates == sorted(dates)


def held(segments: list[Retained], limits: Limits, high: int = 10**9) -> list[str | None]:
    return [
        each.holds for each in judge(segments, limits, Look(log_start=0, high_watermark=high, now_ms=NOW))
    ]


def test_why_segments_stay() -> None:
    timed = Limits(retention_ms=500, retention_bytes=-1)
    assert held(log(100, 900), timed) == ["not-due", "behind"]
    assert held(log(-100, 900), timed) == ["future", "behind"]
    assert held(log(900, 900), timed, high=5) == ["high-watermark", "behind"]
    assert held(log(900, 900), FOREVER) == ["no-limit", "no-limit"]
    assert held(log(900), Limits(retention_ms=500, retention_bytes=-1, delete=False)) == ["compact-only"]
    assert held(log(900, size=0), timed) == ["empty-active"]


def test_when_size_deletes_a_segment() -> None:
    """Three of 100 bytes with a limit of 250: the first goes when 50 more are there."""
    sized = Limits(retention_ms=-1, retention_bytes=250)
    verdicts = judge(log(1, 1, 1), sized, Look(log_start=0, high_watermark=10**9, now_ms=NOW))
    assert [verdict.bytes_until for verdict in verdicts] == [50, 150, 250]


def test_a_segment_goes_by_time_once_it_is_older_than_the_limit() -> None:
    timed = Limits(retention_ms=500, retention_bytes=-1)
    first, second = judge(log(100, 300), timed, Look(log_start=0, high_watermark=10**9, now_ms=NOW))
    assert first.due_ms == first.date_ms == NOW + 401
    assert (second.due_ms, second.date_ms) == (NOW + 201, NOW + 401)
