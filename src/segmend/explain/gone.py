"""Why data is gone, by what the broker logged: which rule took it, by which clock, and what that clock was.

A deletion is told by one line or by several (the reason, then the segment), which are put together here.
Bounded: so many segments are remembered one by one, of more the number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from segmend.broker.deletions import ASKED_BY_A_CLIENT, FOLLOWED_THE_LEADER, THROWN
from segmend.broker.retention import RetentionLimit
from segmend.explain.deletion_lines import Named, Saying, named, reasons, sayings
from segmend.explain.timestamp_units import in_milliseconds, other_unit
from segmend.frozen import dataclass, field, frozen, replace

MOST: Final = 100_000
"""Segments that are remembered one by one."""
_AT_ONCE_MS: Final = 5_000
"""A truncation schedules its segments at once; later on the cleaner may."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[,.](\d{3})")
_IDENT = re.compile(r"\[\w*Log partition=([^,\]\s]+), dir=([^\]]*)\]\s*(.*)")
_LOGGER = re.compile(r"\s+\([\w.$]+\)\s*$")
_HEADS = (
    "eletable segments", "Deleting segment", "cheduling log segment", "cheduling segment",
    "Log for partition", "Deleted log for", "log start offset", "Truncating",
    "future timestamp", "Permission denied",
)  # fmt: skip
"""What every line that matters has in it."""

BY: Final = {
    "by-time": RetentionLimit.TIME, "by-records": RetentionLimit.TIME, "by-mtime": RetentionLimit.TIME,
    "by-size": RetentionLimit.SIZE, "by-log-start": RetentionLimit.LOG_START,
    "truncated-segments": "truncation", "recovered": "recovery", "log-deleted": "deletion of the topic",
    "topic-deleted": "deletion of the topic", "stray": "stray",
}  # fmt: skip
"""By what it went, in Kafka's names where there is one."""
UNTOLD: Final = "not told"
_UNSURE: Final = (UNTOLD, "truncation", "recovery", "stray")
"""What went so may have been acknowledged; no line tells."""

WAS: Final = {
    "records": "the largest timestamp of its records, as its time index has it",
    "zero": "no record's time: the time index ended in an entry of zeros, which counts as 1970",
    "seconds": "seconds, which Kafka takes for milliseconds of 1970: the producer sends the wrong unit",
    "microseconds": "microseconds, which Kafka takes for milliseconds: the producer sends the wrong unit",
    "nanoseconds": "nanoseconds, which Kafka takes for milliseconds: the producer sends the wrong unit",
    "mtime": "the modification time of the .log, for its time index has no timestamp",
    "untold": "not in the line: this release logs the offsets only",
}
"""What the clock of a deletion by time really was."""


@frozen
class Gone:
    """A segment that went, or a whole log (`base_offset` None).

    `verdict`: `right` by the rules and by the records; `wrong` if a clock decided that is no record's
    time; `unknown` if the lines do not tell.
    """

    partition: str
    dir: str | None
    base_offset: int | None
    at_ms: int | None
    kinds: frozenset[str] = frozenset()
    by: str = UNTOLD
    limit: int | None = None
    size: int | None = None
    last_modified: int | None = None
    largest: int | None = None
    any_clock: bool = False
    since: tuple[int, ...] = (0, 8)
    until: tuple[int, ...] | None = None
    asked: str | None = None
    says: str = ""

    @property
    def was(self) -> str | None:
        """What the clock was, None where time did not decide."""
        if self.by != RetentionLimit.TIME:
            return None
        if "by-mtime" in self.kinds:
            return "mtime"
        if self.largest is None:
            return "untold"
        if self.any_clock and self.largest == self.last_modified:
            return "mtime"
        if self.largest <= 0:
            return "zero" if self.largest == 0 else "mtime"
        return other_unit(self.largest) or "records"

    @property
    def clock(self) -> str:
        """`time-index`, `mtime`, or `none` where no line tells it."""
        return {"mtime": "mtime", "untold": "none", None: "none"}.get(self.was, "time-index")

    @property
    def real_ms(self) -> int | None:
        """The best that the lines know of when its last record was written."""
        unit = other_unit(self.largest) if self.largest is not None and self.largest > 0 else None
        if unit is not None and self.largest is not None:
            return in_milliseconds(self.largest, unit)
        return self.largest if self.was == "records" else self.last_modified

    @property
    def due_ms(self) -> int | None:
        """When it would have been due by that."""
        real = self.real_ms
        timed = self.by == RetentionLimit.TIME and self.limit is not None and real is not None
        return real + self.limit + 1 if timed and real is not None and self.limit is not None else None

    @property
    def verdict(self) -> str:
        if self.by in _UNSURE or self.was == "untold":
            return "unknown"
        if self.was in (None, "records"):
            return "right"
        if self.was == "mtime":
            return "unknown"
        due = self.due_ms
        late = due is not None and self.at_ms is not None and self.at_ms >= due
        return "right" if late else "wrong"

    @property
    def old_stamps(self) -> bool:
        """Whether its records say that they are much older than the file: a backfill, a mirror."""
        known = self.was == "records" and self.last_modified is not None and self.limit is not None
        if not known or self.at_ms is None:
            return False
        return self.at_ms - (self.last_modified or 0) <= (self.limit or 0)


@frozen
class Remark:
    """Something of a partition that took no segment by itself: by its kind."""

    partition: str
    dir: str | None
    kind: str
    at_ms: int | None
    offset: int | None
    says: str
    segment: Named | None = None


@dataclass(slots=True)
class Account:
    """All that the lines tell. `more` counts segments that are not remembered one by one."""

    gone: dict[tuple[str, int | None, int], Gone] = field(default_factory=dict)
    remarks: dict[tuple[str, str, int | None], Remark] = field(default_factory=dict)
    more: int = 0
    lines: int = 0
    first_ms: int | None = None
    last_ms: int | None = None


@frozen
class _Line:
    partition: str | None
    dir: str | None
    message: str
    at_ms: int | None


class ServerLogReader:
    """Takes lines one after the other, of any number of files."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self.account = Account()
        self._ahead = ahead
        self._days: dict[str, int] = {}
        self._ident: tuple[str, str] | None = None
        self._pending: dict[int, tuple[str, int | None, str]] = {}
        self._starts: dict[str, str] = {}
        self._cuts: dict[str, tuple[int, int]] = {}
        self._turns: dict[tuple[str, int | None], int] = {}

    def read(self, lines: Iterable[str]) -> None:
        for text in lines:
            self.account.lines += 1
            if self._ident is not None or any(word in text for word in _HEADS) or _is_folded(text):
                self._take(text)

    def _take(self, text: str) -> None:
        line = self._line(text)
        told = [
            (each, match)
            for each in sayings()
            if each.head in line.message and (match := each.words.search(line.message))
        ]
        if told:
            saying, match = told[0]
            same = [each.until for each, _ in told if each.kind == saying.kind]
            self._told(replace(saying, until=same[-1]), match.groupdict(), line)

    def _line(self, text: str) -> _Line:
        ident, message = _IDENT.search(text), _LOGGER.sub("", text)
        partition, folder = self._ident or (None, None)
        self._ident = None
        if ident is not None:
            partition, folder, message = ident[1], ident[2], _LOGGER.sub("", ident[3])
            if not message:  # a line that was folded: what was said stands on the next one
                self._ident = partition, folder
            if folder.endswith(f"/{partition}"):  # LocalLog names the partition's directory
                folder = folder.removesuffix(f"/{partition}")
        return _Line(partition=partition, dir=folder, message=message, at_ms=self._time(text))

    def _time(self, text: str) -> int | None:
        match = _TIME.search(text)
        if match is None:
            return None
        day, clock, rest = match.groups()
        if day not in self._days:
            self._days.clear()
            try:
                self._days[day] = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
            except ValueError:
                return None
        hours, minutes, seconds = map(int, clock.split(":"))
        ahead = int(self._ahead.total_seconds() * 1000)
        at = self._days[day] + ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(rest) - ahead
        account = self.account
        account.first_ms = at if account.first_ms is None else min(account.first_ms, at)
        account.last_ms = at if account.last_ms is None else max(account.last_ms, at)
        return at

    def _told(self, saying: Saying, parts: dict[str, str], line: _Line) -> None:
        partition: str | None = _partition(parts) or line.partition
        if saying.kind == "untrimmed":
            if THROWN in line.message:
                return
            folder, partition, file = parts["index"].rsplit("/", 2)
            line = replace(line, dir=folder)
            parts = {**parts, "limit": file.partition(".")[0]}
        limit = int(parts["limit"]) if parts.get("limit") else None
        if saying.kind == "found":
            self._found(saying, parts, partition, line)
        elif partition is None:
            return
        elif saying.kind == "log-start":
            self._starts[partition] = parts.get("reason", "")
        elif saying.kind in ("truncated", "below-high-watermark", "future", "untrimmed"):
            shown = next(named(line.message), None)
            offset = shown.base_offset if shown else limit
            remark = Remark(
                partition=partition, dir=line.dir, kind=saying.kind, at_ms=line.at_ms, offset=offset,
                says=line.message, segment=shown,
            )  # fmt: skip
            self.account.remarks.setdefault((partition, saying.kind, offset), remark)
            if saying.kind == "truncated" and limit is not None:
                self._cuts[partition] = limit, line.at_ms or 0
        elif saying.kind in ("topic-deleted", "stray"):
            place = parts["path"].rpartition("/")[0] or None
            self._put(saying, replace(_gone(partition, line, saying, None), dir=place))
        else:
            for shown in _shown(parts, line):
                self._segment(saying, partition, limit, shown, line)

    def _found(self, saying: Saying, parts: dict[str, str], partition: str | None, line: _Line) -> None:
        """0.11 and 1.0 do not say whose segments they are: the lines that follow do."""
        for kind, words in reasons():
            reason = words.search(parts["reason"])
            if reason is None:
                continue
            limit = int(reason["limit"])
            for base in (int(each) for each in parts["bases"].split(",") if 0 < len(each) < 20):
                if partition is None:
                    self._pending[base] = BY[kind], limit, line.message
                else:
                    gone = _gone(partition, line, saying, Named(base_offset=base))
                    asked = self._starts.get(partition) if kind == "by-log-start" else None
                    self._put(saying, replace(gone, by=BY[kind], limit=limit, asked=asked))

    def _segment(self, saying: Saying, partition: str, limit: int | None, shown: Named, line: _Line) -> None:
        gone = _gone(partition, line, saying, shown)
        waiting = self._pending.pop(shown.base_offset, None) if saying.kind == "scheduled" else None
        if waiting is not None:
            by, limit, says = waiting
            gone = replace(gone, by=by, limit=limit, says=says)
        elif saying.kind == "scheduled" and self._was_cut(partition, shown.base_offset, line.at_ms):
            gone = replace(gone, by=BY["truncated-segments"])
        elif saying.kind in BY:
            asked = self._starts.get(partition) if saying.kind == "by-log-start" else None
            gone = replace(gone, by=BY[saying.kind], limit=limit, asked=asked)
        self._put(saying, gone)

    def _was_cut(self, partition: str, base_offset: int, at_ms: int | None) -> bool:
        offset, when = self._cuts.get(partition, (base_offset + 1, 0))
        return base_offset >= offset and (at_ms or 0) - when <= _AT_ONCE_MS

    def _put(self, saying: Saying, gone: Gone) -> None:
        """As something new, or as more of what is told already."""
        account, place = self.account, (gone.partition, gone.base_offset)
        turn = self._turns.get(place, 0)
        known = account.gone.get((*place, turn))
        if known is not None and saying.kind in known.kinds:
            known, turn = None, turn + 1  # an offset that goes once more: the log was made anew
        if known is None and len(account.gone) >= MOST:
            account.more += 1
            return
        self._turns[place] = turn
        account.gone[*place, turn] = gone if known is None else _joined(known, gone)


def _is_folded(text: str) -> bool:
    """Whether a log names itself, and what it says stands on the next line."""
    return "Log partition=" in text and text.rstrip().endswith("]")


def _partition(parts: dict[str, str]) -> str | None:
    if "topic" in parts:
        return f"{parts['topic']}-{parts['number']}"
    return parts.get("partition")


def _shown(parts: dict[str, str], line: _Line) -> Iterator[Named]:
    if "base" in parts:
        size = int(parts["size"]) if "size" in parts else None
        yield Named(base_offset=int(parts["base"]), size=size)
    else:
        yield from named(line.message)


def _gone(partition: str, line: _Line, saying: Saying, shown: Named | None) -> Gone:
    gone = Gone(
        partition=partition, dir=line.dir, base_offset=None, at_ms=line.at_ms, kinds=frozenset({saying.kind}),
        by=BY.get(saying.kind, UNTOLD), since=saying.since, until=saying.until, says=line.message,
    )  # fmt: skip
    if shown is None:
        return gone
    return replace(
        gone, base_offset=shown.base_offset, size=shown.size, last_modified=shown.last_modified,
        largest=shown.largest, any_clock=shown.by_any_clock,
    )  # fmt: skip


def _joined(known: Gone, more: Gone) -> Gone:
    """One deletion told by two lines."""
    first = known if known.by != UNTOLD else more
    until = [each for each in (known.until, more.until) if each is not None]
    return replace(
        first,
        dir=known.dir or more.dir,
        at_ms=known.at_ms if known.at_ms is not None else more.at_ms,
        kinds=known.kinds | more.kinds,
        size=known.size if known.size is not None else more.size,
        last_modified=known.last_modified if known.last_modified is not None else more.last_modified,
        largest=known.largest if known.largest is not None else more.largest,
        any_clock=known.any_clock or more.any_clock,
        since=max(known.since, more.since),
        until=min(until) if until else None,
    )


@cache
def asked_by(reason: str | None) -> str:
    """Who moved the log start offset."""
    if reason is None:
        return "no line tells who moved the log start offset: DeleteRecords, or the leader"
    if reason == ASKED_BY_A_CLIENT:
        return "a client asked for it (DeleteRecords: kafka-delete-records, Kafka Streams, an admin client)"
    if reason == FOLLOWED_THE_LEADER:
        return "the leader's log begins there, and this replica followed"
    return "the log start offset was moved (DeleteRecords, or as the leader did)"
