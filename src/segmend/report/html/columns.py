"""Arrow tables as plain rows, and sums by group.

A fleet's tables may have millions of rows: group in Arrow first, then read rows.
A table or a column that is missing (an older audit, a run that stored less) reads as empty
or as null, so that a report can be made of whatever there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from segmend.frozen import frozen


class Columns(Protocol):
    """A table that is there by the column: one of Arrow, or one that reads what it is asked for."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""
        ...

    @property
    def column_names(self) -> list[str]:
        """What `select` takes."""
        ...

    def select(self, columns: Sequence[str]) -> pa.Table:
        """These columns."""
        ...


Tables: TypeAlias = Mapping[str, Columns]
Row: TypeAlias = dict[str, Any]
_OF: Final = " of "
"""Between a broker's id and its cluster's."""


def select(tables: Tables, name: str, columns: Sequence[str]) -> pa.Table:
    """The named columns of the named table; null or empty where it has none."""
    table = tables.get(name)
    if table is None:
        return pa.table({column: pa.nulls(0) for column in columns})
    there = table.select([column for column in columns if column in table.column_names])
    rows = there.num_rows if there.num_columns else table.num_rows
    return pa.table({c: there[c] if c in there.column_names else pa.nulls(rows) for c in columns})


def newest_run(tables: Tables) -> Tables:
    """Stored tables keep every run of an audit; these are the rows of the newest one."""
    runs = select(tables, "runs", ["run_id", "started"]).drop_null()
    if runs.num_rows == 0:
        return tables
    newest = runs.sort_by([("started", "descending")])["run_id"][0]
    return {name: _of_run(table, newest) for name, table in tables.items()}


def _of_run(table: Columns, run_id: pa.Scalar) -> Columns:
    if "run_id" not in table.column_names:
        return table
    whole = table.select(table.column_names)
    found: Columns = whole.filter(pc.equal(whole["run_id"], run_id))
    return found


@frozen
class _WithClusters:
    """A table whose brokers are called by their clusters, too."""

    table: Columns

    @property
    def num_rows(self) -> int:
        """How many rows it has."""
        return self.table.num_rows

    @property
    def column_names(self) -> list[str]:
        """What `select` takes."""
        return self.table.column_names

    def select(self, columns: Sequence[str]) -> pa.Table:
        """These columns, the broker's as text."""
        if not {"broker", "cluster_id"} <= {*self.column_names} or "broker" not in columns:
            return self.table.select(columns)
        there = self.table.select(list(dict.fromkeys([*columns, "cluster_id"])))
        ids = pc.fill_null(there["broker"].cast(pa.string()), broker_name(None))
        names = pc.binary_join_element_wise(ids, there["cluster_id"], _OF, null_handling="skip")
        return there.set_column(there.column_names.index("broker"), "broker", names).select(columns)


def told_apart(tables: Tables) -> Tables:
    """The tables; of several clusters, which may have the same ids, with the clusters in the names."""
    if not several(select(tables, "log_dirs", ["cluster_id"])["cluster_id"].to_pylist()):
        return tables
    return {name: _WithClusters(table=table) for name, table in tables.items()}


def several(cluster_ids: Iterable[str | None]) -> bool:
    """Whether these are log dirs of more than one cluster."""
    return len({*cluster_ids} - {None}) > 1


def rows(tables: Tables, name: str, columns: Sequence[str]) -> list[Row]:
    """Those columns as a list of dicts."""
    return list(select(tables, name, columns).to_pylist())


def total(tables: Tables, name: str, column: str) -> int:
    """The sum of a column, 0 when it is empty."""
    values = select(tables, name, [column])[column]
    return 0 if values.null_count == len(values) else int(pc.sum(values).as_py() or 0)


def sums(table: pa.Table, keys: Sequence[str], values: Sequence[str]) -> list[Row]:
    """`SELECT keys, count(*) rows, sum(values) GROUP BY keys`, nulls summed as 0."""
    if table.num_rows == 0:
        return []
    numeric = {v: pc.fill_null(table[v].cast(pa.int64()), 0) for v in values}
    plain = pa.table({**{k: table[k] for k in keys}, **numeric})
    grouped = plain.group_by(list(keys)).aggregate([*((v, "sum") for v in values), ([], "count_all")])
    names = {**{f"{v}_sum": v for v in values}, "count_all": "rows"}
    return list(grouped.rename_columns([names.get(c, c) for c in grouped.column_names]).to_pylist())


def number(value: int | None) -> int:
    """0 for null."""
    return value or 0


def broker_name(broker: int | str | None, cluster_id: str | None = None) -> str:
    """A broker as text, with its cluster if that is given; `?` when its disks do not say whose they are."""
    name = "?" if broker is None else str(broker)
    return name if cluster_id is None else f"{name}{_OF}{cluster_id}"


def broker_id(name: str) -> str:
    """Of a broker's name, what is unique in its cluster."""
    return name.partition(_OF)[0]


def broker_order(name: str) -> tuple[str, int, str]:
    """Sorts broker names by cluster and as numbers, the unknown one last."""
    number, _, cluster = name.partition(_OF)
    return (cluster, int(number), "") if number.lstrip("-").isdigit() else (cluster, 1 << 40, name)
