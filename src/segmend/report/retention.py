"""Retention for people and as JSON: each partition with its settings, each segment with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.broker.retention import HOLDS, NEVER_MS, Amount, Clock, Outlook, RetentionLook, SegmentFate, says
from segmend.explain.record_times import doubt
from segmend.explain.retention import Reasons
from segmend.formats.names import file_prefix
from segmend.frozen import frozen
from segmend.loading.high_watermark import MARKS
from segmend.loading.limits import Origin, Setting
from segmend.logdir.user import User
from segmend.report import text
from segmend.report.doubts import doubts, next_lines, next_steps
from segmend.report.style import PLAIN, Style
from segmend.report.table import columns, table
from segmend.report.timeline import timeline
from segmend.wording import plural

_SHOWN = 6
"""Segments with the same reason in a row that are told one by one; of more, the first and the last."""
_COLUMNS = columns(">segment", ">size", "largest timestamp", "from", "what becomes of it")
_AMOUNTS = columns("", ">segments", ">size", ">records")
_UNSEEN = {
    True: "--config tells the broker's settings; __cluster_metadata, in one of its log dirs, those of topics",
    False: "ZooKeeper has the topic's own settings: --topic-config FILE tells them, --config the broker's",
}
"""Where settings are that were not seen, with KRaft and without."""
_SUMMED = ("segments", "bytes", "records")
_CLOCKS = {Clock.TIME_INDEX: "time index", Clock.MTIME: "mtime", Clock.RECORD: "records", Clock.NONE: "-"}


@frozen
class AskedTimes:
    """What is asked: for which time, by a clock or as given, and how it is to be shown.

    `user` is whom the broker runs as.
    """

    now_ms: int
    at: bool = False
    user: User | None = None
    timeline: bool = False
    width: int = 100


def lines(
    judged: Sequence[Reasons], asked: AskedTimes, style: Style = PLAIN, *, every: bool = False
) -> Iterator[str]:
    """The partitions that matter, the worst first; the others fold into one line unless `every`."""
    told = sorted((each for each in judged if every or each.matters), key=_worst)
    for each in told:
        yield from _partition(each, style, asked, every=every)
        yield ""
    rest = [each for each in judged if not each.matters] if not every else []
    if rest:
        yield _folded(rest)
    yield from _amounts(judged, style)
    when = "as asked (--at)" if asked.at else "is taken for now"
    yield (
        f"{text.when(asked.now_ms)} UTC {when}; a broker looks 30 s after its start, "
        "then every 5 min (log.retention.check.interval.ms)"
    )


def _amounts(judged: Sequence[Reasons], style: Style) -> Iterator[str]:
    """What goes until when, over all partitions."""
    outlooks = [each.outlook for each in judged if each.failure is None]
    if not any(each.ever.segments for each in outlooks):
        return
    rows = [
        [title, *_amount([getattr(each, name) for each in outlooks])]
        for title, name in (("now", "now"), ("in 24 h", "day"), ("in 7 d", "week"), ("ever", "ever"))
    ]
    yield "what goes, if nothing is written:"
    yield from (f"  {line}" for line in table(_AMOUNTS, rows, style))


def _amount(amounts: Sequence[Amount]) -> list[str]:
    count, size, records = (sum(getattr(each, name) for each in amounts) for name in _SUMMED)
    return [f"{count:,}", text.size(size), f"{records:,}"]


def _worst(each: Reasons) -> tuple[bool, int, int, int, str, str]:
    held = sum(verdict.segment.size for verdict in each.held)
    goes = sum(verdict.segment.size for verdict in each.goes)
    doubtful = sum(verdict.segment.size for verdict in each.doubtful if verdict.goes)
    return (each.failure is None, -doubtful, -held, -goes, each.dir, each.name)


def _folded(rest: Sequence[Reasons]) -> str:
    dates = [each.next_date for each in rest if each.next_date is not None]
    first = f"; the next segment goes by time at {text.when(min(dates))}" if dates else ""
    return f"{plural(len(rest), 'partition')} with nothing to delete now and nothing held{first} (--all)"


def _partition(each: Reasons, style: Style, asked: AskedTimes, *, every: bool) -> Iterator[str]:
    yield style("bold", text.clean(f"{each.dir}  {each.name}"))
    if each.failure is not None:
        yield f"  {style('red', 'does not load:')} {text.clean(each.failure)}"
        yield from (f"  {line}" for line in next_lines(each, asked.user, style))
        return
    stored = "none stored" if each.high_watermark is None else str(each.high_watermark)
    stored += f" ({MARKS[each.mark.why]})"
    yield (
        f"  {plural(len(each.verdicts), 'segment')}, {text.size(each.size)}, offsets "
        f"{each.log_start_offset} to {each.log_end_offset}, high watermark {stored}"
    )
    yield from (f"  {_setting(setting)}" for setting in each.retention.settings)
    if not each.settings_known:
        yield f"  ({_UNSEEN[each.kraft]})"
    if each.retention.remote:
        yield "  remote storage: a segment goes only once it is copied there, which these files do not tell"
    yield from (f"  {style('yellow', words)}" for words in _remarks(each))
    yield from (f"  {line}" for line in next_lines(each, asked.user, style))
    if asked.timeline:
        yield from (f"  {line}" for line in timeline(each, style, asked.width - 2))
        return
    yield from (f"  {line}" for line in table(_COLUMNS, _rows(each.verdicts, every=every), style))


def _setting(setting: Setting) -> str:
    value = setting.value
    number = int(value) if setting.name != "cleanup.policy" else -1
    if setting.name == "retention.ms" and number >= 0:
        value = f"{value} ({text.span(number)})"
    elif setting.name == "retention.bytes" and number >= 0:
        value = f"{value} ({text.size(number)})"
    elif value == "-1":
        value = "-1 (no limit)"
    elif not value:
        value = "(empty)"
    return text.clean(f"{setting.name}={value}, {_source(setting)}")


def _source(setting: Setting) -> str:
    if setting.known:
        return setting.source
    if setting.origin == Origin.DEFAULT:
        return "not known: the default of the release is assumed"
    return f"{setting.source}, unless the topic has its own, which is not known"


def _remarks(each: Reasons) -> Iterator[str]:
    blocker, held = each.blocker, each.held
    if blocker is not None and held:
        size = text.size(sum(verdict.segment.size for verdict in held))
        yield (
            f"{plural(len(held), 'segment')}, {size}, past their time: held by "
            f"{file_prefix(blocker.segment.base_offset)}.log, {_why_it_stays(blocker)}"
        )
    elif blocker is not None:
        name = f"{file_prefix(blocker.segment.base_offset)}.log"
        yield f"{name} {_why_it_stays(blocker)}, and holds what follows it"
    yield from doubts(each)
    if each.goes:
        size = text.size(sum(verdict.segment.size for verdict in each.goes))
        yield f"{plural(len(each.goes), 'segment')}, {size}, deleted at the next look"


def _why_it_stays(verdict: SegmentFate) -> str:
    if verdict.holds == "future":
        return f"whose largest timestamp is in the future ({text.when(verdict.segment.largest_timestamp)})"
    if verdict.holds == "high-watermark":
        return f"whose end ({verdict.segment.end_offset}) the high watermark has not reached"
    if verdict.holds == "next-look":
        return "which goes at the look after this one"
    date = verdict.date_ms
    return "which stays" if date is None else f"which may stay until {text.when(date)}"


def _rows(verdicts: Sequence[SegmentFate], *, every: bool) -> Iterator[Sequence[str]]:
    for run in _runs(verdicts):
        if every or len(run) <= _SHOWN:
            yield from map(_row, run)
            continue
        yield _row(run[0])
        size = text.size(sum(verdict.segment.size for verdict in run[1:-1]))
        yield [f"... {plural(len(run) - 2, 'segment')} of the same, {size}"]
        yield _row(run[-1])


def _runs(verdicts: Iterable[SegmentFate]) -> Iterator[list[SegmentFate]]:
    run: list[SegmentFate] = []
    for verdict in verdicts:
        if run and (verdict.goes, verdict.holds) != (run[-1].goes, run[-1].holds):
            yield run
            run = []
        run.append(verdict)
    if run:
        yield run


def _row(verdict: SegmentFate) -> Sequence[str]:
    segment = verdict.segment
    timed = verdict.due_ms is not None or segment.largest_timestamp >= NEVER_MS
    source = _CLOCKS[segment.clock] if timed else "-"
    stamp = text.when(segment.largest_timestamp) if timed else "-"
    return [str(segment.base_offset), text.size(segment.size), stamp, source, _fate(verdict)]


def _fate(verdict: SegmentFate) -> str:
    if verdict.goes is not None:
        return f"deleted at the next look: {verdict.goes}"
    parts = [f"stays: {HOLDS[verdict.holds or 'not-due']}"]
    if verdict.holds in ("not-due", "future"):
        date = verdict.date_ms
        parts.append("never goes by time" if date is None else f"goes by time at {text.when(date)}")
    if verdict.awaits is not None:
        parts.append(f"goes by {verdict.awaits} once the high watermark is there")
    if verdict.bytes_until is not None:
        parts.append(f"goes by size after {text.size(verdict.bytes_until)} more")
    return "; ".join(parts)


def json_lines(judged: Iterable[Reasons], asked: AskedTimes) -> Iterator[Mapping[str, object]]:
    """A `partition` line, its `segment` lines, and a `summary` at the end."""
    partitions = segments = due = held = failed = 0
    outlooks: list[Outlook] = []
    for each in judged:
        partitions, segments = partitions + 1, segments + len(each.verdicts)
        due += sum(verdict.segment.size for verdict in each.goes)
        held += sum(verdict.segment.size for verdict in each.held)
        failed += each.failure is not None
        outlooks.append(each.outlook)
        yield _partition_line(each, asked)
        yield from (_segment_line(each, verdict) for verdict in each.verdicts)
    yield {
        "type": "summary", "partitions": partitions, "segments": segments, "bytes_deleted": due,
        "bytes_held": held, "not_loaded": failed, "now": asked.now_ms, "at_was_given": asked.at,
        "outlook": {
            name: _sums([getattr(each, name) for each in outlooks]) for name in ("now", "day", "week", "ever")
        },
    }  # fmt: skip


def _sums(amounts: Sequence[Amount]) -> Mapping[str, int]:
    return {name: sum(getattr(each, name) for each in amounts) for name in _SUMMED}


def _partition_line(each: Reasons, asked: AskedTimes) -> Mapping[str, object]:
    blocker, outlook = each.blocker, each.outlook
    return {
        "type": "partition",
        "dir": each.dir,
        "file": each.name,
        "topic": each.topic,
        "partition": each.partition,
        "log_start_offset": each.log_start_offset,
        "log_end_offset": each.log_end_offset,
        "high_watermark": each.high_watermark,
        "high_watermark_why": each.mark.why,
        "settings": {setting.name: setting.to_json() for setting in each.retention.settings},
        "settings_known": each.settings_known,
        "remote": each.retention.remote,
        "blocked_by": None if blocker is None else _log(each, blocker),
        "segments_deleted": len(each.goes),
        "segments_held": len(each.held),
        "outlook": {name: _sums([getattr(outlook, name)]) for name in ("now", "day", "week", "ever")},
        "failure": each.failure,
        "closed": each.closed,
        "next": [{"command": a.command, "why": a.why} for a in next_steps(each, asked.user)],
    }


def _segment_line(each: Reasons, verdict: SegmentFate) -> Mapping[str, object]:
    segment = verdict.segment
    read = each.records.get(segment.base_offset)
    said = None if verdict.goes is None else said_of(each, verdict)
    return {
        "type": "segment",
        "dir": each.dir,
        "topic": each.topic,
        "partition": each.partition,
        "file": _log(each, verdict),
        "base_offset": segment.base_offset,
        "end_offset": segment.end_offset,
        "bytes": segment.size,
        "largest_timestamp": segment.largest_timestamp,
        "timestamp_from": "mtime" if segment.by_mtime else "time index",
        "clock": segment.clock,
        "clock_was": doubt(verdict),
        "records": None if read is None else {"first_timestamp": read.first, "last_timestamp": read.last},
        "outcome": "stays" if verdict.goes is None else "deleted",
        "reason": verdict.goes or verdict.holds,
        "awaits": verdict.awaits,
        "broker_says": said,
        "due": verdict.due_ms,
        "date": verdict.date_ms,
        "goes": verdict.goes_ms,
        "bytes_until_size": verdict.bytes_until,
    }


def said_of(each: Reasons, verdict: SegmentFate) -> str | None:
    """What the broker logs as this segment goes."""
    if verdict.goes is None:
        return None
    look = RetentionLook(
        log_start=each.log_start_offset, high_watermark=0, now_ms=each.now_ms, release=each.release
    )
    return says(verdict.goes, [verdict.segment], each.retention.limits, look)


def _log(each: Reasons, verdict: SegmentFate) -> str:
    return f"{each.name}/{file_prefix(verdict.segment.base_offset)}.log"
