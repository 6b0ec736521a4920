"""Which segments the first look of retention deletes: UnifiedLog.deleteOldSegments."""

from __future__ import annotations

from segmend.broker.retention import Limits, Retained, breaches

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
    found = breaches(segments, limits, log_start=start, high_watermark=high, now_ms=NOW)
    return [(breach.count, breach.why) for breach in found]


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
