"""Replica lag as the files tell it: log end offsets side by side, and who is behind, apart or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from segmend.frozen import frozen
from segmend.wording import plural

from .columns import NUMBER, TableRow, Tables, broker_name, broker_order, folded, number, parts
from .units import count, percent, share

ROWS: Final = 60
STATUSES: Final = ("diverged", "missing", "behind", "unread", "in-step")
_OFFSETS: Final = (
    "log_start_offset",
    "log_end_offset",
    "max_log_end_offset",
    "high_watermark",
    "diverged_at",
)
_Key: TypeAlias = tuple[str, str, int]
"""Cluster, topic, partition."""
_COUNTS: Final = ("expected_replicas", "last_epoch", "behind", "status")
_COLUMNS: Final = ("cluster_id", "broker", "topic", "partition", *_OFFSETS, *_COUNTS)
_KEY: Final = ("cluster_id", "topic", "partition")
_JUDGED_BY: Final = ("expected_replicas", "behind", "status")


@frozen
class ReplicaRow:
    """One broker's copy: how much of the plotted stretch it holds, and how much it has otherwise."""

    broker: str
    status: str
    log_end_offset: str
    note: str
    held: float
    apart: float
    tip: str


@frozen
class PartitionReplicas:
    """A partition whose replicas differ."""

    topic: str
    name: str
    status: str
    behind: int
    max_log_end_offset: int
    missing: int
    replicas: tuple[ReplicaRow, ...]


@frozen
class StatusShare:
    """A stretch of the bar that tells how many partitions are well."""

    status: str
    partitions: str
    width: float
    tip: str


@frozen
class Replication:
    partitions: int
    single: int
    statuses: tuple[StatusShare, ...]
    rows: tuple[PartitionReplicas, ...]
    hidden: int


def replication(tables: Tables) -> Replication:
    """Reads `replicas`; partitions with one expected replica have nobody to be compared with."""
    judged = _judged(tables)
    compared = judged.filter(pc.greater(judged["copies"], 1))
    hurt = compared.filter(pc.less(compared["status"], len(STATUSES) - 1))
    by_badness = [("status", "ascending"), ("behind", "descending"), *((k, "ascending") for k in _KEY)]
    shown = hurt.sort_by(by_badness).slice(0, ROWS)
    groups: dict[_Key, list[TableRow]] = {key: [] for key in _keys(shown)}
    for part in parts(tables, "replicas", _COLUMNS):
        named = _named(part)
        some = named.filter(pc.is_in(named["topic"], value_set=shown["topic"].combine_chunks()))
        for key, row in zip(_keys(some), some.to_pylist(), strict=True):
            if key in groups:
                groups[key].append(row)
    counts = Counter(STATUSES[status] for status in compared["status"].to_pylist())
    return Replication(
        partitions=compared.num_rows,
        single=judged.num_rows - compared.num_rows,
        statuses=tuple(_shares(counts, compared.num_rows)),
        rows=tuple(
            _partition(key, STATUSES[status], groups[key])
            for key, status in zip(_keys(shown), shown["status"].to_pylist(), strict=True)
        ),
        hidden=max(0, hurt.num_rows - ROWS),
    )


def _named(table: pa.Table) -> pa.Table:
    """With a value in each column of the key."""
    empty = (pa.scalar("", pa.string()), pa.scalar("", pa.string()), pa.scalar(0, pa.int32()))
    for name, nothing in zip(_KEY, empty, strict=True):
        column = pc.fill_null(table[name].cast(nothing.type), nothing)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _keys(table: pa.Table) -> list[_Key]:
    return list(zip(*(table[name].to_pylist() for name in _KEY), strict=True))


def _judged(tables: Tables) -> pa.Table:
    """A row a partition: how many copies there should be, how far one is behind, its status by number."""
    named = (_told(_named(part)) for part in parts(tables, "replicas", [*_KEY, *_JUDGED_BY]))
    how = {"expected_replicas": "max", "behind": "max", **dict.fromkeys(("diverged", "lag", "unread"), "max")}
    judged = folded(named, _KEY, how)
    copies = pc.max_element_wise(judged[NUMBER], pc.fill_null(judged["expected_replicas"], 0))
    status = pc.case_when(
        pc.make_struct(
            pc.greater(judged["diverged"], 0),
            pc.greater(copies, judged[NUMBER]),
            pc.greater(judged["lag"], 0),
            pc.greater(judged["unread"], 0),
        ),
        *(pa.scalar(number, pa.int64()) for number in range(len(STATUSES))),
    )
    behind = pc.fill_null(judged["behind"], 0)
    judged = judged.set_column(judged.column_names.index("behind"), "behind", behind)
    return judged.append_column("copies", copies).append_column("status", status)


def _told(table: pa.Table) -> pa.Table:
    status = table["status"].cast(pa.string())
    for name, meant in (("diverged", "diverged"), ("lag", "behind"), ("unread", "unread")):
        said = pc.fill_null(pc.equal(status, meant), fill_value=False)
        table = table.append_column(name, said.cast(pa.int64()))
    return table


def _shares(counts: Mapping[str, int], whole: int) -> list[StatusShare]:
    return [
        StatusShare(
            status=status,
            partitions=count(counts[status]),
            width=percent(counts[status], whole),
            tip=f"{plural(counts[status], 'partition')} {status} · {share(counts[status], whole)}",
        )
        for status in reversed(STATUSES)
        if counts.get(status)
    ]


def _partition(key: _Key, status: str, group: list[TableRow]) -> PartitionReplicas:
    top = max(number(row["max_log_end_offset"]) for row in group)
    # The plotted stretch of the log begins half as much again before the end as the replicas differ in.
    ends = [number(row["log_end_offset"]) for row in group]
    ends += [row["diverged_at"] for row in group if row["diverged_at"] is not None]
    bottom = top - max(1, (top - min(ends)) * 3 // 2)
    ordered = sorted(group, key=lambda row: broker_order(broker_name(row["broker"])))
    return PartitionReplicas(
        topic=key[1],
        name=f"{key[1]}-{key[2]}",
        status=status,
        behind=max(number(row["behind"]) for row in group),
        max_log_end_offset=top,
        missing=max(len(group), *(number(row["expected_replicas"]) for row in group)) - len(group),
        replicas=tuple(_replica(row, bottom, top) for row in ordered),
    )


def _replica(row: TableRow, bottom: int, top: int) -> ReplicaRow:
    name, end = broker_name(row["broker"]), row["log_end_offset"]
    note = _note(row)
    same = end if row["diverged_at"] is None else row["diverged_at"]
    facts = [
        f"broker {name}: {note or 'in step'}",
        f"log start offset {count(row['log_start_offset'])}",
        f"log end offset {count(end)}",
        f"high watermark {count(row['high_watermark'])}",
        f"last epoch {count(row['last_epoch'])}",
    ]
    return ReplicaRow(
        broker=name,
        status=row["status"] if row["status"] in STATUSES else "in-step",
        log_end_offset=count(end),
        note=note,
        held=percent(number(same) - bottom, top - bottom),
        apart=percent(number(end) - number(same), top - bottom),
        tip="\n".join(facts),
    )


def _note(row: TableRow) -> str:
    if row["diverged_at"] is not None:
        return f"differs from {count(row['diverged_at'])}"
    if number(row["behind"]):
        return f"{count(row['behind'])} behind"
    return "not all could be read" if row["status"] == "unread" else ""
