"""Which segments of a loaded log retention deletes, and when it first looks.

Follows `UnifiedLog.deleteOldSegments`: from the oldest on, up to the first segment that may
stay; a segment goes only when the high watermark has reached its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from segmend.broker.rule import Words
from segmend.frozen import frozen

FIRST_LOOK_SECONDS = 30
"""`LogManager.InitialTaskDelayMs`: the first look after the start; then every 5 minutes."""

DELETE_DELAY_SECONDS = 60
"""`file.delete.delay.ms`."""

_FOUND = "Found deletable segments with base offsets [...] due to retention time ...ms breach"
_FILE_TIME = "retention time ...ms breach based on the last modified time of the segment"
BY_FILE_TIME = Words(
    "UnifiedLog.deleteRetentionMsBreachedSegments; says by what since 2.7",
    (
        ((0, 8), None),
        ((0, 11), _FOUND),
        ((2, 7), f"Deleting segment ... due to {_FILE_TIME}"),
        ((3, 6), f"Deleting segment ... due to log {_FILE_TIME}"),
    ),
)
BY_RECORD_TIME = Words(
    "UnifiedLog.deleteRetentionMsBreachedSegments; shows the segment since 2.7",
    (
        ((0, 8), None),
        ((0, 11), _FOUND),
        ((2, 7), "Deleting segment ... largestTime=0 ... due to retention time ..."),
        ((3, 6), "Deleting segment ... largestTime=0 ... due to log retention time ..."),
    ),
)
FUTURE_TIMESTAMP = Words(
    "UnifiedLog.deleteRetentionMsBreachedSegments",
    (((0, 8), None), ((4, 0), "... contains future timestamp(s), making it ineligible to be deleted")),
)


@frozen
class Retained:
    """One segment as retention sees it; `largest_timestamp` as `LogSegment.largestTimestamp` (ms)."""

    base_offset: int
    end_offset: int
    """The next segment's base offset, or the log end offset."""
    size: int
    largest_timestamp: int
    by_mtime: bool = False


@frozen
class Limits:
    """-1 is no limit."""

    retention_ms: int
    retention_bytes: int
    delete: bool = True
    """Whether `cleanup.policy` has delete; otherwise only the log start offset counts."""


class RetentionLimit(StrEnum):
    """What retention deletes by."""

    TIME = "retention.ms"
    SIZE = "retention.bytes"
    LOG_START = "log start offset"


@frozen
class Breach:
    """The first `count` segments go, for one reason, in Kafka's words."""

    count: int
    limit: RetentionLimit
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
        found.append(Breach(count=more, limit=RetentionLimit.SIZE, broker_says=f"Deleting segments {words}"))
    left = left[more:]
    below = 0
    while below < len(left) - 1 and left[below].end_offset <= log_start:
        below += 1
    if below:
        words = f"due to log start offset {log_start} breach"
        found.append(
            Breach(count=below, limit=RetentionLimit.LOG_START, broker_says=f"Deleting segments {words}")
        )
    return found


HOLDS = {
    "compact-only": "cleanup.policy has no delete: the cleaner rewrites it, time and size do not count",
    "no-limit": "neither retention.ms nor retention.bytes is a limit",
    "empty-active": "it is the active segment, and empty",
    "not-due": "no limit is reached yet",
    "future": "its largest timestamp is in the future, and counts from there",
    "high-watermark": "its time has come, but the high watermark has not reached its end",
    "behind": "its time has come, but segments go from the oldest on, and one in front of it stays",
}
"""Why a segment stays."""


@frozen
class SegmentFate:
    """What becomes of one segment: it goes at the next look (`goes` says why), or it stays (`holds`).

    `due_ms` is when time alone would delete it, `date_ms` when it can go for that, with all in
    front of it gone; `bytes_until` how much must be appended until size deletes it. None: never.
    """

    segment: Retained
    goes: RetentionLimit | None
    holds: str | None
    due_ms: int | None
    date_ms: int | None
    bytes_until: int | None


def judge(
    segments: Sequence[Retained], limits: Limits, *, log_start: int, high_watermark: int, now_ms: int
) -> list[SegmentFate]:
    """Why each segment goes or stays, by the same look as `breaches`; every timestamp must be known."""
    found = breaches(segments, limits, log_start=log_start, high_watermark=high_watermark, now_ms=now_ms)
    reasons = [breach.limit for breach in found for _ in range(breach.count)]
    timed, sized = limits.delete and limits.retention_ms >= 0, limits.delete and limits.retention_bytes >= 0
    room = limits.retention_bytes - sum(each.size for each in segments[len(reasons) :])
    verdicts, date = [], 0
    for number, each in enumerate(segments):
        goes = reasons[number] if number < len(reasons) else None
        due = each.largest_timestamp + limits.retention_ms + 1 if timed else None
        date = max(date, due or 0)
        room += each.size if goes is None else 0
        holds = None if goes else _holds(segments, number, limits, now_ms, len(reasons))
        verdicts.append(
            SegmentFate(
                segment=each, goes=goes, holds=holds, due_ms=due, date_ms=date if timed else None,
                bytes_until=max(room, 0) if sized and goes is None else None,
            )
        )  # fmt: skip
    return verdicts


def _holds(segments: Sequence[Retained], number: int, limits: Limits, now_ms: int, gone: int) -> str:
    each = segments[number]
    if not limits.delete:
        return "compact-only"
    if limits.retention_ms < 0 and limits.retention_bytes < 0:
        return "no-limit"
    if number == len(segments) - 1 and each.size == 0:
        return "empty-active"
    if limits.retention_ms >= 0 and now_ms - each.largest_timestamp > limits.retention_ms:
        return "behind" if number > gone else "high-watermark"
    return "future" if limits.retention_ms >= 0 and each.largest_timestamp > now_ms else "not-due"


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
    return Breach(count=count, limit=RetentionLimit.TIME, broker_says=f"Deleting segments {words}")
