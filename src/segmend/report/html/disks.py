"""Disk use: each log dir as a bar of its topics beside the fill of its disk, and the biggest partitions.

Bytes are those of `.log` files. An index that a broker has open is preallocated, 10 MiB on paper and next
to nothing on the disk, so that all files together would tell of a killed broker what is not true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from segmend.frozen import frozen

from .columns import TableRow, Tables, broker_name, broker_order, folded, number, parts, sums
from .places import Places
from .topics import Palette, Slice, stack
from .units import percent, share, size

DIRS: Final = 24
PARTITIONS: Final = 12
_NEARLY_FULL: Final = 85.0
_KEY: Final = ("cluster_id", "topic", "partition", "kind")
_PARTITION: Final = (*_KEY, "dir_name", "broker", "log_dir_id", "log_bytes", "segments", "records")


@frozen
class DirBar:
    """A log dir: its topics to scale with the biggest dir, and how full its disk is."""

    broker: str
    path: str
    bytes: str
    slices: tuple[Slice, ...]
    fill: float | None
    used: str
    free: str
    tight: bool


@frozen
class PartitionBar:
    """One of the biggest partitions."""

    name: str
    kind: str
    brokers: str
    tip: str
    colour: str
    width: float
    bytes: int
    segments: int | None
    records: int | None


@frozen
class DisksSection:
    """The section; `by_broker` says that all dirs are here in order, else the fullest come first."""

    dirs: tuple[DirBar, ...]
    by_broker: bool
    hidden_dirs: int
    biggest: tuple[PartitionBar, ...]
    hidden_partitions: int


def disks(tables: Tables, places: Places, palette: Palette) -> DisksSection:
    """Sums `partitions` by dir and topic; the fullest dirs where there are too many to print."""
    parts: defaultdict[int | None, dict[str, int]] = defaultdict(dict)
    for row in sums(tables, "partitions", ["log_dir_id", "topic"], ["log_bytes"]):
        parts[row["log_dir_id"]][row["topic"] or ""] = number(row["log_bytes"])
    known = list(places.dirs.values())
    shown = sorted(known, key=lambda row: _fullness(row, parts), reverse=True)[:DIRS]
    if len(shown) == len(known):
        shown.sort(key=lambda row: (broker_order(broker_name(row["broker"])), row["path"] or ""))
    whole = max((sum(parts[row["log_dir_id"]].values()) for row in shown), default=0)
    bars = [_dir(row, parts[row["log_dir_id"]], palette, whole) for row in shown]
    biggest, hidden = _biggest(tables, places, palette)
    return DisksSection(
        dirs=tuple(bars),
        by_broker=len(shown) == len(known),
        hidden_dirs=len(known) - len(shown),
        biggest=biggest,
        hidden_partitions=hidden,
    )


def _fullness(row: TableRow, parts: Mapping[int | None, dict[str, int]]) -> tuple[float, int]:
    total, free = row["disk_total_bytes"], row["disk_free_bytes"]
    fill = 1 - number(free) / total if total else 0.0
    return round(fill, 2), sum(parts.get(row["log_dir_id"], {}).values())


def _dir(row: TableRow, parts: Mapping[str, int], palette: Palette, whole: int) -> DirBar:
    total, free = row["disk_total_bytes"], row["disk_free_bytes"]
    fill = None if not total or free is None else percent(total - free, total)
    return DirBar(
        broker=broker_name(row["broker"]),
        path=row["path"] or "",
        bytes=size(sum(parts.values())),
        slices=stack(parts, palette, whole),
        fill=fill,
        used="" if not total or free is None else share(total - free, total),
        free="" if fill is None else size(free),
        tight=fill is not None and fill >= _NEARLY_FULL,
    )


def _biggest(tables: Tables, places: Places, palette: Palette) -> tuple[tuple[PartitionBar, ...], int]:
    """One row a partition, its largest replica standing for it; the rest of them are named."""
    most = folded(parts(tables, "partitions", [*_KEY, "log_bytes"]), _KEY, {"log_bytes": "max"})
    if most.num_rows == 0:
        return (), 0
    order = pc.select_k_unstable(most, min(PARTITIONS, most.num_rows), [("log_bytes", "descending")])
    top = most.take(order)
    copies = _copies(parts(tables, "partitions", _PARTITION), top)
    widest = max(number(row["log_bytes"]) for row in top.to_pylist())
    bars = tuple(_partition(copies[_key(row)], places, palette, widest) for row in top.to_pylist())
    return bars, most.num_rows - len(bars)


def _key(row: TableRow) -> tuple[str | int | None, ...]:
    return tuple(row[name] for name in _KEY)


def _copies(
    tables: Iterable[pa.Table], top: pa.Table
) -> Mapping[tuple[str | int | None, ...], list[TableRow]]:
    """The replicas of the chosen partitions, the largest first."""
    copies: defaultdict[tuple[str | int | None, ...], list[TableRow]] = defaultdict(list)
    wanted = {_key(row) for row in top.to_pylist()}
    for part in tables:
        for row in part.filter(pc.is_in(part["topic"], top["topic"].unique())).to_pylist():
            if _key(row) in wanted:
                copies[_key(row)].append(row)
    for replicas in copies.values():
        replicas.sort(key=lambda row: number(row["log_bytes"]), reverse=True)
    return copies


def _partition(replicas: list[TableRow], places: Places, palette: Palette, widest: int) -> PartitionBar:
    largest = replicas[0]
    where = sorted(((broker_name(r["broker"]), r) for r in replicas), key=lambda pair: broker_order(pair[0]))
    return PartitionBar(
        name=largest["dir_name"] or f"{largest['topic']}-{largest['partition']}",
        kind="" if largest["kind"] in ("current", "cluster-metadata", None) else largest["kind"],
        brokers=", ".join(name for name, _ in where),
        tip="\n".join(
            f"broker {b} · {places.path(r['log_dir_id'])} · {size(r['log_bytes'])}" for b, r in where
        ),
        colour=palette.colour(largest["topic"]),
        width=percent(number(largest["log_bytes"]), widest),
        bytes=number(largest["log_bytes"]),
        segments=largest["segments"],
        records=largest["records"],
    )
