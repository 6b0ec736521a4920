"""What the records of a segment say of their time, beside what retention goes by: read from batch headers.

Only of segments whose clock is doubtful, and only so many: a log is not read for every segment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from segmend.broker.retention import Clock, SegmentFate
from segmend.explain.timestamp_units import other_unit
from segmend.frozen import frozen
from segmend.loading.load import LoadedLog
from segmend.loading.reads import Budget
from segmend.loading.segment import lost_from

_MOST: Final = 50
"""Segments of one partition that are read."""


@frozen
class RecordTimes:
    """The least and the largest timestamp in the batch headers of a segment; -1: they have none."""

    first: int
    last: int


def doubt(fate: SegmentFate) -> str | None:
    """Why the clock of a segment may be no record's time: `zero`, `mtime`, another unit, `future`."""
    segment = fate.segment
    if fate.due_ms is None and fate.date_ms is None and fate.holds != "future":
        return None
    if not segment.size:
        return None
    if segment.clock == Clock.MTIME:
        return "mtime"
    if segment.largest_timestamp == 0:
        return "zero"
    return other_unit(segment.largest_timestamp) or ("future" if fate.holds == "future" else None)


def record_times(
    loaded: LoadedLog, fates: Sequence[SegmentFate], budget: Budget
) -> Mapping[int, RecordTimes]:
    """By base offset, of the doubtful segments as far as the budget goes."""
    wanted = {fate.segment.base_offset for fate in fates if doubt(fate) is not None}
    times: dict[int, RecordTimes] = {}
    for segment in loaded.state.segments:
        if len(times) >= _MOST:
            break
        if segment.base_offset in wanted and budget.takes(segment.size):
            read = lost_from(segment, 0)
            times[segment.base_offset] = RecordTimes(first=read.first_timestamp, last=read.last_timestamp)
    return times
