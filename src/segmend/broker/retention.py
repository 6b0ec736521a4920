"""Which segments of a loaded log retention deletes, and when it first looks.

Follows `UnifiedLog.deleteOldSegments`: from the oldest on, up to the first segment that may
stay; a segment goes only when the high watermark has reached its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

FIRST_LOOK_SECONDS = 30
"""`LogManager.InitialTaskDelayMs`: the first look after the start; then every 5 minutes."""

DELETE_DELAY_SECONDS = 60
"""`file.delete.delay.ms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """One segment as retention sees it; `largest_timestamp` as `LogSegment.largestTimestamp` (ms)."""

    base_offset: int
    end_offset: int
    """The next segment's base offset, or the log end offset."""
    size: int
    largest_timestamp: int
    by_mtime: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """-1 is no limit."""

    retention_ms: int
    retention_bytes: int
    delete: bool = True
    """Whether `cleanup.policy` has delete; otherwise only the log start offset counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """The first `count` segments go, for one reason, in Kafka's words."""

    count: int
    why: str
    broker_says: str


def breaches(
    segments: Sequence[Retained], limits: Limits, *, log_start: int, high_watermark: int, now_ms: int
) -> list[Breach]:
    """What the first look deletes: by time, by size, by log start offset, in this order."""
    found: list[Breach] = []
    gone = 0
    if limits.delete and limits.retention_ms >= 0:
        gone = _count(segments, high_watermark, lambda s: now_ms - s.largest_timestamp > limits.retention_ms)
        if gone:
            found.append(_by_time(segments[0], gone, limits.retention_ms))
    left = segments[gone:]
    more = _by_size(left, limits, high_watermark) if limits.delete and limits.retention_bytes >= 0 else 0
    if more:
        words = f"due to log retention size {limits.retention_bytes} breach"
        found.append(Breach(count=more, why="retention.bytes", broker_says=f"Deleting segments {words}"))
    left = left[more:]
    below = 0
    while below < len(left) - 1 and left[below].end_offset <= log_start:
        below += 1
    if below:
        words = f"due to log start offset {log_start} breach"
        found.append(Breach(count=below, why="log start offset", broker_says=f"Deleting segments {words}"))
    return found


def _count(segments: Sequence[Retained], high_watermark: int, goes: Callable[[Retained], bool]) -> int:
    count = 0
    for number, segment in enumerate(segments):
        empty_last = number == len(segments) - 1 and segment.size == 0
        if empty_last or high_watermark < segment.end_offset or not goes(segment):
            break
        count += 1
    return count


def _by_size(segments: Sequence[Retained], limits: Limits, high_watermark: int) -> int:
    over = sum(segment.size for segment in segments) - limits.retention_bytes
    count = 0
    for segment in segments:
        if over - segment.size < 0 or high_watermark < segment.end_offset or segment.size == 0:
            break
        over -= segment.size
        count += 1
    return count


def _by_time(first: Retained, count: int, retention_ms: int) -> Breach:
    basis = (
        "last modified time of the segment" if first.by_mtime else "largest record timestamp in the segment"
    )
    words = f"due to log retention time {retention_ms}ms breach based on the {basis} the segment"
    return Breach(count=count, why="retention.ms", broker_says=f"Deleting segments {words}")
