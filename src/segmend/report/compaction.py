"""Compaction for people and as JSON: each compacted partition, how dirty it is, and what holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from segmend.explain.compaction import BOUNDS, HOLDS, Compaction
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import Column, table

_COLUMNS = (
    Column("partition"), Column("clean", right=True), Column("dirty", right=True),
    Column("ratio", right=True), Column("first dirty", right=True), Column("up to", right=True),
    Column("what becomes of it"),
)  # fmt: skip


def lines(found: Sequence[Compaction], style: Style = PLAIN) -> Iterator[str]:
    """The partitions, the dirtiest first, then the settings that are not the defaults."""
    if not found:
        yield "no compacted partition here (in ZooKeeper mode the policies of topics are not on this disk)"
        return
    ordered = sorted(found, key=lambda each: (each.failure is None, -each.ratio, each.dir, each.name))
    yield from table(_COLUMNS, map(_row, ordered), style)
    for each in ordered:
        given = [s for s in each.settings[1:] if s.source != "Kafka's default"]
        if given:
            words = "; ".join(f"{s.name}={s.value} ({s.source})" for s in given)
            yield text.clean(f"{each.name}: {words}")


def _row(each: Compaction) -> Sequence[str]:
    name = text.clean(f"{each.dir.rstrip('/')}/{each.name}")
    if each.failure is not None:
        return [name, "-", "-", "-", "-", "-", f"does not load: {text.clean(each.failure)}"]
    words = HOLDS[each.outcome]
    if each.bound != "active":
        words = f"{words}; held by {BOUNDS[each.bound]}"
    first = (
        f"{each.first_dirty_offset}" if each.checkpointed else f"{each.first_dirty_offset} (never cleaned)"
    )
    return [
        name, text.size(each.clean_bytes), text.size(each.dirty_bytes), f"{each.ratio:.2f}", first,
        str(each.end_offset), words,
    ]  # fmt: skip


def json_lines(found: Iterable[Compaction]) -> Iterator[Mapping[str, Any]]:
    """One `partition` line each."""
    for each in found:
        yield {
            "type": "partition",
            "dir": each.dir,
            "file": each.name,
            "topic": each.topic,
            "partition": each.partition,
            "settings": {s.name: {"value": s.value, "source": s.source} for s in each.settings},
            "first_dirty_offset": each.first_dirty_offset,
            "checkpointed": each.checkpointed,
            "end_offset": each.end_offset,
            "bound": each.bound,
            "clean_bytes": each.clean_bytes,
            "dirty_bytes": each.dirty_bytes,
            "ratio": round(each.ratio, 4),
            "outcome": each.outcome,
            "failure": each.failure,
        }
