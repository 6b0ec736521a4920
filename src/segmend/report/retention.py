"""Retention for people and as JSON: each partition with its settings, each segment with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from segmend.broker.retention import HOLDS, SegmentFate
from segmend.explain.retention import Reasons
from segmend.loading.limits import Setting
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import Column, table
from segmend.wording import plural

_SHOWN = 6
"""Segments with the same reason in a row that are told one by one; of more, the first and the last."""
_COLUMNS = (
    Column("segment", right=True), Column("size", right=True), Column("largest timestamp"),
    Column("from"), Column("what becomes of it"),
)  # fmt: skip


def lines(
    found: Sequence[Reasons], now_ms: int, style: Style = PLAIN, *, every: bool = False
) -> Iterator[str]:
    """The partitions that matter, the worst first; the others fold into one line unless `every`."""
    told = sorted((each for each in found if every or each.matters), key=_worst)
    for each in told:
        yield from _partition(each, style, every=every)
        yield ""
    rest = [each for each in found if not each.matters] if not every else []
    if rest:
        yield _folded(rest)
    yield f"{text.when(now_ms)} UTC is taken for now; a broker looks 30 s after its start, then every 5 min"


def _worst(each: Reasons) -> tuple[bool, int, int, int, str, str]:
    held = sum(verdict.segment.size for verdict in each.held)
    goes = sum(verdict.segment.size for verdict in each.goes)
    doubtful = sum(verdict.segment.size for verdict in each.doubtful if verdict.goes)
    return (each.failure is None, -doubtful, -held, -goes, each.dir, each.name)


def _folded(rest: Sequence[Reasons]) -> str:
    dates = [each.next_date for each in rest if each.next_date is not None]
    first = f"; the next segment goes by time at {text.when(min(dates))}" if dates else ""
    return f"{plural(len(rest), 'partition')} with nothing to delete now and nothing held{first} (--all)"


def _partition(each: Reasons, style: Style, *, every: bool) -> Iterator[str]:
    yield style("bold", text.clean(f"{each.dir}  {each.name}"))
    if each.failure is not None:
        yield f"  {style('red', 'does not load:')} {text.clean(each.failure)}"
        return
    stored = "none stored" if each.high_watermark is None else str(each.high_watermark)
    stored += " (the only replica: the end counts)" if each.alone else ""
    yield (
        f"  {plural(len(each.verdicts), 'segment')}, {text.size(each.size)}, offsets "
        f"{each.log_start_offset} to {each.log_end_offset}, high watermark {stored}"
    )
    yield from (f"  {_setting(setting)}" for setting in each.retention.settings)
    if not each.kraft:
        yield "  (the topic's own settings are in ZooKeeper, not on this disk: `kafka-configs` tells them)"
    if each.retention.remote:
        yield "  remote storage: a segment goes only once it is copied there, which these files do not tell"
    yield from (f"  {style('yellow', words)}" for words in _remarks(each))
    yield from (f"  {line}" for line in table(_COLUMNS, _rows(each.verdicts, every=every), style))


def _setting(setting: Setting) -> str:
    value = setting.value
    if setting.name == "retention.ms" and int(value) >= 0:
        value = f"{value} ({_span(int(value))})"
    elif setting.name == "retention.bytes" and int(value) >= 0:
        value = f"{value} ({text.size(int(value))})"
    elif value == "-1":
        value = "-1 (no limit)"
    return text.clean(f"{setting.name}={value}, {setting.source}")


def _span(milliseconds: int) -> str:
    days = milliseconds / 86_400_000
    return f"{days:,.4g} d" if days >= 1 else text.duration(milliseconds / 1000)


def _remarks(each: Reasons) -> Iterator[str]:
    blocker, held = each.blocker, each.held
    if blocker is not None and held:
        size = text.size(sum(verdict.segment.size for verdict in held))
        yield (
            f"{plural(len(held), 'segment')}, {size}, past their time: held by "
            f"{blocker.segment.base_offset:020d}.log, {_why_it_stays(blocker)}"
        )
    elif blocker is not None:
        yield f"{blocker.segment.base_offset:020d}.log {_why_it_stays(blocker)}, and holds what follows it"
    zeros = [verdict for verdict in each.doubtful if not verdict.segment.by_mtime]
    if zeros:
        yield (
            f"{plural(len(zeros), 'time index ends', 'time indexes end')} with timestamp 0: "
            "counts as 1970, so everything is past its time"
        )
    modified = [verdict for verdict in each.doubtful if verdict.segment.by_mtime]
    if modified:
        yield (
            f"{plural(len(modified), 'segment has', 'segments have')} no timestamp in the time index: "
            "the modification time of the .log counts, which a copy may have changed"
        )
    if each.goes:
        size = text.size(sum(verdict.segment.size for verdict in each.goes))
        yield f"{plural(len(each.goes), 'segment')}, {size}, deleted at the next look"


def _why_it_stays(verdict: SegmentFate) -> str:
    if verdict.holds == "future":
        return f"whose largest timestamp is in the future ({text.when(verdict.segment.largest_timestamp)})"
    if verdict.holds == "high-watermark":
        return f"whose end ({verdict.segment.end_offset}) the high watermark has not reached"
    return f"which may stay until {text.when(verdict.date_ms)}"


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
    source = "-" if verdict.due_ms is None else "mtime" if segment.by_mtime else "time index"
    stamp = "-" if verdict.due_ms is None else text.when(segment.largest_timestamp)
    return [str(segment.base_offset), text.size(segment.size), stamp, source, _fate(verdict)]


def _fate(verdict: SegmentFate) -> str:
    if verdict.goes is not None:
        return f"deleted at the next look: {verdict.goes}"
    parts = [f"stays: {HOLDS[verdict.holds or 'not-due']}"]
    if verdict.holds in ("not-due", "future") and verdict.date_ms is not None:
        parts.append(f"goes by time at {text.when(verdict.date_ms)}")
    if verdict.bytes_until is not None:
        parts.append(f"goes by size after {text.size(verdict.bytes_until)} more")
    return "; ".join(parts)


def json_lines(found: Iterable[Reasons], now_ms: int) -> Iterator[Mapping[str, Any]]:
    """A `partition` line, its `segment` lines, and a `summary` at the end."""
    partitions = segments = due = held = 0
    for each in found:
        partitions, segments = partitions + 1, segments + len(each.verdicts)
        due += sum(verdict.segment.size for verdict in each.goes)
        held += sum(verdict.segment.size for verdict in each.held)
        yield _partition_line(each)
        yield from (_segment_line(each, verdict) for verdict in each.verdicts)
    yield {
        "type": "summary", "partitions": partitions, "segments": segments, "bytes_deleted": due,
        "bytes_held": held, "now": now_ms,
    }  # fmt: skip


def _partition_line(each: Reasons) -> Mapping[str, Any]:
    blocker = each.blocker
    return {
        "type": "partition",
        "dir": each.dir,
        "file": each.name,
        "topic": each.topic,
        "partition": each.partition,
        "log_start_offset": each.log_start_offset,
        "log_end_offset": each.log_end_offset,
        "high_watermark": each.high_watermark,
        "settings": {s.name: {"value": s.value, "source": s.source} for s in each.retention.settings},
        "remote": each.retention.remote,
        "blocked_by": None if blocker is None else _log(each, blocker),
        "segments_deleted": len(each.goes),
        "segments_held": len(each.held),
        "failure": each.failure,
    }


def _segment_line(each: Reasons, verdict: SegmentFate) -> Mapping[str, Any]:
    segment = verdict.segment
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
        "outcome": "stays" if verdict.goes is None else "deleted",
        "reason": verdict.goes or verdict.holds,
        "due": verdict.due_ms,
        "date": verdict.date_ms,
        "bytes_until_size": verdict.bytes_until,
    }


def _log(each: Reasons, verdict: SegmentFate) -> str:
    return f"{each.name}/{verdict.segment.base_offset:020d}.log"
