"""Replicas side by side, for people and as JSON lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from segmend.cluster.gathered import PassedOver, PassedOverObject
from segmend.formats.names import parse_file_name
from segmend.kernel.types import KINDS
from segmend.merge.compared import Compared
from segmend.merge.values import Conflicts, Merged, Replica, Standing
from segmend.report import text
from segmend.report.producers import written_by
from segmend.report.style import PLAIN, Style
from segmend.report.table import columns, table
from segmend.wording import plural

SHOWN = 5
"""Ranges of offsets that are told one by one."""
_COLUMNS = columns(">broker", ">start", ">end", ">high watermark", ">lacks", ">only here", "is", "directory")
_COLOURS = {"diverged": "red", "damaged": "red", "behind": "yellow"}


def replica_json(partition: Compared, number: int) -> dict[str, object]:
    """One replica as `diff` and `fleet diff` tell it; of what may be very much, iterators."""
    replica, merged = partition.replicas[number], partition.merged
    assert merged is not None, "a refused partition has no replicas to tell"
    standing = merged.standings[number]
    left = standing.diverged_at
    return {
        "type": "replica",
        "topic": partition.topic,
        "partition": partition.partition,
        "broker": replica.broker,
        "dir": replica.dir,
        "directory": replica.name,
        "log_start_offset": replica.log_start_offset,
        "log_end_offset": replica.log_end_offset,
        "high_watermark": replica.high_watermark,
        "relation": standing.relation,
        "behind_records": standing.behind_records,
        "diverged_at": None if left is None else {"offset": left[0], "epoch": left[1]},
        "diverged": (
            {
                "first_offset": each.first_offset, "last_offset": each.last_offset, "records": each.records,
                "producers": list(each.producers),
            }
            for each in merged.diverged if each.replica == number
        ),
        "damaged": (
            {
                "first_offset": each.first_offset, "last_offset": each.last_offset,
                "sound_on": [partition.replicas[other].broker for other in each.sound_on],
            }
            for each in standing.hurt
        ),
        "unique": (
            {
                "first_offset": each.first_offset, "last_offset": each.last_offset, "records": each.records,
                "above_high_watermark": each.above_high_watermark,
            }
            for each in standing.unique
        ),
    }  # fmt: skip


def partition_json(partition: Compared, leader: int | None, absent: Sequence[int]) -> dict[str, object]:
    """One partition; `leader` and the brokers that lack it are those of the metadata log, if there is one."""
    line: dict[str, object] = {
        "type": "partition",
        "topic": partition.topic,
        "partition": partition.partition,
    }
    merged = partition.merged
    if merged is None:
        return {**line, "verdict": "refused", "best": None, "missing": [], "reason": partition.refused}
    best = partition.replicas[merged.best]
    return {
        **line,
        "verdict": verdict(merged, absent),
        "best": {"broker": best.broker, "dir": best.dir},
        "missing": map(list, merged.missing),
        "first_offset": merged.first_offset,
        "next_offset": merged.next_offset,
        "high_watermark": merged.high_watermark,
        "leader": leader,
        "absent": list(absent),
        "conflicts": Conflicts(merged.conflicts, partition.replicas),
        "doubts": list(merged.doubts),
        "assumed": list(merged.assumed),
    }


def verdict(merged: Merged, absent: Sequence[int]) -> str:
    """That of the merge; a broker without its replica is behind, unless no record was ever written."""
    lacking = absent and merged.next_offset > 0 and merged.verdict == "equal"
    return "behind" if lacking else merged.verdict


def partition_lines(
    partition: Compared, leader: int | None, absent: Sequence[int], style: Style = PLAIN
) -> Iterator[str]:
    """A partition for people: a line, a table of its replicas, what follows from it, and what comes next."""
    name, merged = f"{text.clean(partition.topic)}-{partition.partition}", partition.merged
    if merged is None:
        yield f"{style('bold', name)}  {style('red', 'refused')}: {text.clean(partition.refused or '')}"
        return
    said = verdict(merged, absent)
    best = partition.replicas[merged.best]
    led = "" if leader is None else f"; leader by the metadata log: broker {leader}"
    where = f"{_broker(best)} {text.clean(best.path)}"
    yield f"{style('bold', name)}  {style(_COLOURS.get(said), said)}; best: {where}{led}"
    yield from (f"  {line}" for line in table(_COLUMNS, _rows(partition, merged), style))
    yield from (f"  {line}" for line in _consequences(partition, merged, leader, absent))
    for command in dict.fromkeys(_next(partition, merged)):
        yield f"  next: {style.command(command)}"


def _rows(partition: Compared, merged: Merged) -> Iterator[Sequence[str]]:
    for replica, standing in zip(partition.replicas, merged.standings, strict=True):
        yield (
            text.number(replica.broker),
            str(replica.log_start_offset),
            str(replica.log_end_offset),
            text.number(replica.high_watermark),
            str(standing.behind_records),
            str(sum(each.records for each in standing.unique)),
            _relation(standing),
            text.clean(replica.path),
        )


def _relation(standing: Standing) -> str:
    if standing.diverged_at is None:
        return standing.relation
    return f"diverged at offset {standing.diverged_at[0]} in epoch {standing.diverged_at[1]}"


def _broker(replica: Replica) -> str:
    return text.broker(replica.broker)


def _consequences(
    partition: Compared, merged: Merged, leader: int | None, absent: Sequence[int]
) -> Iterator[str]:
    replicas = partition.replicas
    for broker in absent:
        yield (
            f"broker {broker} is to have a replica by the metadata log, or had one by its checkpoints, and "
            "none of its dirs has it"
        )
    for each in merged.diverged:
        wrote = written_by(each.producers)
        yield (
            f"{_broker(replicas[each.replica])}: {_offsets(each.first_offset, each.last_offset)} of epoch "
            f"{each.epoch} ({plural(each.records, 'record')}{wrote}) are not on the newest leader's branch; "
            "a follower cuts them off"
        )
    for number, standing in enumerate(merged.standings):
        yield from _hurt(partition, number, standing)
        if replicas[number].broker != leader or leader is None:
            yield from _unique(replicas[number], standing, known=merged.high_watermark is not None)
    for conflict in merged.conflicts:
        groups = " | ".join(", ".join(_broker(replicas[n]) for n in group) for group in conflict.held)
        yield (
            f"{_offsets(conflict.first_offset, conflict.last_offset)}: sound bytes of one epoch differ "
            f"({groups}); taken by {conflict.because}"
        )
    for first, last in merged.missing[:SHOWN]:
        yield f"lost: {_offsets(first, last)} are sound on no replica"
    yield from _more(len(merged.missing), "missing range")
    yield from (f"not known: {text.clean(doubt)}" for doubt in merged.doubts[:SHOWN])
    yield from _more(len(merged.doubts), "such place")
    yield from (f"assumed: {text.clean(words)}" for words in merged.assumed)


def _hurt(partition: Compared, number: int, standing: Standing) -> Iterator[str]:
    for each in standing.hurt[:SHOWN]:
        brokers = [_broker(partition.replicas[other]) for other in each.sound_on]
        sound = f"sound on {', '.join(brokers)}" if brokers else "sound nowhere"
        if each.last_offset is None:
            where, sound = f"from offset {each.first_offset} on", "how far nothing tells"
        else:
            where = _offsets(each.first_offset, each.last_offset)
        yield f"{_broker(partition.replicas[number])}: damaged {where}; {sound}"
    yield from _more(len(standing.hurt), "damaged range")


def _unique(replica: Replica, standing: Standing, *, known: bool) -> Iterator[str]:
    for each in standing.unique[:SHOWN]:
        side = f"{'above' if each.above_high_watermark else 'below'} the high watermark"
        side = side if known else "no high watermark is known"
        yield (
            f"only on {_broker(replica)}: {_offsets(each.first_offset, each.last_offset)} "
            f"({plural(each.records, 'record')}, {side}); an unclean election of another loses them"
        )
    yield from _more(len(standing.unique), "such range")


def _more(count: int, what: str) -> Iterator[str]:
    if count > SHOWN:
        yield f"... and {plural(count - SHOWN, what)} more (--json has all)"


def _offsets(first: int, last: int) -> str:
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def _next(partition: Compared, merged: Merged) -> Iterator[str]:
    """What helps: a damaged replica takes batches of one that has them all, else all give what they have."""
    if any("://" in replica.dir for replica in partition.replicas):
        yield from _from_stores(partition, merged)
        return
    together = False
    for number, standing in enumerate(merged.standings):
        replica = partition.replicas[number]
        if standing.relation == "diverged":
            at = (standing.diverged_at or (0, 0))[0]
            together = True
            yield f"segmend show {shlex.quote(replica.path)} --records --offset {at}.."
        elif standing.relation == "damaged" and (source := _source(partition, standing, number)) is not None:
            here, there = shlex.quote(replica.path), shlex.quote(source.path)
            yield f"segmend plan repair {here} --from {there} -o plan.json"
        elif standing.relation == "damaged":
            together = True
    if together:
        yield from _merges(partition, merged)
        paths = " ".join(shlex.quote(replica.path) for replica in partition.replicas)
        out = shlex.quote(f"rescued-{partition.topic}-{partition.partition}")
        yield f"segmend rescue {paths} --out {out} --as log-dir"


def _from_stores(partition: Compared, merged: Merged) -> Iterator[str]:
    """What helps in an object store, which only tasks of the fleet read and no plan changes."""
    if any(standing.relation in ("diverged", "damaged") for standing in merged.standings):
        dirs = " ".join(shlex.quote(each) for each in dict.fromkeys(one.dir for one in partition.replicas))
        topic, out = shlex.quote(partition.topic), shlex.quote(f"rescued-{partition.topic}")
        yield f"segmend fleet rescue {dirs} --topic {topic} --out {out} --as log-dir"


def _merges(partition: Compared, merged: Merged) -> Iterator[str]:
    """The merge of all, for each replica that no other one mends alone; a conflict is for a person."""
    name = f"{partition.topic}-{partition.partition}"
    elsewhere = any(each.name != name or "://" in each.dir for each in partition.replicas)
    if elsewhere or any(each.because == "order" for each in merged.conflicts):
        return
    for number, standing in enumerate(merged.standings):
        if (
            standing.relation not in ("diverged", "damaged")
            or _source(partition, standing, number) is not None
        ):
            continue
        others = (each.path for each in partition.replicas if each is not partition.replicas[number])
        where = " ".join(f"--from {shlex.quote(path)}" for path in others)
        mine = partition.replicas[number]
        beside = shlex.quote(f"left-out-{name}-{number if mine.broker is None else mine.broker}")
        side = f" --side {beside}" if standing.relation == "diverged" else ""
        if where:
            home = shlex.quote(mine.dir)
            yield f"segmend plan merge {home} --partition {shlex.quote(name)} {where}{side} -o plan.json"


def _source(partition: Compared, standing: Standing, number: int) -> Replica | None:
    """One replica that has sound all that is damaged here, if the damage is within batches."""
    kinds = {each.kind for each in partition.replicas[number].damaged}
    if not kinds or not kinds <= KINDS.keys():
        return None
    having = set(range(len(partition.replicas))) - {number}
    for each in standing.hurt:
        having &= set(each.sound_on)
    return partition.replicas[min(having)] if having and standing.hurt else None


def summary_json(
    counts: Mapping[str, int], notes: Sequence[str], beside: PassedOver, seconds: float
) -> dict[str, object]:
    told = beside.to_json()
    return {"type": "summary", **counts, "notes": list(notes), **told, "seconds": round(seconds, 3)}


def summary_line(counts: Mapping[str, int], seconds: float, style: Style = PLAIN) -> str:
    told = [f"{count} {what}" for what, count in counts.items() if count and what in _VERDICTS]
    if counts["alone"]:
        told.append(f"{counts['alone']} with one replica here, which nothing was compared with")
    if counts["doubtful"]:
        told.append(f"something is not known of {counts['doubtful']} of these")
    if counts["vanished"]:
        told.append(f"{counts['vanished']} more in none of these dirs")
    head = f"{plural(counts['partitions'], 'partition')}: {', '.join(told) or 'none'}"
    read = f"{plural(counts['replicas'], 'replica')}, {counts['batches']:,} batches"
    size = f"{text.size(counts['bytes'])}, every checksum, {text.duration(seconds)}"
    return f"{style('bold', head)}; {read}, {size}"


def vanished_lines(gone: Sequence[str]) -> Iterator[str]:
    """The partitions that are in none of the dirs, for people: many of them where a few dirs were saved."""
    yield from map(text.clean, gone[:SHOWN])
    if len(gone) > SHOWN:
        yield f"and {len(gone) - SHOWN} more (--json names all)"


def passed_over_lines(line: PassedOverObject) -> Iterator[str]:
    """What lies beside the replicas and was not looked at, for people; a `line` has `PassedOver.to_json`."""
    aside, strays = line.get("not_looked_at", ()), line.get("strays", ())
    broken, running = line.get("unread", ()), line.get("running", ())
    not_here, shared = line.get("not_here", ()), line.get("shared", ())
    logs = [each for each in aside if parse_file_name(each.rpartition("/")[2]).kind == "log"]
    if homes := [each for each in aside if each not in logs]:
        yield (
            f"not looked at, for no broker serves them (being deleted, moved, or set aside): {_few(homes)}; "
            "give partition directories in place of log dirs to have one read"
        )
    if logs:
        yield (
            f"not looked at, for no broker reads logs of such an ending (being deleted, or a cleaner's): "
            f"{_few(logs)}; give a copy of a directory in which such a log has the usual name to have it read"
        )
    if strays:
        yield (
            f"may have records that no replica here has: {_few(strays)}; `segmend diff` with such a "
            "directory and those of the replicas of its partition tells, `segmend rescue` with them takes all"
        )
    if broken:
        yield f"could not be read: {_few(broken)}: links to nothing (a disk that is not mounted?)"
    if running:
        yield (
            f"a broker runs on {_few(running)}: each replica there was read at another moment, and what came "
            "since is not looked at; stop the brokers for an answer that stands"
        )
    if not_here:
        yield (
            f"not looked at: replicas on broker {', '.join(map(str, not_here))}, of which no dir is here; by "
            "the metadata log some of these topics are there"
        )
    if shared:
        yield f"not taken, for nothing tells whose records they have: {_few(shared)}"
    yield from (f"assumed: {text.clean(each)}" for each in line.get("assumed", ()))
    if not_here is None:
        yield "no metadata log is among these dirs: which brokers are to have replicas is not known"


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN} more (--json names all)" if len(paths) > SHOWN else ""
    return ", ".join(map(text.clean, paths[:SHOWN])) + more


_VERDICTS = ("equal", "behind", "diverged", "damaged", "refused")
