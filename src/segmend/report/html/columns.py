"""Arrow tables as plain rows, and sums by group.

A fleet's tables may have millions of rows: group in Arrow first, then read rows.
A table or a column that is missing (an older audit, a run that stored less) reads as empty
or as null, so that a report can be made of whatever there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc


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


def broker_name(broker: int | None) -> str:
    """A broker's id as text; `?` when its disks do not say whose they are."""
    return "?" if broker is None else str(broker)


def broker_order(name: str) -> tuple[int, str]:
    """Sorts broker names as numbers, the unknown one last."""
    return (int(name), "") if name.lstrip("-").isdigit() else (1 << 40, name)
