"""Which segments of a loaded log retention deletes, by which rule, and when it looks.

Follows `UnifiedLog.deleteOldSegments`: rule by rule, each from the oldest segment on up to the first
that may stay; a segment goes only when the high watermark has reached its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from segmend.broker import deletions
from segmend.broker.rule import Rule, Words, new_in
from segmend.frozen import frozen, replace
from segmend.logdir.release import NEWEST, Release

FIRST_LOOK_SECONDS = 30
"""`LogManager.InitialTaskDelayMs`: the first look after the start; then every 5 minutes."""

FIRST_LOOK_CAN_BE_SET: Final = new_in("ServerLogConfigs, log.initial.task.delay.ms", (3, 8))

CHECK_INTERVAL_MS = 300_000
"""`log.retention.check.interval.ms`."""

DELETE_DELAY_SECONDS = 60
"""`file.delete.delay.ms`."""

NEVER_MS = 253_402_300_800_000
"""The year 10000: a date from then on is none (`retention.ms` of Long.MAX)."""


class Clock(StrEnum):
    """What tells how old a segment is: its time index, the modification time of its log, its records
    (where the broker reads them, in a recovery), or nothing (no limit by time)."""

    TIME_INDEX = "time-index"
    MTIME = "mtime"
    RECORD = "record"
    NONE = "none"


class RetentionLimit(StrEnum):
    TIME = "retention.ms"
    SIZE = "retention.bytes"
    LOG_START = "log start offset"


_TIME_FIRST = (RetentionLimit.TIME, RetentionLimit.SIZE, RetentionLimit.LOG_START)
_START_FIRST = (RetentionLimit.LOG_START, RetentionLimit.SIZE, RetentionLimit.TIME)
WITH_DELETE: Rule[tuple[RetentionLimit, ...]] = Rule(
    "UnifiedLog.deleteOldSegments, where cleanup.policy has delete; KIP-107, KAFKA-12177",
    (((0, 8), _TIME_FIRST[:2]), ((0, 11), _TIME_FIRST), ((3, 0), _START_FIRST)),
)
"""The rules in the order in which they look."""
WITHOUT_DELETE: Rule[tuple[RetentionLimit, ...]] = Rule(
    "UnifiedLog.deleteOldSegments, where it has not; KAFKA-7400",
    (((0, 8), ()), ((2, 1), (RetentionLimit.LOG_START,))),
)
UP_TO_HIGH_WATERMARK: Final = new_in("Log.deletableSegments; KAFKA-5634", (1, 0))
NEGATIVE_TIME_IS_NONE: Final = new_in("LogManager.cleanupExpiredSegments", (0, 9))
"""Whether a negative `retention.ms` of a topic is no limit: 0.8 deletes everything by it."""
MARK_FROM_LOG_START: Final = new_in("Log.updateHighWatermark", (2, 4))
"""Whether the high watermark is never below the log start offset."""
HELD_BELOW_MIN_ISR: Final = new_in("Partition.maybeIncrementLeaderHW; KAFKA-15583", (3, 7))
"""Whether the high watermark stands still while the ISR is smaller than `min.insync.replicas`."""
GOES_UNCOPIED_BELOW_START: Final = new_in("UnifiedLog.isSegmentEligibleForDeletion", (3, 7))
"""Whether what lies below the log start offset goes without having been copied to remote storage."""
LOCAL_WITHOUT_POLICY: Final = new_in("UnifiedLog.deleteOldSegments, where cleanup.policy is empty", (4, 2))
"""Whether local limits count where an empty cleanup.policy leaves all to remote storage."""
COPY_CAN_BE_DISABLED: Final = new_in("UnifiedLog.remoteLogEnabledAndRemoteCopyEnabled; KIP-950", (3, 9))


@frozen
class Retained:
    """One segment as retention sees it; `largest_timestamp` as `LogSegment.largestTimestamp` (ms)."""

    base_offset: int
    end_offset: int
    """The next segment's base offset, or the log end offset."""
    size: int
    largest_timestamp: int
    clock: Clock = Clock.TIME_INDEX

    @property
    def by_mtime(self) -> bool:
        """Whether the time is the file's."""
        return self.clock == Clock.MTIME


@frozen
class Limits:
    """-1 is no limit."""

    retention_ms: int
    retention_bytes: int
    delete: bool = True
    """Whether `cleanup.policy` has delete; otherwise at most the log start offset counts."""
    compact: bool = True
    """Whether it has compact, where it has no delete."""
    looked_at: bool = True
    """Whether anything looks at the log: at one with compact only the cleaner does."""
    set_aside: bool = False
    """Whether the cleaner looks at it no more, because it throws over a batch of it."""
    remote: bool = False
    """Whether a segment goes only once it is copied to remote storage, where its records stay."""


def rules_of(limits: Limits, release: Release) -> tuple[RetentionLimit, ...]:
    """The rules by which segments go under these limits, in their order."""
    if not limits.looked_at:
        return ()
    local = limits.remote and not limits.compact and LOCAL_WITHOUT_POLICY.of(release)
    rules = (WITH_DELETE if limits.delete or local else WITHOUT_DELETE).of(release)
    unlimited = {
        RetentionLimit.TIME: limits.retention_ms < 0 and NEGATIVE_TIME_IS_NONE.of(release),
        RetentionLimit.SIZE: limits.retention_bytes < 0,
    }
    return tuple(rule for rule in rules if not unlimited.get(rule, False))


@frozen
class RetentionLook:
    """What a look goes by. `high_watermark` is what it has surely reached, `reach` what it perhaps
    reaches before the look (None: no more), as it does when all that the ISR names are there."""

    log_start: int
    high_watermark: int
    now_ms: int
    release: Release = NEWEST
    reach: int | None = None

    def rules(self, limits: Limits) -> tuple[RetentionLimit, ...]:
        return rules_of(limits, self.release)

    def reached(self, end_offset: int) -> bool:
        return self.high_watermark >= end_offset or not UP_TO_HIGH_WATERMARK.of(self.release)

    @property
    def at_best(self) -> RetentionLook:
        """The same with all that the high watermark may reach."""
        if self.reach is None or self.reach <= self.high_watermark:
            return self
        return replace(self, high_watermark=self.reach, reach=None)

    def after(self, first_base: int) -> RetentionLook:
        """The next one, once all in front of `first_base` is gone."""
        return replace(self, log_start=max(self.log_start, first_base))


@frozen
class Breach:
    """The first `count` segments (of those left by what was found before) go, for one reason."""

    count: int
    limit: RetentionLimit
    broker_says: str | None


def breaches(segments: Sequence[Retained], limits: Limits, look: RetentionLook) -> list[Breach]:
    broken: list[Breach] = []
    left = segments
    for rule in look.rules(limits):
        count = _COUNTS[rule](left, limits, look)
        if count:
            broken.append(Breach(count=count, limit=rule, broker_says=says(rule, left[:count], limits, look)))
        left = left[count:]
    return broken


def says(rule: RetentionLimit, gone: Sequence[Retained], limits: Limits, look: RetentionLook) -> str | None:
    """What the broker logs of segments that go by a rule."""
    words = deletions.BY_MTIME if gone[0].by_mtime else deletions.BY_RECORDS
    said: dict[RetentionLimit, tuple[Words, int]] = {
        RetentionLimit.TIME: (words, limits.retention_ms),
        RetentionLimit.SIZE: (deletions.BY_SIZE, limits.retention_bytes),
        RetentionLimit.LOG_START: (deletions.BY_LOG_START, look.log_start),
    }
    bases = ",".join(str(each.base_offset) for each in gone[:1]) + (",..." if len(gone) > 1 else "")
    words, limit = said[rule]
    return deletions.going(words, look.release, limit, bases=bases)


HOLDS = {
    "compact-only": "cleanup.policy has no delete: the cleaner rewrites it, time and size do not count",
    "cleaner-off": "log.cleaner.enable is false, and nothing else looks at a log with compact",
    "set-aside": "the log cleaner throws over a batch of it at its first look, and nothing else looks",
    "no-policy": "cleanup.policy is empty: neither time nor size counts, and nothing is compacted",
    "no-limit": "neither retention.ms nor retention.bytes is a limit",
    "empty-active": "it is the active segment, and empty",
    "not-due": "no limit is reached yet",
    "future": "its largest timestamp is in the future, and counts from there",
    "high-watermark": "its time has come, but the high watermark has not reached its end",
    "not-copied": "its time has come here: it goes once it is copied to remote storage",
    "next-look": "its time has come, but this look has passed its rule: it goes at the next one",
    "behind": "its time has come, but segments go from the oldest on, and one in front of it stays",
}
"""Why a segment stays."""


@frozen
class SegmentFate:
    """What becomes of one segment: it goes at the next look (`goes` says why), or it stays (`holds`).

    `due_ms` is when time alone would delete it, `date_ms` when it can go for that, with all in
    front of it gone; `bytes_until` how much must be appended until size deletes it. None: never.
    `goes_ms` is when it goes if nothing is written, and `goes_by` the rule. `awaits` is the rule by which
    it goes at the next look if the high watermark reaches its end until then, which is not known.
    """

    segment: Retained
    goes: RetentionLimit | None
    holds: str | None
    due_ms: int | None
    date_ms: int | None
    bytes_until: int | None
    goes_ms: int | None = None
    goes_by: RetentionLimit | None = None
    awaits: RetentionLimit | None = None


def judge(
    segments: Sequence[Retained], limits: Limits, look: RetentionLook, interval_ms: int = CHECK_INTERVAL_MS
) -> list[SegmentFate]:
    """Why each segment goes or stays, by the same look as `breaches`; every timestamp must be known.

    The looks follow each other after `interval_ms`.
    """
    gone = list(_each_gone(segments, limits, look))
    first = sum(1 for number, _ in gone if number == 0)
    perhaps = [rule for number, rule in _each_gone(segments, limits, look.at_best) if number == 0]
    rules = look.rules(limits)
    dates = list(_dates(segments, limits, look, gone))
    everywhere = replace(look, high_watermark=segments[-1].end_offset) if segments else look
    free = len(gone) if look == everywhere else sum(1 for _ in _each_gone(segments, limits, everywhere))
    room = limits.retention_bytes - sum(each.size for each in segments[first:])
    verdicts = []
    for number, each in enumerate(segments):
        goes = gone[number][1] if number < first else None
        holds = None if goes else _holds(segments, number, limits, look, len(gone), free)
        room += 0 if goes else each.size
        when = None if dates[number] is None else max(dates[number] or 0, look.now_ms)
        by = None if when is None else RetentionLimit.TIME
        if number < len(gone):
            when, by = look.now_ms + gone[number][0] * interval_ms, gone[number][1]
        verdicts.append(
            SegmentFate(
                segment=each, goes=goes, holds=holds, date_ms=dates[number], goes_ms=when, goes_by=by,
                due_ms=_due(each, limits) if RetentionLimit.TIME in rules else None,
                bytes_until=max(room, 0) if RetentionLimit.SIZE in rules and goes is None else None,
                awaits=perhaps[number] if goes is None and number < len(perhaps) else None,
            )
        )  # fmt: skip
    return verdicts


def looks(segments: Sequence[Retained], limits: Limits, look: RetentionLook) -> Iterator[list[Breach]]:
    """What each look deletes, from the first on, if nothing is written and no time passes.

    Where time is asked first, what a later rule took from in front of old segments lets them go
    at the look after that.
    """
    left = segments
    while deleted := breaches(left, limits, look):
        yield deleted
        left = left[sum(breach.count for breach in deleted) :]
        if not left:
            return
        look = look.after(left[0].base_offset)


def _each_gone(
    segments: Sequence[Retained], limits: Limits, look: RetentionLook
) -> Iterator[tuple[int, RetentionLimit]]:
    """(which look, by which rule) of each segment that `looks` delete."""
    for number, deleted in enumerate(looks(segments, limits, look)):
        for breach in deleted:
            yield from ((number, breach.limit) for _ in range(breach.count))


def _dates(
    segments: Sequence[Retained],
    limits: Limits,
    look: RetentionLook,
    gone: Sequence[tuple[int, RetentionLimit]],
) -> Iterator[int | None]:
    """When each can go by time alone, those in front of it being gone by then."""
    timed, date = RetentionLimit.TIME in look.rules(limits), 0
    for number, each in enumerate(segments):
        due = _due(each, limits)
        if number < len(gone):
            by_time = gone[number][1] == RetentionLimit.TIME and due is not None
            date = max(date, due or 0) if by_time else date
            yield date if by_time else None
            continue
        timed = timed and due is not None and look.reached(each.end_offset)
        timed = timed and not _empty_active(segments, number)
        date = max(date, due or 0)
        yield date if timed else None


def _due(segment: Retained, limits: Limits) -> int | None:
    due = segment.largest_timestamp + limits.retention_ms + 1
    return due if due < NEVER_MS else None


def _holds(
    segments: Sequence[Retained], number: int, limits: Limits, look: RetentionLook, gone: int, free: int
) -> str:
    """`gone` segments go at this look or those that follow at once, `free` if all were replicated."""
    each = segments[number]
    if number < gone:
        return "next-look"
    if number < free:
        return "behind" if number > gone else "not-copied" if limits.remote else "high-watermark"
    if not limits.looked_at:
        return "set-aside" if limits.set_aside else "cleaner-off"
    if not limits.delete:
        return "compact-only" if limits.compact else "no-policy"
    rules = look.rules(limits)
    if RetentionLimit.TIME not in rules and RetentionLimit.SIZE not in rules:
        return "no-limit"
    if _empty_active(segments, number):
        return "empty-active"
    timed, age = RetentionLimit.TIME in rules, look.now_ms - each.largest_timestamp
    if timed and age > limits.retention_ms:
        return "behind"
    return "future" if timed and age < 0 else "not-due"


def _empty_active(segments: Sequence[Retained], number: int) -> bool:
    return number == len(segments) - 1 and segments[number].size == 0


def _count(segments: Sequence[Retained], look: RetentionLook, goes: Callable[[Retained], bool]) -> int:
    for number, segment in enumerate(segments):
        if _empty_active(segments, number) or not look.reached(segment.end_offset) or not goes(segment):
            return number
    return len(segments)


def _by_time(segments: Sequence[Retained], limits: Limits, look: RetentionLook) -> int:
    return _count(segments, look, lambda each: look.now_ms - each.largest_timestamp > limits.retention_ms)


def _by_size(segments: Sequence[Retained], limits: Limits, look: RetentionLook) -> int:
    over = sum(segment.size for segment in segments) - limits.retention_bytes

    def goes(segment: Retained) -> bool:
        nonlocal over
        over -= segment.size
        return over >= 0

    return _count(segments, look, goes)


def _by_log_start(segments: Sequence[Retained], _: Limits, look: RetentionLook) -> int:
    """Whose end is at or below the log start offset; never the active one."""
    last = segments[-1] if segments else None
    return _count(segments, look, lambda each: each is not last and each.end_offset <= look.log_start)


_COUNTS: dict[RetentionLimit, Callable[[Sequence[Retained], Limits, RetentionLook], int]] = {
    RetentionLimit.TIME: _by_time,
    RetentionLimit.SIZE: _by_size,
    RetentionLimit.LOG_START: _by_log_start,
}


@frozen
class Amount:
    """Segments, bytes of their logs, and records, counted by offsets."""

    segments: int = 0
    bytes: int = 0
    records: int = 0


@frozen
class Outlook:
    """What goes if nothing is written: at the next look, within a day, within a week, ever."""

    now: Amount
    day: Amount
    week: Amount
    ever: Amount


def outlook(fates: Iterable[SegmentFate], now_ms: int, log_start: int = 0) -> Outlook:
    """Add up what goes until when; what is below `log_start` is no record any more."""
    judged = list(fates)

    def until(end: int | None) -> Amount:
        gone = [
            each.segment
            for each in judged
            if each.goes_ms is not None and (end is None or each.goes_ms <= end)
        ]
        return amount(gone, log_start)

    return Outlook(
        now=amount([each.segment for each in judged if each.goes], log_start),
        day=until(now_ms + 86_400_000), week=until(now_ms + 7 * 86_400_000), ever=until(None),
    )  # fmt: skip


def amount(segments: Iterable[Retained], log_start: int = 0) -> Amount:
    count = size = records = 0
    for each in segments:
        count, size = count + 1, size + each.size
        records += max(each.end_offset - max(each.base_offset, log_start), 0)
    return Amount(segments=count, bytes=size, records=records)
