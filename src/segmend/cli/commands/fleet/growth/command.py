"""`segmend fleet growth`: what grew between two audits, and when disks are full."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.cli.output import emit, emit_json, style
from segmend.errors import ExitCode
from segmend.fleet import delta, growth
from segmend.fleet.growth import DirGrowth, TopicGrowth
from segmend.fleet.history import finished, refuse_lost
from segmend.report import text
from segmend.report.table import columns, table

_SHOWN = 20
_DIRS = columns(">broker", "log dir", ">logs", ">a day", ">disk free", ">a day", ">full in")
_TOPICS = columns("topic", ">before", ">now", ">a day")


@delta.kept_open()
def run(args: argparse.Namespace) -> ExitCode:
    """By log dir and by topic."""
    rows = finished(args.out, ("run_id", "started"))
    before, after = growth.earlier_of(rows, args.since), rows[-1]
    for row in (before, after):
        refuse_lost(args.out, row["run_id"])
    dirs, topics = growth.dirs(args.out, before, after), growth.topics(args.out, before, after)
    seconds, apart = growth.seconds_between(before, after), growth.in_one_only(args.out, before, after)
    if args.json:
        emit_json(map(_dir_object, dirs))
        emit_json(map(_topic_object, topics))
        named = {"before": before["run_id"], "after": after["run_id"]}
        emit_json([{"type": "summary"} | named | {"seconds": seconds, "in_one_only": apart}])
    else:
        emit(_lines(dirs, topics, args))
        ends = f"{before['run_id']} to {after['run_id']}"
        close = "" if seconds >= growth.LEAST_SECONDS else ": too close together for a rate"
        emit([f"{ends}, {text.duration(seconds)} apart{close}"])
        if apart:
            more = f" and {len(apart) - 1:,} more" if len(apart) > 1 else ""
            words = "listed by one of both only, and so in what topics gained or lost"
            emit([f"{words}: {text.clean(apart[0])}{more}"])
    return ExitCode.NOTHING_WRONG


def _lines(
    dirs: Sequence[DirGrowth], topics: Iterable[TopicGrowth], args: argparse.Namespace
) -> Iterator[str]:
    look = style(args)
    yield from table(_DIRS, map(_dir_cells, dirs), look)
    rows = list(topics)
    yield ""
    yield from table(_TOPICS, map(_topic_cells, rows[:_SHOWN]), look)
    if len(rows) > _SHOWN:
        yield f"... and {len(rows) - _SHOWN:,} more topics (--json has all of them)"


def _dir_cells(each: DirGrowth) -> Sequence[str]:
    days = each.days_until_full
    free = "-" if each.disk_free is None else text.size(each.disk_free)
    lost = None if each.disk_per_day is None else -each.disk_per_day
    full = "-" if days is None else f"{days:,.1f} days"
    path = text.clean(each.path)
    return str(each.broker), path, text.size(each.logs.now), _rate(each.logs.per_day), free, _rate(lost), full


def _topic_cells(each: TopicGrowth) -> Sequence[str]:
    logs = each.logs
    return text.clean(each.topic), text.size(logs.before), text.size(logs.now), _rate(logs.per_day)


def _rate(per_day: float | None) -> str:
    if per_day is None:
        return "-"
    sign = "-" if per_day < 0 else "+"
    return f"{sign}{text.size(round(abs(per_day)))}"


def _dir_object(each: DirGrowth) -> Mapping[str, object]:
    return {
        "type": "log_dir", "cluster_id": each.cluster_id, "broker": each.broker, "dir": each.path,
        "bytes_before": each.logs.before, "bytes": each.logs.now, "bytes_per_day": each.logs.per_day,
        "disk_free_bytes": each.disk_free, "disk_bytes_taken_per_day": each.disk_per_day,
        "days_until_full": each.days_until_full,
    }  # fmt: skip


def _topic_object(each: TopicGrowth) -> Mapping[str, object]:
    return {
        "type": "topic", "cluster_id": each.cluster_id, "topic": each.topic,
        "bytes_before": each.logs.before, "bytes": each.logs.now, "bytes_per_day": each.logs.per_day,
    }  # fmt: skip
