"""Arrow tables as plain rows, and sums by group.

A fleet's tables may have millions of rows, and more than memory has room for: they are read in parts, grouped
or cut down in Arrow part by part, and only then made rows.
A table or a column that is missing (an older audit, a run that stored less) reads as empty
or as null, so that a report can be made of whatever there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypedDict, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from segmend.frozen import frozen


class TableColumns(Protocol):
    """A table that is there by the column: one of Arrow, or one that reads what it is asked for."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> list[str]:
        """What `select` takes."""

    def select(self, columns: Sequence[str]) -> pa.Table:
        """These columns."""


class InParts(TableColumns, Protocol):
    """One that can be read some rows at a time."""

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """What `select` gives, in parts."""


class ToldEffect(TypedDict, total=False):
    """What a start does to what a finding is about."""

    effect: str | None
    records_lost: int | None
    text: str | None


class TableRow(TypedDict, total=False):
    """A row by the columns that are asked for; null is what the disks do not say, or an older audit lacks.

    A broker is its id, or its name with the cluster's. `rows` and what stands behind it is made of several.
    """

    cluster_id: str | None
    broker: int | str | None
    log_dir_id: int | None
    topic: str | None
    partition: int | None
    path: str | None
    release: str | None
    clean_shutdown: bool | None
    disk_total_bytes: int | None
    disk_free_bytes: int | None
    dir_name: str | None
    kind: str | None
    bytes: int | None
    log_bytes: int | None
    segments: int | None
    records: int | None
    log_start_offset: int | None
    high_watermark: int | None
    log_end_offset: int | None
    last_epoch: int | None
    max_log_end_offset: int | None
    expected_replicas: int | None
    behind: int | None
    diverged_at: int | None
    status: str | None
    code: str
    severity: str
    dir: str | None
    file: str | None
    position: int | None
    offset: int | None
    message: str | None
    broker_says: str | None
    broker_effect: ToldEffect | None
    remedy_command: str | None
    remedy_safety: str | None
    detail: list[tuple[str, str]] | None
    source: str | None
    seconds: float | None
    paths: list[str] | None
    skipped: list[str] | None
    new_findings: int | None
    gone_findings: int | None
    rows: int
    cause: str
    effect: str | None
    lost: int | None
    name: str
    oldest: int | None
    newest: int | None


Tables: TypeAlias = Mapping[str, TableColumns]
NUMBER: Final = "rows"
"""What `folded` calls the number of rows."""
_FEW: Final = 100_000
_OF: Final = " of "
"""Between a broker's id and its cluster's."""


def select(tables: Tables, name: str, columns: Sequence[str]) -> pa.Table:
    table = tables.get(name)
    if table is None:
        return pa.table({column: pa.nulls(0) for column in columns})
    there = table.select([column for column in columns if column in table.column_names])
    return _filled(there, columns, there.num_rows if there.num_columns else table.num_rows)


def _filled(there: pa.Table, columns: Sequence[str], rows: int) -> pa.Table:
    return pa.table({c: there[c] if c in there.column_names else pa.nulls(rows) for c in columns})


def _is_in_parts(table: TableColumns | None) -> TypeGuard[InParts]:
    return hasattr(table, "parts")


def parts(tables: Tables, name: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The same, some rows at a time where the table can be read so; at least one part."""
    table = tables.get(name)
    empty = True
    if _is_in_parts(table) and (there := [column for column in columns if column in table.column_names]):
        for part in table.parts(there):
            empty = False
            yield _filled(part, columns, part.num_rows)
    if empty:
        yield select(tables, name, columns)


def newest_run(tables: Tables) -> Tables:
    """Stored tables keep every run of an audit; these are the rows of the newest one."""
    runs = select(tables, "runs", ["run_id", "started"]).drop_null()
    if runs.num_rows == 0:
        return tables
    newest = runs.sort_by([("started", "descending")])["run_id"][0]
    return {name: _of_run(table, newest) for name, table in tables.items()}


def _of_run(table: TableColumns, run_id: pa.Scalar) -> TableColumns:
    if "run_id" not in table.column_names:
        return table
    whole = table.select(table.column_names)
    of_run: TableColumns = whole.filter(pc.equal(whole["run_id"], run_id))
    return of_run


@frozen
class _WithClusters:
    """A table whose brokers are called by their clusters, too."""

    table: TableColumns

    @property
    def num_rows(self) -> int:
        return self.table.num_rows

    @property
    def column_names(self) -> list[str]:
        return self.table.column_names

    def select(self, columns: Sequence[str]) -> pa.Table:
        return self._named(self.table.select(self._needed(columns)), columns)

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        if not _is_in_parts(self.table):
            yield self.select(columns)
            return
        for part in self.table.parts(self._needed(columns)):
            yield self._named(part, columns)

    def _needed(self, columns: Sequence[str]) -> list[str]:
        named = "broker" in columns and "cluster_id" in self.column_names
        return list(dict.fromkeys([*columns, *(["cluster_id"] if named else [])]))

    def _named(self, there: pa.Table, columns: Sequence[str]) -> pa.Table:
        if not {"broker", "cluster_id"} <= {*there.column_names} or "broker" not in columns:
            return there.select(columns)
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


def rows(tables: Tables, name: str, columns: Sequence[str]) -> list[TableRow]:
    """Those columns as a list of dicts."""
    return list(select(tables, name, columns).to_pylist())


def total(tables: Tables, name: str, column: str) -> int:
    """The sum of a column, 0 when it is empty."""
    return sum(
        int(pc.sum(part[column].cast(pa.int64())).as_py() or 0) for part in parts(tables, name, [column])
    )


def sums(tables: Tables, name: str, keys: Sequence[str], values: Sequence[str]) -> list[TableRow]:
    """`SELECT keys, count(*) rows, sum(values) GROUP BY keys`, nulls summed as 0."""
    wanted = parts(tables, name, [*keys, *values])
    return list(folded(wanted, keys, dict.fromkeys(values, "sum")).to_pylist())


def folded(tables: Iterable[pa.Table], keys: Sequence[str], values: Mapping[str, str]) -> pa.Table:
    """A row for each of the keys: sum (null counts as 0), min or max of the values, and how many `rows`.

    It takes as much memory as there are keys, in how many parts the rows may come.
    """
    how = {**values, NUMBER: "sum"}
    waiting: list[pa.Table] = []
    done = 0
    for part in tables:
        columns = {key: part[key] for key in keys} | {v: part[v].cast(pa.int64()) for v in values}
        ones = pa.repeat(pa.scalar(1, pa.int64()), part.num_rows)
        waiting.append(_grouped(pa.table({**columns, NUMBER: ones}), keys, how))
        # What is done is not grouped again for each small part.
        if sum(each.num_rows for each in waiting[1:]) > max(done, _FEW):
            waiting = [_grouped(pa.concat_tables(waiting), keys, how)]
            done = waiting[0].num_rows
    return _grouped(pa.concat_tables(waiting), keys, how)


def _grouped(table: pa.Table, keys: Sequence[str], how: Mapping[str, str]) -> pa.Table:
    filled = {v: pc.fill_null(table[v], 0) if how[v] == "sum" else table[v] for v in how}
    plain = pa.table({**{key: table[key] for key in keys}, **filled})
    grouped = plain.group_by(list(keys), use_threads=False).aggregate([*how.items()])
    names = {f"{v}_{each}": v for v, each in how.items()}
    return grouped.rename_columns([names.get(c, c) for c in grouped.column_names])


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
