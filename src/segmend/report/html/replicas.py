"""Replica lag as the files tell it: log end offsets side by side, and who is behind, apart or missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final, TypeAlias

from segmend.frozen import frozen
from segmend.wording import plural

from .columns import Row, Tables, broker_name, broker_order, number, rows
from .units import count, percent, share

ROWS: Final = 60
STATUSES: Final = ("diverged", "missing", "behind", "in-step")
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
    """The section."""

    partitions: int
    single: int
    statuses: tuple[StatusShare, ...]
    rows: tuple[PartitionReplicas, ...]
    hidden: int


def replication(tables: Tables) -> Replication:
    """Reads `replicas`; partitions with one expected replica have nobody to be compared with."""
    by_partition: dict[_Key, list[Row]] = defaultdict(list)
    for row in rows(tables, "replicas", _COLUMNS):
        by_partition[row["cluster_id"] or "", row["topic"] or "", number(row["partition"])].append(row)
    compared = {key: group for key, group in by_partition.items() if _copies(group) > 1}
    statuses = {key: _status(group) for key, group in compared.items()}
    hurt = [key for key, status in statuses.items() if status != "in-step"]
    hurt.sort(key=lambda key: (STATUSES.index(statuses[key]), -_behind(compared[key]), key))
    counts = Counter(statuses.values())
    return Replication(
        partitions=len(compared),
        single=len(by_partition) - len(compared),
        statuses=tuple(_shares(counts, len(compared))),
        rows=tuple(_partition(key, statuses[key], compared[key]) for key in hurt[:ROWS]),
        hidden=max(0, len(hurt) - ROWS),
    )


def _copies(group: list[Row]) -> int:
    return max(len(group), *(number(row["expected_replicas"]) for row in group))


def _missing(group: list[Row]) -> int:
    return _copies(group) - len(group)


def _behind(group: list[Row]) -> int:
    return max(number(row["behind"]) for row in group)


def _status(group: list[Row]) -> str:
    found = {row["status"] for row in group}
    if "diverged" in found:
        return "diverged"
    if _missing(group):
        return "missing"
    return "behind" if "behind" in found else "in-step"


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


def _partition(key: _Key, status: str, group: list[Row]) -> PartitionReplicas:
    top = max(number(row["max_log_end_offset"]) for row in group)
    bottom = _bottom(group, top)
    ordered = sorted(group, key=lambda row: broker_order(broker_name(row["broker"])))
    return PartitionReplicas(
        topic=key[1],
        name=f"{key[1]}-{key[2]}",
        status=status,
        behind=_behind(group),
        max_log_end_offset=top,
        missing=_missing(group),
        replicas=tuple(_replica(row, bottom, top) for row in ordered),
    )


def _bottom(group: list[Row], top: int) -> int:
    """Where the plotted stretch of the log begins: half as much again as the replicas differ in."""
    ends = [number(row["log_end_offset"]) for row in group]
    ends += [row["diverged_at"] for row in group if row["diverged_at"] is not None]
    return top - max(1, (top - min(ends)) * 3 // 2)


def _replica(row: Row, bottom: int, top: int) -> ReplicaRow:
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


def _note(row: Row) -> str:
    if row["diverged_at"] is not None:
        return f"differs from {count(row['diverged_at'])}"
    return f"{count(row['behind'])} behind" if number(row["behind"]) else ""
