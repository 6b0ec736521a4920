"""What the rule of merging makes of the replicas of a partition: who is taken where, and why."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.merge.compared import Compared
from segmend.merge.values import Merged
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.wording import plural


def merge_json(partition: Compared) -> dict[str, object]:
    line: dict[str, object] = {"type": "merge", "topic": partition.topic, "partition": partition.partition}
    merged = partition.merged
    if merged is None:
        return {**line, "refused": partition.refused}
    return {
        **line,
        "refused": None,
        "first_offset": merged.first_offset,
        "next_offset": merged.next_offset,
        "high_watermark": merged.high_watermark,
        "epochs": [
            {"epoch": each.epoch, "first_offset": each.first_offset, "last_offset": each.last_offset}
            for each in merged.lineage
        ],
        "ranges": [
            {
                "broker": partition.replicas[each.replica].broker,
                "dir": partition.replicas[each.replica].dir,
                "first_offset": each.first_offset, "last_offset": each.last_offset,
                "unacknowledged": each.unacknowledged, "superseded": list(each.superseded),
            }
            for each in merged.ranges
        ],
        "missing": [list(each) for each in merged.missing],
        "doubts": list(merged.doubts),
        "assumed": list(merged.assumed),
    }  # fmt: skip


def merge_lines(partition: Compared, style: Style = PLAIN) -> Iterator[str]:
    name, merged = f"{text.clean(partition.topic)}-{partition.partition}", partition.merged
    if merged is None:
        yield f"{style('bold', name)}  {style('red', 'refused')}: {text.clean(partition.refused or '')}"
        return
    known = "not known" if merged.high_watermark is None else str(merged.high_watermark)
    yield (
        f"{style('bold', name)}  offsets {merged.first_offset} to {merged.next_offset}, "
        f"high watermark {known}"
    )
    for epoch in merged.lineage:
        last = "on" if epoch.last_offset is None else f"to {epoch.last_offset}"
        name = "no epoch" if epoch.epoch < 0 else f"epoch {epoch.epoch}"
        yield f"  {name} from {epoch.first_offset} {last}"
    yield from (f"  {line}" for line in _taken(partition, merged))


def _taken(partition: Compared, merged: Merged) -> Iterator[str]:
    for each in merged.ranges:
        marked = ", not known to be acknowledged" if each.unacknowledged else ""
        left = f", {plural(len(each.superseded), 'record')} left out" if each.superseded else ""
        replica = partition.replicas[each.replica]
        broker = "?" if replica.broker is None else replica.broker
        where = f"broker {broker}, {text.clean(replica.path)}"
        yield f"{each.first_offset} to {each.last_offset}: {where}{marked}{left}"
    for first, last in merged.missing:
        yield f"{first} to {last}: on no replica"
    yield from (f"not known: {text.clean(doubt)}" for doubt in merged.doubts)
    yield from (f"assumed: {text.clean(words)}" for words in merged.assumed)
