"""By how much a partition grows, from its records' timestamps."""

from dataclasses import replace

from segmend.balancing.movable import DAY_MS, HOUR_MS, growth
from segmend.logdir.overview import PartitionOverview

WEEK_OLD = PartitionOverview(
    dir="/d", name="t-0", topic="t", partition=0, kind="current", topic_id=None, segments=1, size=700,
    allocated=4096, log_start_offset=0, log_end_offset=9, high_watermark=9, recovery_point=9,
    first_dirty_offset=None, leader_epoch=0, oldest_timestamp=DAY_MS, newest_timestamp=8 * DAY_MS, flags=(),
)  # fmt: skip


def test_as_fast_as_from_the_first_record_to_the_last() -> None:
    assert growth(WEEK_OLD, 3) == 300
    assert growth(WEEK_OLD, 0) == 0


def test_retention_keeps_a_log_at_its_size() -> None:
    assert growth(replace(WEEK_OLD, log_start_offset=5), 3) == 0


def test_little_time_tells_nothing() -> None:
    brief = replace(WEEK_OLD, newest_timestamp=WEEK_OLD.oldest_timestamp + HOUR_MS - 1)
    assert growth(brief, 3) == 0
    assert growth(replace(WEEK_OLD, oldest_timestamp=-1, newest_timestamp=-1), 3) == 0
