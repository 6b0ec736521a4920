"""Why data is gone, for people and as JSON: each partition with what went, by which clock, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from segmend.broker.retention import RetentionLimit
from segmend.explain.clock_remedies import Advice, advice
from segmend.explain.gone import UNTOLD, WAS, Account, Gone, Remark, asked_by
from segmend.explain.timestamp_units import other_unit
from segmend.logdir.release import NEWEST, Release
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.wording import plural

_ORDER: Final = ("wrong", "unknown", "right")
_COLOURS: Final = {"wrong": "red", "unknown": "yellow", "right": "green"}
_REMARKS: Final = {
    "below-high-watermark": "cut below the high watermark: acknowledged records are gone "
    "(an unclean election, or a leader that had lost its disk)",
    "truncated": "cut to that, for its leader's log ends or differs there; what was behind it may have been "
    "acknowledged (unclean.leader.election.enable), which no line tells",
    "future": "stays, and what follows it: its largest timestamp lies in the future",
    "untrimmed": "its time index could not be cut to its entries as the broker stopped (Permission denied), "
    "and ends in zeros until it is made anew: a release from 2.3 on takes the last one for its time, 1970",
}
_UNTOLD: Final = (
    "no line tells why: the cleaner, a truncation or a deletion schedules segments, too; "
    'retention says "Found deletable segments" before it'
)


def lines(account: Account, style: Style = PLAIN, *, limits: Mapping[int, str], every: bool) -> Iterator[str]:
    """The partitions of which something went wrongly first; those where all is right fold unless `every`."""
    partitions = _partitions(account)
    shown = [each for each in partitions if every or _worst(each[1], each[2]) != "right"]
    for name, gone, remarks in shown:
        yield style("bold", text.clean(name))
        for run in _runs(gone):
            yield from (f"  {line}" for line in _told(run, style, limits))
        yield from (f"  {_remark(each)}" for each in remarks)
        for each in _advice(gone, remarks):
            yield f"  {style.command(each.command)}  # {each.why}" if each.command else f"  {each.why}"
        yield ""
    rest = [each for each in partitions if each not in shown]
    if rest:
        size = sum(each.size or 0 for _, gone, _ in rest for each in gone)
        count = sum(len(gone) for _, gone, _ in rest)
        noun = plural(len(rest), "partition")
        yield f"{noun} whose {plural(count, 'deletion')} ({text.size(size)}) went by the rules (--all)"
    yield from _sum(account)


def _sum(account: Account) -> Iterator[str]:
    counts = {
        verdict: [each for each in account.gone.values() if each.verdict == verdict] for verdict in _ORDER
    }
    parts = [f"{len(each)} {verdict}" for verdict, each in counts.items() if each]
    parts += [plural(len(account.remarks), "remark")] if account.remarks else []
    span = (
        f", {text.when(account.first_ms)} to {text.when(account.last_ms)}"
        if account.first_ms is not None
        else ""
    )
    nothing = "no line that brokers log of deleted data"
    told = f"{plural(account.lines, 'line')}{span}: {', '.join(parts) or nothing}"
    yield f"{told}; {account.more:,} more deletions not listed one by one" if account.more else told
    if account.first_ms is not None:
        yield "server.log has no time zone: its times are read as UTC (--zone +02:00 for another)"


def _partitions(account: Account) -> list[tuple[str, list[Gone], list[Remark]]]:
    names: dict[str, tuple[list[Gone], list[Remark]]] = {}
    for gone in account.gone.values():
        names.setdefault(_name(gone), ([], []))[0].append(gone)
    for remark in account.remarks.values():
        names.setdefault(_name(remark), ([], []))[1].append(remark)
    ordered = sorted(names.items(), key=lambda item: (_ORDER.index(_worst(*item[1])), item[0]))
    return [(name, gone, remarks) for name, (gone, remarks) in ordered]


def _name(each: Gone | Remark) -> str:
    return each.partition if each.dir is None else f"{each.dir}  {each.partition}"


def _worst(gone: Sequence[Gone], remarks: Sequence[Remark]) -> str:
    verdicts = {each.verdict for each in gone}
    if any(each.kind == "below-high-watermark" for each in remarks):
        verdicts.add("wrong")
    if any(each.kind in ("future", "untrimmed", "truncated") for each in remarks):
        verdicts.add("unknown")
    return next((each for each in _ORDER if each in verdicts), "right")


def _runs(gone: Sequence[Gone]) -> Iterator[list[Gone]]:
    for _, run in groupby(
        gone, key=lambda each: (each.by, each.limit, each.was, each.verdict, each.old_stamps)
    ):
        yield list(run)


def _told(run: Sequence[Gone], style: Style, limits: Mapping[int, str]) -> Iterator[str]:
    first = run[0]
    sizes = [each.size for each in run if each.size is not None]
    size = f", {text.size(sum(sizes))}" if sizes else ""
    bases = [each.base_offset for each in run if each.base_offset is not None]
    what = plural(len(bases), "segment") if bases else "the whole log"
    where = (
        "" if not bases else f" (base offset {bases[0]}" + (f" to {bases[-1]})" if len(bases) > 1 else ")")
    )
    when = "" if first.at_ms is None else f"{text.when(first.at_ms)}  "
    verdict = style(_COLOURS[first.verdict], f"{first.verdict}:")
    yield f"{when}{what}{where}{size}, {_by(first, limits)}"
    yield f"  {verdict} {_why(first)}"
    if first.old_stamps:
        yield (
            f"  the file itself was written {_ago(first)}: its records came with old timestamps "
            "(a mirror, a restored topic, a backfill)"
        )


def _by(gone: Gone, limits: Mapping[int, str]) -> str:
    if gone.by == UNTOLD or gone.limit is None:
        return f"by {gone.by}" if gone.by != UNTOLD else "for a reason that is not told"
    if gone.by == RetentionLimit.TIME:
        source = limits.get(gone.limit)
        known = f"; {source}" if source else ""
        return f"by retention.ms={gone.limit} ({text.span(gone.limit)}{known})"
    return f"by {gone.by} {gone.limit}"


def _why(gone: Gone) -> str:
    was = gone.was
    if gone.by == UNTOLD:
        return _UNTOLD
    if was is None:
        return _asked(gone)
    clock = "" if gone.largest is None else f"{_clock_word(gone)}={gone.largest} is "
    parts = [f"{clock}{WAS[was]}" if was != "untold" else f"the clock is {WAS[was]}"]
    if was in ("seconds", "microseconds", "nanoseconds"):
        parts.append(f"meant was {text.when(gone.real_ms)}")
    elif was == "records":
        parts[0] = f"{clock}{text.when(gone.largest)}, {WAS[was]}"
    if was not in ("records", "untold") and gone.last_modified is not None:
        parts.append(f"the .log was last written {text.when(gone.last_modified)}{_before(gone)}")
    if gone.verdict == "wrong" and gone.due_ms is not None:
        parts.append(f"by that it was due at {text.when(gone.due_ms)}")
    return "; ".join(parts)


def _clock_word(gone: Gone) -> str:
    return "largestTime" if gone.any_clock else "largestRecordTimestamp"


def _before(gone: Gone) -> str:
    return "" if gone.at_ms is None or gone.last_modified is None else f", {_ago(gone)}"


def _ago(gone: Gone) -> str:
    passed = (gone.at_ms or 0) - (gone.last_modified or 0)
    return f"{text.span(max(passed, 0))} before"


def _asked(gone: Gone) -> str:
    if gone.by == RetentionLimit.LOG_START:
        return asked_by(gone.asked)
    return {
        RetentionLimit.SIZE: "the log was larger than its limit without it",
        "stray": "the cluster's metadata did not have this replica here; `segmend plan adopt` brings it back",
        "truncation": "the replica was cut to where its leader's log ends or differs; whether "
        "that was acknowledged no line tells (an unclean election loses such records): compare the replicas",
        "recovery": "the start found it behind damage, and cut it off; other replicas may have it",
    }.get(gone.by, "the topic was deleted, or its replica moved away")


def _remark(each: Remark) -> str:
    words = _REMARKS[each.kind]
    when = "" if each.at_ms is None else f"{text.when(each.at_ms)}  "
    stamp = None if each.segment is None else each.segment.largest
    unit = other_unit(stamp) if stamp is not None else None
    if unit is not None:
        words += f": {stamp} is {WAS[unit]}"
    return f"{when}offset {each.offset}: {words}"


def _advice(gone: Sequence[Gone], remarks: Sequence[Remark] = ()) -> list[Advice]:
    steps: dict[Advice, None] = {}
    clocks = {(each.was, each.since): each for each in gone if each.verdict != "right"}
    causes: list[tuple[str | None, Release, Gone | Remark]] = [
        (was, Release(since), each) for (was, since), each in clocks.items()
    ]
    last = Release(min((each.since for each in gone), default=NEWEST.numbers))
    causes += [("untrimmed", last, each) for each in remarks if each.kind == "untrimmed"]
    causes += [
        (other_unit(each.segment.largest), last, each)
        for each in remarks
        if each.kind == "future" and each.segment is not None and each.segment.largest is not None
    ]
    for clock, release, each in causes:
        topic = text.word(each.partition.rpartition("-")[0])
        place = text.word(f"{each.dir or 'DIR'}/{each.partition}")
        steps |= dict.fromkeys(advice(clock, place, topic, release))
    return list(steps)


def json_lines(account: Account) -> Iterator[Mapping[str, object]]:
    """A `deletion` line each, a `remark` line each, and a `summary`."""
    for each in account.gone.values():
        yield {
            "type": "deletion", "dir": each.dir, "topic": each.partition.rpartition("-")[0],
            "partition": _number(each.partition),
            "base_offset": each.base_offset, "at": each.at_ms, "by": each.by, "limit": each.limit,
            "bytes": each.size, "clock": each.clock, "clock_was": each.was, "largest_timestamp": each.largest,
            "last_modified": each.last_modified, "due": each.due_ms, "verdict": each.verdict,
            "asked_by": each.asked, "kafka_since": _release(each.since), "kafka_before": _release(each.until),
            "broker_says": each.says,
            "next": [{"command": a.command, "why": a.why} for a in _advice([each])],
        }  # fmt: skip
    for remark in account.remarks.values():
        yield {
            "type": "remark", "dir": remark.dir, "topic": remark.partition.rpartition("-")[0],
            "partition": _number(remark.partition), "kind": remark.kind,
            "offset": remark.offset, "at": remark.at_ms, "broker_says": remark.says,
        }  # fmt: skip
    verdicts = [each.verdict for each in account.gone.values()]
    yield {
        "type": "summary", "lines": account.lines, "deletions": len(account.gone) + account.more,
        **{verdict: verdicts.count(verdict) for verdict in _ORDER}, "not_listed": account.more,
        "from": account.first_ms, "to": account.last_ms,
    }  # fmt: skip


def _number(name: str) -> int | None:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 11 else None


def _release(numbers: Iterable[int] | None) -> str | None:
    return None if numbers is None else ".".join(map(str, numbers))


def needs_a_look(account: Account) -> bool:
    """Whether something went by a clock that is no record's time, or was acknowledged and is gone."""
    cut = any(each.kind == "below-high-watermark" for each in account.remarks.values())
    return cut or any(each.verdict == "wrong" for each in account.gone.values())
