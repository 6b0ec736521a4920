"""Every replica of a partition, and its segments, for the page to search and to open: packed, not printed.

A page carries all replicas of a fleet of some size (18 bytes each) and as many segments as stay small
enough to be sent along: those of the replicas with findings first, then those of the biggest ones. What it
does not carry is counted, and a replica says where its segments are to be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segmend.frozen import frozen

from .columns import NUMBER, Tables, broker_name, broker_order, folded, number, parts
from .findings import SEVERITIES
from .packing import exact, packed
from .places import Places

PARTITIONS: Final = 100_000
SEGMENTS: Final = 100_000

_KEY: Final = ("broker", "topic", "partition")
_NAME: Final = "name"
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
_ORDER: Final = [*((severity, "descending") for severity in SEVERITIES), ("size", "descending")]
_OF_SEGMENT: Final = {
    "base": "segment",
    "bytes": "log_bytes",
    "records": "records",
    "oldest": "min_timestamp_ms",
    "newest": "max_timestamp_ms",
    "problems": "problems",
}

Counts: TypeAlias = Sequence[int]
"""Findings by severity, in the order of `SEVERITIES`."""


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
    table, total, segments = _worst(tables)
    chosen = sorted(_replicas(table), key=_by_name)
    held, of_segments = _segments(tables, _with_segments(chosen))
    told = _partitions(table, chosen, places) | {"held": [held.get(_dir_of(each), 0) for each in chosen]}
    return Explorer(
        total=total,
        carried=len(chosen),
        segments=segments,
        carried_segments=sum(held.values()),
        partitions_packed=packed(told) if chosen else "",
        segments_packed=packed(of_segments) if held else "",
    )


def _by_name(each: _Replica) -> tuple[object, ...]:
    return each.topic, number(each.partition), broker_order(each.broker), each.name


def _dir_of(each: _Replica) -> tuple[int | None, str]:
    return each.log_dir_id, each.name


def _worst(tables: Tables) -> tuple[pa.Table, int, int]:
    """The worst and the biggest rows of `partitions`; how many there are, and how many segments they have."""
    # A comparison of replicas knows the broker, but no log dir.
    told = map(_by_severity, parts(tables, "findings", [*_KEY, "severity"]))
    counts = folded(told, [_NAME], dict.fromkeys(SEVERITIES, "sum")).drop_columns([NUMBER])
    best, total, segments = list[pa.Table](), 0, 0
    for part in parts(tables, "partitions", [*_KEY, "log_dir_id", "dir_name", "kind", *_NUMBERS.values()]):
        total += part.num_rows
        segments += int(pc.sum(part["segments"].cast(pa.int64())).as_py() or 0)
        both = pa.concat_tables([*best, _with_found(part, counts)])
        # Sorting is stable: of equals those that come first in the table stay.
        best = [both.take(pc.sort_indices(both, _ORDER).slice(0, PARTITIONS))]
    return best[0], total, segments


def _by_severity(table: pa.Table) -> pa.Table:
    said = pc.fill_null(table["severity"].cast(pa.string()), "")
    known = [pc.equal(said, severity) for severity in SEVERITIES[:-1]]
    counts = [*known, pc.invert(pc.or_(*known))]
    columns = {name: each.cast(pa.int64()) for name, each in zip(SEVERITIES, counts, strict=True)}
    return pa.table({_NAME: _name(table), **columns})


def _name(table: pa.Table) -> pa.ChunkedArray:
    """Broker, topic and partition as one text."""
    texts = [pc.fill_null(table[name].cast(pa.string()), "") for name in _KEY]
    return pc.binary_join_element_wise(*texts, "/")


def _with_found(part: pa.Table, findings: pa.Table) -> pa.Table:
    """With the findings of each, and a size to sort by."""
    place = pc.index_in(_name(part), value_set=findings[_NAME].combine_chunks())
    for severity in SEVERITIES:
        counts = pc.fill_null(pc.take(findings[severity].combine_chunks(), place), 0)
        part = part.append_column(severity, counts)
    return part.append_column("size", pc.fill_null(part["log_bytes"].cast(pa.int64()), 0))


def _replicas(table: pa.Table) -> list[_Replica]:
    names = (*_KEY, "log_dir_id", "dir_name", "kind", "size", "segments", *SEVERITIES)
    return [
        _Replica(
            at=at, broker=broker_name(broker), log_dir_id=log_dir, topic=topic or "", partition=partition,
            name=name or f"{topic}-{partition}", kind=kind or "", bytes=size,
            segments=number(segments), found=tuple(found),
        )
        for at, (broker, topic, partition, log_dir, name, kind, size, segments, *found)
        in enumerate(zip(*(table[name].to_pylist() for name in names), strict=True))
    ]  # fmt: skip


def _partitions(table: pa.Table, chosen: Sequence[_Replica], places: Places) -> dict[str, object]:
    """The columns that the page unpacks; names, kinds and log dirs as numbers in a list of them."""
    rows = [each.at for each in chosen]
    topics, topic = _numbered(each.topic for each in chosen)
    kinds, kind = _numbered(each.kind for each in chosen)
    dirs, log_dir = _numbered((each.broker, places.path(each.log_dir_id)) for each in chosen)
    told: dict[str, object] = {
        "topics": topics, "kinds": kinds, "dirs": dirs,
        "topic": topic, "kind": kind, "dir": log_dir,
        "partition": [each.partition for each in chosen],
        "names": {n: e.name for n, e in enumerate(chosen) if e.name != f"{e.topic}-{e.partition}"},
    }  # fmt: skip
    for nth, severity in enumerate(SEVERITIES):
        told[severity] = [each.found[nth] for each in chosen]
    for name, column in _NUMBERS.items():
        values = table[column].to_pylist()
        told[name] = [exact(values[at]) for at in rows]
    return told


def _numbered(values: Iterable[object]) -> tuple[list[object], list[int]]:
    """The values, each once, and for each its number among them."""
    numbers: dict[object, int] = {}
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
) -> tuple[Mapping[tuple[int | None, str], int], dict[str, list[object]]]:
    """How many of each replica there are, and their columns, in the order of the replicas."""
    kept = []
    for part in parts(tables, "segments", ["log_dir_id", "file", *_OF_SEGMENT.values()]):
        if part.num_rows and wanted and not pa.types.is_null(part["file"].type):
            placed = part.drop_columns(["log_dir_id", "file"]).append_column(
                "place", pa.array(_places(part, wanted))
            )
            kept.append(placed.filter(pc.greater_equal(placed["place"], 0)))
    if not kept:
        return {}, {}
    table = pa.concat_tables(kept)
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
    shown: np.ndarray = np.asarray(places, np.int64)[which]
    return shown
