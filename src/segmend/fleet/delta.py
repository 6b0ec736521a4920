"""Delta tables without a JVM: tasks write Parquet files, the driver makes one commit a table.

A file counts only once it is in the table's log, so what a failed or repeated attempt of a
task leaves behind is never seen; `DeltaTable.vacuum` removes it. Every commit carries the
run's transaction id: committing the same phase of the same run again does nothing.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction

from segmend.errors import SegmendError
from segmend.fleet.schemas import STORED
from segmend.frozen import frozen

APPLICATION = "segmend"


@frozen
class Part:
    """A Parquet file of a table, named relative to the table's directory."""

    table: str
    path: str
    rows: int
    bytes: int


@frozen
class AuditRun:
    """One audit: `run_id` names it in every row, `number` orders the runs of one OUT (ms)."""

    run_id: str
    number: int


def new_run() -> AuditRun:
    """A run that begins now."""
    number = time.time_ns() // 1_000_000
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(number / 1000))
    return AuditRun(run_id=f"{stamp}-{uuid.uuid4().hex[:6]}", number=number)


def write_part(out: str, run: AuditRun, name: str, table: pa.Table) -> Part | None:
    """Write the rows, with their `run_id`, as one file of table `name`; None when there are none."""
    if not table.num_rows:
        return None
    path = f"part-{run.run_id}-{uuid.uuid4().hex}.parquet"
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    column = pa.repeat(pa.scalar(run.run_id), table.num_rows)
    full = os.path.join(folder, path)
    pq.write_table(table.add_column(0, STORED[name].field("run_id"), column), full, compression="zstd")
    return Part(table=name, path=path, rows=table.num_rows, bytes=os.stat(full).st_size)


def commit(out: str, run: AuditRun, phase: str, names: Iterable[str], parts: Sequence[Part]) -> None:
    """Add `parts` to the tables `names`, which are made if they are not there yet.

    SegmendError when a table in `out` is not one of ours or cannot be written.
    """
    for name in names:
        mine = [part for part in parts if part.table == name]
        try:
            _commit(os.path.join(out, name), run, phase, STORED[name], mine)
        except (DeltaError, OSError) as error:
            raise SegmendError(f"{out}/{name}: the Delta commit failed: {error}") from error


def _commit(folder: str, run: AuditRun, phase: str, schema: pa.Schema, parts: Sequence[Part]) -> None:
    os.makedirs(folder, exist_ok=True)
    table = DeltaTable.create(folder, schema, mode="ignore")
    application = f"{APPLICATION}-{phase}"
    before = table.transaction_version(application)
    if not parts or (before is not None and before >= run.number):
        return
    _widen(table, schema)
    now = time.time_ns() // 1_000_000
    actions = [
        AddAction(part.path, part.bytes, {}, now, True, json.dumps({"numRecords": part.rows}))
        for part in parts
    ]
    properties = CommitProperties(
        custom_metadata={"run_id": run.run_id, "phase": phase},
        app_transactions=[Transaction(application, run.number)],
    )
    table.create_write_transaction(actions, "append", schema, commit_properties=properties)


def _widen(table: DeltaTable, schema: pa.Schema) -> None:
    """Add the columns that a table of an earlier release of segmend lacks; its rows have nulls there."""
    known = {field.name for field in table.schema().fields}
    wanted = Schema.from_arrow(schema).fields
    added = [field for field in wanted if field.name not in known]
    if added:
        table.alter.add_columns(added)


def read(out: str, name: str, *, run_id: str | None = None) -> pa.Table:
    """The committed rows of a table, of one run or all; no rows when the table is not there."""
    folder = os.path.join(out, name)
    if not DeltaTable.is_deltatable(folder):
        return STORED[name].empty_table()
    files = DeltaTable(folder).file_uris()
    filters = None if run_id is None else [("run_id", "==", run_id)]
    tables = [pq.read_table(file, schema=STORED[name], filters=filters) for file in files]
    return pa.concat_tables([STORED[name].empty_table(), *tables])
