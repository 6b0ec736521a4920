"""Segments whose clock is doubtful, beside what their records say; and the next commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from segmend.explain.clock_remedies import Advice, advice
from segmend.explain.gone import WAS
from segmend.explain.record_times import RecordTimes, doubt
from segmend.explain.retention import Reasons
from segmend.explain.timestamp_units import in_milliseconds
from segmend.grouping import grouped
from segmend.logdir.user import User
from segmend.report import text
from segmend.report.style import Style
from segmend.wording import plural

_ZERO: Final = "with timestamp 0: counts as 1970 (largestTime=0 in server.log), past any time"


def doubts(each: Reasons) -> Iterator[str]:
    """What retention goes by that may be no record's time, kind by kind."""
    for kind, fates in grouped(each.verdicts, doubt).items():
        if kind is None:
            continue
        read = [times for fate in fates if (times := each.records.get(fate.segment.base_offset))]
        if kind == "zero":
            yield f"{plural(len(fates), 'time index ends', 'time indexes end')} {_ZERO}"
            yield f"  {_beside_zero(read)}"
        elif kind == "mtime":
            yield (
                f"{plural(len(fates), 'segment has', 'segments have')} no timestamp in the time index: "
                "the modification time of the .log counts, which a copy may have changed"
            )
            yield f"  {_records(read)}"
        elif kind == "future":
            yield f"  {_records(read)}"
        else:
            stamp = fates[0].segment.largest_timestamp
            meant = text.when(in_milliseconds(stamp, kind))
            yield (f"{plural(len(fates), 'segment')}: {stamp} is {WAS[kind]} (as {kind} it is {meant})")


def _beside_zero(read: Sequence[RecordTimes]) -> str:
    last = max((each.last for each in read), default=None)
    if last is None:
        return "what the records say was not read"
    if last > 0:
        return f"{_records(read)}: the zeros are not theirs, the index was not cut to its entries"
    return "the records themselves have no other: the zeros are truly zeros, which a producer sent"


def _records(read: Sequence[RecordTimes]) -> str:
    known = [each for each in read if each.last >= 0]
    if not read:
        return "what the records say was not read"
    if not known:
        return "the records have no timestamps at all"
    first, last = min(each.first for each in known), max(each.last for each in known)
    return f"the records' own timestamps: {text.when(first)} to {text.when(last)}"


def next_steps(each: Reasons, user: User | None) -> list[Advice]:
    place = text.word(f"{each.dir.rstrip('/')}/{each.name}")
    if each.failure is not None:
        return [_opened(each, user, place)]
    steps: dict[Advice, None] = {}
    topic = text.word(each.topic)
    for verdict in each.verdicts:
        kind, read = doubt(verdict), each.records.get(verdict.segment.base_offset)
        if kind == "future" or (kind in ("zero", "mtime") and (read is None or read.last <= 0)):
            continue
        steps |= dict.fromkeys(advice(kind, place, topic, each.release))
    return list(steps)


def _opened(each: Reasons, user: User | None, place: str) -> Advice:
    if each.closed is None:
        return Advice(command=f"segmend check --deep {place}", why="what is wrong, and what mends it")
    if user is None:
        return Advice(command=None, why="run it as a user who may read that")
    return Advice(
        command=f"chown -h {user.uid}:{user.gid} {text.word(each.closed)}",
        why="back to whom the rest belongs to; nothing of this log dir is served until then",
    )


def next_lines(each: Reasons, user: User | None, style: Style) -> Iterator[str]:
    for step in next_steps(each, user):
        yield (
            f"next:   {style.command(step.command)}  # {step.why}" if step.command else f"next:   {step.why}"
        )
