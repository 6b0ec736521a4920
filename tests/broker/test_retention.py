"""Which segments the first look of retention deletes: UnifiedLog.deleteOldSegments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmend.broker.retention import (
    HOLDS,
    Limits,
    Retained,
    RetentionLimit,
    RetentionLook,
    breaches,
    judge,
    outlook,
)
from segmend.logdir.release import Release

NOW = 1_000_000
FOREVER = Limits(retention_ms=-1, retention_bytes=-1)
TIMED = Limits(retention_ms=500, retention_bytes=-1)


def log(*ages: int, size: int = 100) -> list[Retained]:
    """Segments of ten offsets each, `ages` milliseconds old."""
    return [
        Retained(base_offset=n * 10, end_offset=n * 10 + 10, size=size, largest_timestamp=NOW - age)
        for n, age in enumerate(ages)
    ]


def gone(
    segments: list[Retained], limits: Limits, *, start: int = 0, high: int = 10**9, release: str = "4.3"
) -> list[tuple[int, str]]:
    look = RetentionLook(log_start=start, high_watermark=high, now_ms=NOW, release=Release.parse(release))
    found = breaches(segments, limits, look)
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
    now = RetentionLook(log_start=start, high_watermark=high, now_ms=NOW)
    verdicts = judge(segments, limits, now)
    gone = [breach.limit for breach in breaches(segments, limits, now) for _ in range(breach.count)]
    assert [verdict.goes for verdict in verdicts] == gone + [None] * (len(segments) - len(gone))
    assert all((verdict.goes is None) == (verdict.holds in HOLDS) for verdict in verdicts)
    dates = [verdict.date_ms for verdict in verdicts if verdict.date_ms is not None]
    assert dates == sorted(dates)


def held(segments: list[Retained], limits: Limits, high: int = 10**9) -> list[str | None]:
    return [
        each.holds
        for each in judge(segments, limits, RetentionLook(log_start=0, high_watermark=high, now_ms=NOW))
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
    verdicts = judge(log(1, 1, 1), sized, RetentionLook(log_start=0, high_watermark=10**9, now_ms=NOW))
    assert [verdict.bytes_until for verdict in verdicts] == [50, 150, 250]


def test_a_segment_goes_by_time_once_it_is_older_than_the_limit() -> None:
    timed = Limits(retention_ms=500, retention_bytes=-1)
    first, second = judge(log(100, 300), timed, RetentionLook(log_start=0, high_watermark=10**9, now_ms=NOW))
    assert first.due_ms == first.date_ms == NOW + 401
    assert (second.due_ms, second.date_ms) == (NOW + 201, NOW + 401)


BOTH = Limits(retention_ms=500, retention_bytes=250)


def test_the_order_of_the_rules_is_that_of_the_release() -> None:
    """Since 3.0 the log start offset is asked first and time last."""
    segments = log(900, 100, 900, 900, 100)
    assert gone(segments, BOTH, release="2.8.2") == [(1, "retention.ms"), (1, "retention.bytes")]
    assert gone(segments, BOTH, release="3.0.0") == [(2, "retention.bytes"), (2, "retention.ms")]
    by_start = [(1, "log start offset"), (1, "retention.bytes"), (2, "retention.ms")]
    assert gone(segments, BOTH, start=10, release="4.3") == by_start


def test_what_a_later_rule_uncovers_goes_one_look_later() -> None:
    look = RetentionLook(log_start=0, high_watermark=10**9, now_ms=NOW, release=Release.parse("1.1"))
    found = judge(log(100, 900, 100), Limits(retention_ms=500, retention_bytes=200), look, 5_000)
    assert [(each.goes, each.holds) for each in found] == [
        (RetentionLimit.SIZE, None), (None, "next-look"), (None, "not-due"),
    ]  # fmt: skip
    assert [each.goes_ms for each in found] == [NOW, NOW + 5_000, NOW + 401]


@pytest.mark.parametrize(("release", "count"), [("1.1", 0), ("2.0", 0), ("2.1", 2), ("4.3", 2)])
def test_without_delete_the_log_start_offset_counts_since_2_1(release: str, count: int) -> None:
    limits = Limits(retention_ms=1, retention_bytes=1, delete=False)
    assert sum(n for n, _ in gone(log(900, 900, 900), limits, start=20, release=release)) == count


def test_before_1_0_the_high_watermark_holds_nothing() -> None:
    assert gone(log(900, 900), TIMED, high=0, release="0.11") == [(2, "retention.ms")]
    assert gone(log(900, 900), TIMED, high=0, release="1.0") == []


def test_a_negative_limit_is_none_since_0_9() -> None:
    assert gone(log(900, 900), FOREVER, release="0.9") == []
    assert gone(log(900, 900), FOREVER, release="0.8.2") == [(2, "retention.ms")]


def test_an_empty_segment_in_front_goes_by_size_too() -> None:
    empty = Retained(base_offset=0, end_offset=10, size=0, largest_timestamp=NOW)
    sized = Limits(retention_ms=-1, retention_bytes=150)
    assert gone([empty, *log(0, 1, 1)[1:]], sized) == [(1, "retention.bytes")]


def test_an_empty_policy_keeps_everything_and_says_so() -> None:
    nothing = Limits(retention_ms=1, retention_bytes=1, delete=False, compact=False)
    assert held(log(900, 900), nothing) == ["no-policy", "no-policy"]
    unswept = Limits(retention_ms=1, retention_bytes=1, looked_at=False)
    assert held(log(900, 900), unswept) == ["cleaner-off", "cleaner-off"]


def test_held_is_said_of_the_high_watermark_only_where_it_holds() -> None:
    sized = Limits(retention_ms=500, retention_bytes=150)
    assert held(log(100, 900, 100), sized) == [None, None, "not-due"]
    assert held(log(100, 100, 100), sized, high=5) == ["high-watermark", "not-due", "not-due"]


def test_what_goes_once_the_high_watermark_moves() -> None:
    look = RetentionLook(log_start=0, high_watermark=10, now_ms=NOW, reach=30)
    found = judge(log(900, 900, 100), TIMED, look)
    assert [(each.goes, each.awaits) for each in found] == [
        ("retention.ms", None), (None, "retention.ms"), (None, None),
    ]  # fmt: skip
    assert [each.goes_ms for each in found] == [NOW, None, None]


def test_a_date_beyond_the_year_9999_is_none() -> None:
    forever = Limits(retention_ms=2**63 - 1 - 10**12, retention_bytes=-1)
    (only,) = judge(log(900), forever, RetentionLook(log_start=0, high_watermark=10, now_ms=NOW))
    assert (only.due_ms, only.date_ms, only.goes_ms) == (None, None, None)


def test_an_empty_active_segment_has_no_date() -> None:
    segments = [*log(900), Retained(base_offset=10, end_offset=10, size=0, largest_timestamp=NOW - 900)]
    found = judge(segments, TIMED, RetentionLook(log_start=0, high_watermark=10, now_ms=NOW))
    assert [(each.goes, each.holds, each.goes_ms) for each in found] == [
        ("retention.ms", None, NOW), (None, "empty-active", None),
    ]  # fmt: skip


def test_the_outlook_adds_up_what_goes_until_when() -> None:
    day = 86_400_000
    limits = Limits(retention_ms=10 * day, retention_bytes=-1)
    segments = log(11 * day, 9 * day + day // 2, 5 * day, 0)
    found = judge(segments, limits, RetentionLook(log_start=3, high_watermark=40, now_ms=NOW))
    told = outlook(found, NOW, 3)
    amounts = [told.now, told.day, told.week, told.ever]
    assert [each.segments for each in amounts] == [1, 2, 3, 4]
    assert [each.bytes for each in amounts] == [100, 200, 300, 400]
    assert [each.records for each in amounts] == [7, 17, 27, 37]


def test_where_copies_are_made_a_segment_waits_for_its_own() -> None:
    limits = Limits(retention_ms=500, retention_bytes=-1, remote=True)
    found = judge(log(900, 100), limits, RetentionLook(log_start=0, high_watermark=0, now_ms=NOW, reach=20))
    assert [(each.holds, each.awaits) for each in found] == [
        ("not-copied", "retention.ms"),
        ("not-due", None),
    ]
