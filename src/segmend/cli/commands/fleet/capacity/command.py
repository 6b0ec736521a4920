"""`segmend fleet capacity`: what fills which disk, when, and what would help."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from segmend.cli.output import emit, emit_json, note, style
from segmend.errors import ExitCode, UsageError
from segmend.fleet.capacity_run import RESERVE, Capacity, capacity
from segmend.fleet.disks import DiskCapacity, TopicCapacity
from segmend.fleet.evening_out import Evened
from segmend.fleet.listing import find_places
from segmend.logdir import disk
from segmend.report import text
from segmend.report.style import Style
from segmend.report.table import columns, table
from segmend.wording import plural

from ..driving import driver_of, paths_for_tasks

_SHOWN = 20
_DISKS = columns(
    "broker", "log dirs", ">logs", ">free", ">came a day", ">stays a day", ">full in", ">at least",
)  # fmt: skip
_TOPICS = columns("topic", ">partitions", ">bytes", ">came a day", ">stays a day")
_LIMIT = 64 << 20


def run(args: argparse.Namespace) -> int:
    given = None if args.assignment is None else _assignment(args.assignment)
    places = find_places(paths_for_tasks(args))
    with driver_of(args) as running:
        measured = capacity(
            places, running, days=args.days, sampled=0 if args.reassign else max(args.sample, 0),
            spread=args.spread, assigned=given, release=args.kafka,
        )  # fmt: skip
    if args.reassign:
        return _reassign(measured, given=given is not None)
    full = [d for d in measured.disks if d.days_until_full is not None and d.days_until_full <= args.within]
    if args.json:
        emit_json(_objects(measured, args.within, len(full)))
    else:
        emit(_lines(measured, args, style(args)))
        for each in measured.unread[:_SHOWN]:
            note(f"{each}; it is not counted")
    code = ExitCode.FINDINGS if full else ExitCode.NOTHING_WRONG
    return int(code) | (int(ExitCode.OPERATIONAL) if measured.unread else 0)


def _assignment(path: str) -> dict[tuple[str, int], tuple[int, ...]]:
    """The replicas that the file tells; what the tool prints before and after the JSON is passed over."""
    content = disk.read(path, _LIMIT).decode("utf-8", "replace")
    line = next((each for each in content.splitlines() if each.lstrip().startswith("{")), content)
    for candidate in (content, line):
        try:
            rows = json.loads(candidate)["partitions"]
            return {(str(r["topic"]), int(r["partition"])): tuple(map(int, r["replicas"])) for r in rows}
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    raise UsageError(f'--assignment {path}: no JSON with "partitions" of topic, partition and replicas')


def _reassign(measured: Capacity, *, given: bool) -> int:
    """The JSON alone on stdout; what it lacks is told beside it."""
    emit([json.dumps(measured.reassignment, separators=(",", ":"))])
    moves = len(measured.chosen) - len(measured.untold)
    size = sum(move.bytes for move in measured.chosen) - sum(move.bytes for move in measured.untold)
    note(f"{plural(moves, 'move')} {measured.scope}, {text.size(size)}; racks and quotas were not looked at")
    for each in measured.why_none:
        note(each)
    if moves and not given:
        note("the replicas are those of the metadata log on these disks; --generate shows what they are now")
    for move in measured.untold[:_SHOWN]:
        name = f"{move.topic}-{move.partition}"
        note(f"{name}: left out, its replicas and their order are not known (--assignment)")
    code = int(ExitCode.FINDINGS) if measured.untold or measured.why_none else 0
    return code | (int(ExitCode.OPERATIONAL) if measured.unread else 0)


def _lines(measured: Capacity, args: argparse.Namespace, look: Style) -> Iterator[str]:
    # With several clusters each name needs its own.
    apart = len({cluster for each in measured.disks for cluster in each.disk.clusters}) > 1
    yield from table(_DISKS, (_disk_cells(each, apart=apart) for each in measured.disks), look)
    for each in measured.disks:
        for words in each.unknown:
            yield f"  {text.clean(each.disk.dirs[0])}: {words}"
    yield ""
    yield from table(
        _TOPICS, (_topic_cells(each, _name(each, apart=apart)) for each in measured.topics[:_SHOWN]), look
    )
    if len(measured.topics) > _SHOWN:
        yield f"... and {len(measured.topics) - _SHOWN:,} more topics (--json has all of them)"
    yield ""
    advised = [each for each in measured.topics if each.advice is not None]
    for topic in advised[:_SHOWN]:
        yield f"{_name(topic, apart=apart)}: {_advice(topic)}"
    if len(advised) > _SHOWN:
        yield f"... and {len(advised) - _SHOWN:,} more topics with advice (--json has all of them)"
    for evened in measured.evened:
        yield from _evened(evened, args.spread, apart=apart)
    newest = max((each.at_ms for each in measured.disks), default=-1)
    yield f"rates over {args.days:g} days up to {_when(newest)}, by the times of batches"
    if measured.unsampled:
        yield f"no sample of {plural(measured.unsampled, 'topic')}: that was enough reading"


def _disk_cells(each: DiskCapacity, *, apart: bool) -> Sequence[str]:
    brokers = text.clean(", ".join(map(str, each.disk.brokers)) + _of(each.disk.clusters, apart=apart))
    free = "?" if each.disk.available is None else text.size(each.disk.available)
    more = f" and {len(each.disk.dirs) - 1} more" if len(each.disk.dirs) > 1 else ""
    dirs = text.clean(each.disk.dirs[0]) + more
    rates = (text.size(round(each.written_per_day)), text.size(round(each.net_per_day)))
    return (
        brokers,
        dirs,
        text.size(each.logs),
        free,
        *rates,
        _in(each.days_until_full),
        _in(each.days_at_least),
    )


def _in(days: float | None) -> str:
    return "-" if days is None else f"{days:,.1f} days" if days < 3650 else "> 10 years"


def _of(clusters: Iterable[str | None], *, apart: bool) -> str:
    return f" of {', '.join(cluster or '?' for cluster in clusters)}" if apart else ""


def _name(topic: TopicCapacity, *, apart: bool) -> str:
    """With its cluster where there are several."""
    return text.clean(f"{topic.topic}{_of([topic.cluster_id], apart=apart)}")


def _topic_cells(each: TopicCapacity, name: str) -> Sequence[str]:
    rates = (text.size(round(each.written_per_day)), text.size(round(each.net_per_day)))
    told = name + (" (?)" if each.unknown_rates else "")
    return (told, str(each.partitions), text.size(each.bytes), *rates)


def _advice(topic: TopicCapacity) -> str:
    sample, advice = topic.sample, topic.advice
    if sample is None or advice is None:
        return ""
    used = "/".join(sorted(sample.codecs))
    mean = (
        f"{sample.bytes // sample.batches:,} bytes and {sample.records / sample.batches:.1f} records a batch"
    )
    ways = []
    if advice.batches:
        ways.append("fuller batches (linger.ms, batch.size)")
    if advice.codec is not None:
        ways.append(f"compression.type={advice.codec}")
    seen = f"sample of {sample.batches:,} batches, {text.size(sample.bytes)}"
    return f"{' and '.join(ways)} would save about {advice.saves:.0%} ({seen}: {used}, {mean})"


def _evened(each: Evened, spread: float, *, apart: bool) -> Iterator[str]:
    whose = "between brokers" if each.broker is None else f"between the disks of broker {each.broker}"
    whose = text.clean(whose + _of([each.cluster_id], apart=apart))
    for node in each.passed_over:
        yield (
            f"{whose}: node {node} is no target, for it has no replica, and no metadata log here tells "
            "whether it is a broker or a controller"
        )
    if each.why_not:
        yield f"{whose}: not looked at, {each.why_not}"
        return
    before, after = (", ".join(f"{fill:.1%}" for fill in fills) for fills in (each.before, each.after))
    if not each.moves:
        near = max(each.before) - min(each.before) <= spread
        none = f"no move brings them closer and leaves {text.size(RESERVE)} free where it goes"
        yield f"{whose}: {before} full; {'nothing to move' if near else none}"
        return
    best = "" if each.exact else "; perhaps less would do"
    moves = f"{plural(len(each.moves), 'move')} of {text.size(each.bytes)}"
    yield f"{whose}: {before} full, then {after}, by {moves}{best}"
    if each.broker is not None:
        dirs = " ".join(text.clean(path) for name in each.names for path in name.split(", "))
        yield f"  next: segmend plan balance {dirs} -o plan.json (broker stopped), or --reassign (running)"


def _when(ms: int) -> str:
    return "?" if ms < 0 else datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def _objects(measured: Capacity, within: float, full: int) -> Iterator[Mapping[str, object]]:
    yield from map(_disk_object, measured.disks)
    yield from map(_topic_object, measured.topics)
    for broker in measured.measured:
        for each in broker.replicas:
            yield {
                "type": "partition", "topic": each.topic, "partition": each.partition,
                "cluster_id": each.cluster_id, "broker": each.broker, "dir": each.dir, "kind": each.kind,
                "bytes": each.bytes, "allocated_bytes": each.allocated,
                "oldest_timestamp": each.oldest_ms, "newest_timestamp": each.newest_ms,
                "bytes_per_day": each.growth.per_day, "net_bytes_per_day": each.growth.net_per_day,
                "room_bytes": each.growth.room, "growth": each.growth.why,
            }  # fmt: skip
    for evened in measured.evened:
        yield {"type": "balance"} | asdict(evened)
    yield {
        "type": "summary", "disks": len(measured.disks), "full_within": full, "within_days": within,
        "topics": len(measured.topics), "replicas": sum(broker.count for broker in measured.measured),
        "unsampled_topics": measured.unsampled, "unread": list(measured.unread),
    }  # fmt: skip


def _disk_object(each: DiskCapacity) -> Mapping[str, object]:
    return {
        "type": "disk", "brokers": list(each.disk.brokers), "dirs": list(each.disk.dirs),
        "cluster_ids": list(each.disk.clusters),
        "total_bytes": each.disk.total, "available_bytes": each.disk.available, "log_bytes": each.logs,
        "other_bytes": each.other_bytes, "at": each.at_ms, "bytes_per_day": each.written_per_day,
        "net_bytes_per_day": each.net_per_day, "days_until_full": each.days_until_full,
        "days_at_least": each.days_at_least, "unknown": list(each.unknown),
    }  # fmt: skip


def _topic_object(each: TopicCapacity) -> Mapping[str, object]:
    return {
        "type": "topic", "cluster_id": each.cluster_id, "topic": each.topic, "partitions": each.partitions,
        "replicas": each.replicas, "bytes": each.bytes, "bytes_per_day": each.written_per_day,
        "net_bytes_per_day": each.net_per_day, "unknown_rates": each.unknown_rates,
        "sample": None if each.sample is None else asdict(each.sample),
        "advice": None if each.advice is None else asdict(each.advice),
    }  # fmt: skip
