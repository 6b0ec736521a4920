"""Every replica of a partition, and its segments, for the page to search and to open: packed, not printed.

A page carries all replicas of a fleet of some size (18 bytes each) and as many segments as stay small
enough to be sent along: those of the replicas with findings first, then those of the biggest ones. What it
does not carry is counted, and a replica says where its segments are to be had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segmend.frozen import frozen

from .columns import Tables, broker_name, broker_order, number, select, sums
from .packing import exact, packed
from .places import Places

PARTITIONS: Final = 100_000
SEGMENTS: Final = 100_000

_SEVERITIES: Final = ("error", "warning", "info")
_KEY: Final = ("broker", "topic", "partition")
_NUMBERS: Final = {
    "bytes": "log_bytes",
    "segments": "segments",
    "records": "records",
    "start": "log_start_offset",
    "end": "log_end_offset",
    "watermark": "high_watermark",
    "recovery": "recovery_point",
    "epoch": "last_epoch",
    "oldest": "min_timestamp_ms",
    "newest": "max_timestamp_ms",
}
"""What the page calls it, and the column of `partitions`."""
_OF_SEGMENT: Final = {
    "base": "segment",
    "bytes": "log_bytes",
    "records": "records",
    "oldest": "min_timestamp_ms",
    "newest": "max_timestamp_ms",
    "problems": "problems",
}

Counts: TypeAlias = Sequence[int]
"""Findings by severity, in the order of `_SEVERITIES`."""


@frozen
class Explorer:
    """The packed tables; empty where there is nothing to pack."""

    total: int
    carried: int
    segments: int
    carried_segments: int
    partitions_packed: str
    segments_packed: str

    @property
    def hidden(self) -> int:
        """How many replicas are only in the table."""
        return self.total - self.carried


@frozen
class _Replica:
    """A row of `partitions`: its number there, whose it is, and what was found in it."""

    at: int
    broker: str
    log_dir_id: int | None
    topic: str
    partition: int | None
    name: str
    kind: str
    bytes: int
    segments: int
    found: Counts

    @property
    def weight(self) -> tuple[int, ...]:
        """The worst, then the biggest, first."""
        return *(-count for count in self.found), -self.bytes


def explorer(tables: Tables, places: Places) -> Explorer:
    """Packs `partitions` and `segments`."""
    table = select(tables, "partitions", [*_KEY, "log_dir_id", "dir_name", "kind", *_NUMBERS.values()])
    every = _replicas(table, _found(tables))
    chosen = sorted(every, key=lambda each: each.weight)[:PARTITIONS]
    chosen.sort(key=_by_name)
    held, of_segments = _segments(tables, _with_segments(chosen))
    told = _partitions(table, chosen, places) | {"held": [held.get(_dir_of(each), 0) for each in chosen]}
    return Explorer(
        total=len(every),
        carried=len(chosen),
        segments=sum(each.segments for each in every),
        carried_segments=sum(held.values()),
        partitions_packed=packed(told) if chosen else "",
        segments_packed=packed(of_segments) if held else "",
    )


def _by_name(each: _Replica) -> tuple[Any, ...]:
    return each.topic, number(each.partition), broker_order(each.broker), each.name


def _dir_of(each: _Replica) -> tuple[int | None, str]:
    return each.log_dir_id, each.name


def _found(tables: Tables) -> Mapping[tuple[Any, ...], Counts]:
    """How many findings each has; a comparison of replicas knows the broker, but no log dir."""
    counts: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * len(_SEVERITIES))
    for row in sums(select(tables, "findings", [*_KEY, "severity"]), [*_KEY, "severity"], []):
        severity = row["severity"] if row["severity"] in _SEVERITIES else "info"
        counts[tuple(row[name] for name in _KEY)][_SEVERITIES.index(severity)] += row["rows"]
    return counts


def _replicas(table: pa.Table, found: Mapping[tuple[Any, ...], Counts]) -> list[_Replica]:
    names = (*_KEY, "log_dir_id", "dir_name", "kind", "log_bytes", "segments")
    none = (0,) * len(_SEVERITIES)
    return [
        _Replica(
            at=at, broker=broker_name(broker), log_dir_id=log_dir, topic=topic or "", partition=partition,
            name=name or f"{topic}-{partition}", kind=kind or "", bytes=number(size),
            segments=number(segments), found=found.get((broker, topic, partition), none),
        )
        for at, (broker, topic, partition, log_dir, name, kind, size, segments)
        in enumerate(zip(*(table[name].to_pylist() for name in names), strict=True))
    ]  # fmt: skip


def _partitions(table: pa.Table, chosen: Sequence[_Replica], places: Places) -> dict[str, Any]:
    """The columns that the page unpacks; names, kinds and log dirs as numbers in a list of them."""
    rows = [each.at for each in chosen]
    topics, topic = _numbered(each.topic for each in chosen)
    kinds, kind = _numbered(each.kind for each in chosen)
    dirs, log_dir = _numbered((each.broker, places.path(each.log_dir_id)) for each in chosen)
    told: dict[str, Any] = {
        "topics": topics, "kinds": kinds, "dirs": dirs,
        "topic": topic, "kind": kind, "dir": log_dir,
        "partition": [each.partition for each in chosen],
        "names": {n: e.name for n, e in enumerate(chosen) if e.name != f"{e.topic}-{e.partition}"},
    }  # fmt: skip
    for nth, severity in enumerate(_SEVERITIES):
        told[severity] = [each.found[nth] for each in chosen]
    for name, column in _NUMBERS.items():
        values = table[column].to_pylist()
        told[name] = [exact(values[at]) for at in rows]
    return told


def _numbered(values: Iterable[Any]) -> tuple[list[Any], list[int]]:
    """The values, each once, and for each its number among them."""
    numbers: dict[Any, int] = {}
    column = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), column


def _with_segments(chosen: Sequence[_Replica]) -> dict[tuple[int | None, str], int]:
    """The replicas whose segments the page carries, by their dirs, with their place among the chosen."""
    left, wanted = SEGMENTS, set[int]()
    for each in sorted(chosen, key=lambda each: each.weight):
        if each.segments <= left:
            left -= each.segments
            wanted.add(each.at)
    return {_dir_of(each): place for place, each in enumerate(chosen) if each.at in wanted}


def _segments(
    tables: Tables, wanted: Mapping[tuple[int | None, str], int]
) -> tuple[Mapping[tuple[int | None, str], int], dict[str, list[Any]]]:
    """How many of each replica there are, and their columns, in the order of the replicas."""
    whose = select(tables, "segments", ["log_dir_id", "file"])
    if whose.num_rows == 0 or not wanted or pa.types.is_null(whose["file"].type):
        return {}, {}
    # Of a million segments the names are the most: they are gone before the numbers come.
    place = _places(whose, wanted)
    del whose
    table = select(tables, "segments", [*_OF_SEGMENT.values()]).append_column("place", pa.array(place))
    table = table.filter(pc.greater_equal(table["place"], 0))
    table = table.sort_by([("place", "ascending"), ("segment", "ascending")]).slice(0, SEGMENTS)
    counts = np.bincount(table["place"].to_numpy(), minlength=max(wanted.values()) + 1)
    held = {key: int(counts[at]) for key, at in wanted.items() if counts[at]}
    return held, {name: [exact(v) for v in table[column].to_pylist()] for name, column in _OF_SEGMENT.items()}


def _places(table: pa.Table, wanted: Mapping[tuple[int | None, str], int]) -> np.ndarray:
    """The place of each segment's replica among the chosen, -1 without one."""
    names = pc.replace_substring_regex(pc.fill_null(table["file"], ""), "/.*", "").combine_chunks()
    coded = names.dictionary_encode()
    ids = pc.fill_null(table["log_dir_id"].cast(pa.int64()), -1).to_numpy()
    pairs, which = np.unique((ids << 32) | coded.indices.to_numpy(), return_inverse=True)
    texts = coded.dictionary.to_pylist()
    keys = ((int(pair) >> 32, texts[int(pair) & 0xFFFFFFFF]) for pair in pairs)
    places = [wanted.get((None if log_dir < 0 else log_dir, name), -1) for log_dir, name in keys]
    found: np.ndarray = np.asarray(places, np.int64)[which]
    return found
