"""What brokers log when data goes: each line by what it tells, in the words of each release.

Read backwards from here (by `explain/deletion_lines.py`): a line of a server.log is one of these, whatever
release wrote it. What varies is named in braces. A release that is silent has None; its deletions leave other
lines, or none.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.rule import Words
from segmend.logdir.release import Release

FOUND: Final = Words.since(
    "Log.deleteOldSegments; the reason and the bases, before the segments are scheduled",
    ((0, 11), "Found deletable segments with base offsets [{bases}] due to {reason}"),
    ((2, 7), None),
)
SCHEDULED: Final = Words(
    "Log.asyncDeleteSegment, removeAndDeleteSegments: also of what the cleaner replaces, a truncation drops",
    (
        ((0, 8), "Scheduling log segment {base} for log {partition} for deletion."),
        ((1, 1), "Scheduling log segment [baseOffset {base}, size {size}] for deletion."),
        ((2, 4), "Scheduling segments for deletion {segments}"),
        ((2, 7), None),
    ),
)
_TIME: Final = "Deleting segment {segments} due to retention time {limit}ms breach based on the "
_LOG_TIME: Final = (
    "Deleting segment {segments} due to {local}log retention time {limit}ms breach based on the "
)
BY_RECORDS: Final = Words.since(
    "RetentionMsBreach.logReason",
    ((2, 7), _TIME + "largest record timestamp in the segment"),
    ((3, 6), _LOG_TIME + "largest record timestamp in the segment"),
)
BY_MTIME: Final = Words.since(
    "RetentionMsBreach.logReason, where the time index has no timestamp",
    ((2, 7), _TIME + "last modified time of the segment"),
    ((3, 6), _LOG_TIME + "last modified time of the segment"),
)
_LEFT: Final = ". {whose} size after deletion will be {left}."
_SIZE: Final = "log retention size {limit} breach" + _LEFT
BY_SIZE: Final = Words.since(
    "RetentionSizeBreach.logReason",
    ((2, 7), "Deleting segment {segments} due to " + _SIZE.removeprefix("log ")),
    ((3, 6), "Deleting segment {segments} due to {local}" + _SIZE),
)
BY_LOG_START: Final = Words.since(
    "StartOffsetBreach.logReason",
    ((2, 7), "Deleting segments due to log start offset {limit} breach: {segments}"),
    ((3, 6), "Deleting segments due to {local}log start offset {limit} breach: {segments}"),
)
TRUNCATED_SEGMENTS: Final = Words.since(
    "LogTruncation.logReason", ((2, 7), "Deleting segments as part of log truncation: {segments}")
)
RECOVERED: Final = Words.since(
    "LogRecovery.logReason, LogLoader.removeAndDeleteSegmentsAsync",
    ((2, 7), "Deleting segments as part of log recovery: {segments}"),
)
LOG_DELETED: Final = Words.since(
    "LogDeletion.logReason", ((2, 7), "Deleting segments as the log has been deleted: {segments}")
)
TOPIC_DELETED: Final = Words(
    "LogManager.asyncDelete",
    (
        ((0, 8), "Deleted log for partition [{topic},{number}] in {path}."),
        ((0, 10, 2), "Log for partition {partition} is renamed to {path} and is scheduled for deletion"),
    ),
)
REPLICA_DELETED: Final = "Deleted log for partition {partition} in {path}."
"""`LogManager.deleteLogs`, of a directory that was renamed before."""
STRAY: Final = Words.since(
    "LogManager.asyncDelete",
    ((3, 7), "Log for partition {partition} is marked as stray and renamed to {path}"),
)
LOG_START: Final = Words.since(
    "Log.maybeIncrementLogStartOffset; with LogStartOffsetIncrementReason since 2.6",
    ((0, 11), "Incrementing log start offset of partition {partition} to {limit} in dir {dir}"),
    ((1, 0), "Incrementing log start offset to {limit}"),
    ((2, 6), "Incremented log start offset to {limit} due to {reason}"),
)
TRUNCATED: Final = Words(
    "Log.truncateTo, UnifiedLog.truncateTo",
    (((0, 8), "Truncating log {partition} to offset {limit}."), ((1, 1), "Truncating to offset {limit}")),
)
BELOW_HIGH_WATERMARK: Final = Words.since(
    "ReplicaFetcherThread.truncate: what was acknowledged goes",
    ((2, 0), "Truncating {partition} to offset {limit} below high watermark {high}"),
)
FUTURE: Final = Words.since(
    "UnifiedLog.deleteOldSegments, LogFutureTimestampLogger: why it stays",
    ((4, 0), "{segments} contains future timestamp(s), making it ineligible to be deleted"),
)
UNTRIMMED: Final = Words.since(
    "AbstractIndex.resize in LogSegment.close: swallowed up to 3.9, and the zeros at its end stay",
    ((1, 0), "WARN {index} (Permission denied)"),
    ((3, 7), "java.io.FileNotFoundException: {index} (Permission denied)"),
)
THROWN: Final = "Suppressed: "
"""So a broker of 4.3 tells it of a time index: its dir goes offline, and the next start recovers the log."""
SAYINGS: Final = {
    "found": FOUND, "scheduled": SCHEDULED, "by-records": BY_RECORDS, "by-mtime": BY_MTIME,
    "by-size": BY_SIZE, "by-log-start": BY_LOG_START, "truncated-segments": TRUNCATED_SEGMENTS,
    "recovered": RECOVERED,
    "log-deleted": LOG_DELETED, "topic-deleted": TOPIC_DELETED, "stray": STRAY, "log-start": LOG_START,
    "truncated": TRUNCATED,
    "below-high-watermark": BELOW_HIGH_WATERMARK,
    "future": FUTURE, "untrimmed": UNTRIMMED,
}  # fmt: skip
"""What a line tells, by key."""

REASONS: Final = {
    "by-time": "retention time {limit}ms breach",
    "by-size": "retention size in bytes {limit} breach",
    "by-log-start": "log start offset {limit} breach",
}
"""The `{reason}` of `FOUND`."""
_REASON: Final = {
    BY_RECORDS: "by-time",
    BY_MTIME: "by-time",
    BY_SIZE: "by-size",
    BY_LOG_START: "by-log-start",
}
NO_TIME: Final = Words(
    "LogSegment.toString, of a time index that ends in zeros",
    (
        ((0, 8), "... largestTime=0 ..."),
        ((2, 7), "... largestRecordTimestamp=Some(0) ..."),
        ((3, 6), "... largestRecordTimestamp=0 ..."),
    ),
)
ASKED_BY_A_CLIENT: Final = "client delete records request"
FOLLOWED_THE_LEADER: Final = "leader offset increment"
"""`LogStartOffsetIncrementReason`."""

KAFKA_CONFIGS: Final = Words(
    "ConfigCommand: --bootstrap-server takes topics since 2.5, --zookeeper is gone for them since 3.0",
    (((0, 8), "kafka-configs --zookeeper HOST:2181"), ((2, 5), "kafka-configs --bootstrap-server HOST:9092")),
)


def going(
    words: Words, release: Release, limit: object, segments: str = "...", bases: str = "..."
) -> str | None:
    """The line of segments that go by retention; `bases` stand in that of releases before 2.7."""
    line = words.of(release)
    if line is None:
        return FOUND.say(release, bases=bases, reason=REASONS[_REASON[words]].format(limit=limit))
    return line.removesuffix(_LEFT).format(segments=segments, limit=limit, local="")
