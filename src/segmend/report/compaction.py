"""Compaction for people and as JSON: how dirty each partition is, what holds it, what a cleaning leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.broker.cleaner import RESET_BELOW, RESET_BEYOND, CleanerVerdict, Reset
from segmend.explain.cleaned_size import CleanedSize
from segmend.explain.cleaner_blockers import Blocker
from segmend.explain.compaction import BOUNDS, HOLDS, Compaction
from segmend.loading.limits import Origin
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import columns, table
from segmend.wording import plural

_COLUMNS = columns(
    "partition", ">clean", ">dirty", ">ratio", ">first dirty", ">up to", ">size after", "what becomes of it",
)  # fmt: skip


def lines(studied: Sequence[Compaction], style: Style = PLAIN) -> Iterator[str]:
    """The partitions, the dirtiest first, then what holds each, and settings that are no defaults."""
    if not studied:
        yield "no compacted partition here (in ZooKeeper mode the policies of topics are not on this disk)"
        return
    ordered = sorted(studied, key=lambda each: (each.failure is None, -each.ratio, each.dir, each.name))
    yield from table(_COLUMNS, map(_row, ordered), style)
    for each in ordered:
        told = list(_remarks(each))
        if told:
            yield style("bold", text.clean(each.name))
            yield from (f"  {words}" for words in told)


def _row(each: Compaction) -> Sequence[str]:
    name = text.clean(f"{each.dir.rstrip('/')}/{each.name}")
    verdict = each.verdict
    if verdict is None:
        return [name, "-", "-", "-", "-", "-", "-", f"does not load: {text.clean(str(each.failure))}"]
    words = HOLDS[each.outcome]
    if verdict.bound != "active":
        words = f"{words}; held by {BOUNDS[verdict.bound]}"
    first = f"{verdict.first_dirty}"
    first += " (never cleaned)" if each.checkpoint is None else ""
    return [
        name, text.size(verdict.clean_bytes), text.size(verdict.dirty_bytes), f"{verdict.ratio:.2f}", first,
        str(verdict.stop), _size(each.cleaned), words,
    ]  # fmt: skip


def _size(cleaned: CleanedSize | None) -> str:
    if cleaned is None or cleaned.spoiled is not None:
        return "-"
    return text.size(cleaned.bytes) if cleaned.exact else f"~{text.size(cleaned.bytes)}"


def _remarks(each: Compaction) -> Iterator[str]:
    if each.deleted:
        order = "before or after it" if each.instead else "before it"
        yield f"retention deletes its first {plural(each.deleted, 'segment')} {order} is cleaned"
    if each.verdict is not None:
        yield from _of_verdict(each, each.verdict)
    if each.cleaned is not None:
        yield from _of_size(each.cleaned)
    yield from map(_blocked, each.blockers)
    given = [f"{s.name}={s.value} ({s.source})" for s in each.settings if s.origin != Origin.DEFAULT]
    if len(given) > 1 or (given and not each.settings[0].known):
        yield text.clean("; ".join(given))
    if not each.settings_known:
        yield "some settings are assumed: the topic's own, or server.properties, were not seen"


def _of_verdict(each: Compaction, verdict: CleanerVerdict) -> Iterator[str]:
    if verdict.reset is not None:
        where = "below the log start" if verdict.reset == Reset.BELOW else "beyond the log end"
        yield f"its offset in cleaner-offset-checkpoint, {each.checkpoint}, is {where}: all counts as dirty"
    if verdict.due_ms is not None and not each.due and verdict.dirty_bytes:
        yield f"max.compaction.lag.ms asks for it from {text.when(verdict.due_ms)} on"


def _of_size(cleaned: CleanedSize) -> Iterator[str]:
    looked = f"{text.size(cleaned.read)} of {text.size(cleaned.of)} were read"
    keys = f"{plural(cleaned.records, 'record')}, {plural(cleaned.keys, 'key')}"
    if cleaned.spoiled is None and not cleaned.exact:
        between = f"{text.size(cleaned.low)} and {text.size(cleaned.high)}"
        yield f"the size after is an estimate, between {between}: {looked}, {keys} in them"
    if cleaned.keyless:
        yield f"{plural(cleaned.keyless, 'record')} without a key there: a cleaning drops them"
    if cleaned.full:
        yield f"the offset map is full before all is in it: one round cleans up to offset {cleaned.to}"


def _blocked(blocker: Blocker) -> str:
    since = "" if not blocker.since_ms else f", since {text.when(blocker.since_ms)}"
    if blocker.kind == "damage":
        place = f"{blocker.file} at {blocker.position}: {blocker.detail}"
        return text.clean(f"the cleaner throws at {place}. {blocker.broker_says}")
    if blocker.kind == "transaction":
        who = f"producer {blocker.producer_id}, epoch {blocker.producer_epoch}"
        return f"an open transaction of {who}, from offset {blocker.offset} on{since}"
    if blocker.kind == "lag":
        return f"min.compaction.lag.ms holds offset {blocker.offset} until {text.when(blocker.until_ms)}"
    return f"{BOUNDS[blocker.kind]}, from offset {blocker.offset} on{since}"


def json_lines(studied: Iterable[Compaction]) -> Iterator[Mapping[str, object]]:
    for each in studied:
        yield {
            "type": "partition",
            "dir": each.dir,
            "file": each.name,
            "topic": each.topic,
            "partition": each.partition,
            "settings": {setting.name: setting.to_json() for setting in each.settings},
            "settings_known": each.settings_known,
            **_verdict(each),
            "outcome": each.outcome,
            "turn": each.turn,
            "deleted_first": {"segments": each.deleted, "certain": not each.instead},
            "broker_says": _broker_says(each),
            "size": None if each.cleaned is None else _cleaned(each.cleaned),
            "blockers": [blocker.to_json() for blocker in each.blockers],
            "failure": each.failure,
        }


def _verdict(each: Compaction) -> Mapping[str, object]:
    verdict = each.verdict
    return {
        "first_dirty_offset": verdict.first_dirty if verdict else 0,
        "checkpointed": each.checkpoint is not None,
        "checkpoint": each.checkpoint,
        "reset": verdict.reset if verdict else None,
        "end_offset": verdict.stop if verdict else 0,
        "bound": verdict.bound if verdict else None,
        "bound_offset": verdict.uncleanable if verdict else None,
        "clean_bytes": verdict.clean_bytes if verdict else 0,
        "dirty_bytes": verdict.dirty_bytes if verdict else 0,
        "ratio": round(verdict.ratio, 4) if verdict else 0.0,
        "due_ms": verdict.due_ms if verdict else None,
    }


def _broker_says(each: Compaction) -> str | None:
    verdict = each.verdict
    if verdict is None or verdict.reset is None:
        return None
    start, end = verdict.first_dirty, each.log_end_offset
    if verdict.reset == Reset.BEYOND:
        return RESET_BEYOND.say(each.release, each.name, each.checkpoint, end, start)
    both = {"compact", "delete"} <= set(each.settings[0].value.split(","))
    return None if both else RESET_BELOW.say(each.release, each.name, start, each.checkpoint)


def _cleaned(cleaned: CleanedSize) -> Mapping[str, object]:
    return {
        "bytes": cleaned.bytes,
        "low": cleaned.low,
        "high": cleaned.high,
        "estimate": not cleaned.exact,
        "read_bytes": cleaned.read,
        "of_bytes": cleaned.of,
        "records": cleaned.records,
        "keys": cleaned.keys,
        "records_without_key": cleaned.keyless,
        "cleaned_to": cleaned.to,
        "map_full": cleaned.full,
    }
