"""Delta tables without a JVM: tasks write Parquet files, the driver makes one commit a table.

A file counts only once it is in the table's log, so what a failed or repeated attempt of a
task leaves behind is never seen; `segmend fleet vacuum` removes it. Every commit carries the
run's transaction id: committing the same phase of the same run again does nothing.

Tables are partitioned by run (but for `runs`, which has a row of each), and carry the least and the greatest
value of the columns one asks by: a reader of one run opens that run's files, be there one run or a thousand.
Tables that an earlier release of segmend made stay as they are; theirs are told by the same statistics.
"""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from segmend.errors import SegmendError
from segmend.fleet import folder
from segmend.fleet.commits import torn_commit
from segmend.fleet.misread import refuse_misread
from segmend.fleet.remote import store_of
from segmend.fleet.schemas import STORED
from segmend.frozen import frozen
from segmend.logdir.file_system import Unreadable

LOG = logging.getLogger(__name__)
APPLICATION = "segmend"
RUN = "run_id"
RUNS = "runs"
"""The table with a row of each run: of very many runs its files are made one."""
_FILES_OF_RUNS = 32
"""So many of them each reader of all runs opens at most, which costs 2 ms a file."""
_STAMP = "%Y%m%dT%H%M%SZ"
_PART, _PARQUET = "part-", ".parquet"
_ASKED_BY = (RUN, "cluster_id", "broker", "topic", "partition", "code", "severity")
"""Columns that files have statistics of."""
_AT_ONCE = 200_000
"""About so many rows are read at a time of tables that may be larger than memory."""
_SETTINGS = {"delta.checkpointInterval": "10", "delta.logRetentionDuration": "interval 7 days"}
"""Whoever opens a table reads all commits since the last checkpoint: as often as Spark makes them.

Each checkpoint names all files: of a thousand runs those of Delta's 30 days take more room than the rows.
"""

_KEPT: ContextVar[dict[str, tuple[DeltaTable, float]] | None] = ContextVar("kept", default=None)
_KEPT_SECONDS = 3600
"""Commits are dropped from a table's log in time, and then what was kept would not hear of them."""


@frozen
class DeltaFile:
    """A Parquet file of a table, named relative to the table's directory; `stats` as Delta has them."""

    table: str
    path: str
    run_id: str
    bytes: int
    stats: str


@frozen
class AuditRun:
    """One audit: `run_id` names it in every row, `number` orders the runs of one OUT (ms)."""

    run_id: str
    number: int


def new_run(newest: str = "") -> AuditRun:
    """A run that begins now; its id comes behind that of the `newest` one, whatever the clock says."""
    number = time.time_ns() // 1_000_000
    second = datetime.fromtimestamp(number // 1000, UTC)
    if newest and second < (before := _second(newest)):
        LOG.warning("the clock is behind run %s: has it gone back? this run is numbered after it", newest)
        second = before + timedelta(seconds=1)
    return AuditRun(run_id=f"{second:{_STAMP}}-{uuid.uuid4().hex[:6]}", number=number)


def _second(run_id: str) -> datetime:
    """When it began, by its id; the earliest time where that is none of ours."""
    try:
        return datetime.strptime(run_id.partition("-")[0], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def write_part(out: str, run: AuditRun, name: str, table: pa.Table) -> DeltaFile | None:
    """Write the rows, with their `run_id`, as one file of table `name`; None when there are none."""
    if not table.num_rows:
        return None
    path = f"{_PART}{run.run_id}-{uuid.uuid4().hex}{_PARQUET}"
    table = _of_run(table, STORED[name], run.run_id)
    size = folder.write_table(os.path.join(out, name, path), table)
    return DeltaFile(table=name, path=path, run_id=run.run_id, bytes=size, stats=_stats(table))


def run_of(path: str) -> str | None:
    """The run that wrote the file of this name, whether it was committed or not."""
    if not (path.startswith(_PART) and path.endswith(_PARQUET)):
        return None
    return path.removeprefix(_PART).rpartition("-")[0] or None


def _of_run(table: pa.Table, schema: pa.Schema, run_id: str) -> pa.Table:
    column = pa.repeat(pa.scalar(run_id), table.num_rows)
    return table.add_column(0, schema.field(RUN), column)


def _stats(table: pa.Table) -> str:
    """How many rows, and of each column one asks by the least value, the greatest, and how many nulls."""
    names = [name for name in _ASKED_BY if name in table.column_names]
    ends = {name: pc.min_max(table[name]).as_py() for name in names}
    known = {name: end for name, end in ends.items() if end["min"] is not None}
    return json.dumps(
        {
            "numRecords": table.num_rows,
            "minValues": {name: end["min"] for name, end in known.items()},
            "maxValues": {name: end["max"] for name, end in known.items()},
            "nullCount": {name: table[name].null_count for name in names},
        }
    )


def commit(out: str, run: AuditRun, phase: str, names: Iterable[str], parts: Sequence[DeltaFile]) -> None:
    """Add `parts` to the tables `names`, which are made if they are not there yet.

    SegmendError when a table in `out` is not one of ours or cannot be written.
    """
    for name in names:
        mine = [part for part in parts if part.table == name]
        try:
            _commit(os.path.join(out, name), run, phase, STORED[name], mine)
        except (DeltaError, OSError) as error:
            raise SegmendError(f"{out}/{name}: the Delta commit failed: {folder.one_line(error)}") from error


def _commit(home: str, run: AuditRun, phase: str, schema: pa.Schema, parts: Sequence[DeltaFile]) -> None:
    if not folder.is_remote(home):
        os.makedirs(home, exist_ok=True)
    by = None if os.path.basename(home) == RUNS else [RUN]
    try:
        table = _table(home)
    except TableNotFoundError:
        table = DeltaTable.create(home, schema, mode="ignore", partition_by=by, configuration=_SETTINGS)
    # Of each run its own: another one may have begun later and be done, or the clock be set back.
    application = f"{APPLICATION}-{phase}-{run.run_id}"
    if not parts or table.transaction_version(application) is not None:
        return
    # A table of an earlier release of segmend lacks columns; its rows have nulls there.
    known = {field.name for field in table.schema().fields}
    wanted = Schema.from_arrow(schema).fields
    added = [field for field in wanted if field.name not in known]
    if added:
        table.alter.add_columns(added)
    now = time.time_ns() // 1_000_000
    by_run = partitioned(table)
    actions = [
        AddAction(part.path, part.bytes, {RUN: part.run_id} if by_run else {}, now, True, part.stats)
        for part in parts
    ]
    properties = CommitProperties(
        custom_metadata={"run_id": run.run_id, "phase": phase},
        app_transactions=[Transaction(application, run.number)],
    )
    table.create_write_transaction(
        actions, "append", schema, [RUN] if by_run else None, commit_properties=properties
    )
    if by is not None:
        return
    table.update_incremental()
    if len(table.file_uris()) > _FILES_OF_RUNS:
        # Another audit may do it at the same time: one of them is refused. What is in no commit any more
        # stays until a vacuum, for who opened the table before.
        with suppress(DeltaError):
            make_one_file(table)


def make_one_file(table: DeltaTable) -> None:
    """The rows of all runs as one file; of a table that is told apart by run nothing."""
    if not partitioned(table):
        table.optimize.compact()


@contextmanager
def kept_open() -> Iterator[None]:
    """Meanwhile a table that is asked for again reads only the commits since."""
    kept = _KEPT.get()
    token = _KEPT.set({} if kept is None else kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def _table(home: str) -> DeltaTable:
    kept, now = _KEPT.get(), time.monotonic()
    if kept is None:
        return DeltaTable(home)
    table, since = kept.get(home, (None, now))
    if table is None or now - since > _KEPT_SECONDS:
        table, _ = kept[home] = DeltaTable(home), now
    else:
        table.update_incremental()
    return table


def partitioned(table: DeltaTable) -> bool:
    """Whether its files are told apart by run."""
    return bool(table.metadata().partition_columns == [RUN])


def opened(out: str, name: str) -> DeltaTable | None:
    """The table; None when it is not there. SegmendError when it cannot be read."""
    if folder.is_remote(out):
        store_of(out)  # says so where nothing knows its scheme
    else:
        refuse_misread(out)
    home = os.path.join(out, name)
    try:
        torn = torn_commit(home)
        if torn is not None:
            raise SegmendError(f"{torn[0]}: torn; the next audit into {out} sets it aside, or says why not")
        return _table(home)
    except TableNotFoundError:
        return None
    except (DeltaError, OSError, UnicodeError) as error:
        raise SegmendError(
            f"{out}/{name}: its Delta log cannot be read ({folder.one_line(error)}); give another --out"
        ) from error


def refuse_torn(out: str) -> None:
    """SegmendError where a table cannot be added to (see `healing` for those that can be mended)."""
    for name in STORED:
        opened(out, name)


def files(table: DeltaTable) -> dict[str, str | None]:
    """The run of each file, by its path in the table; None where only its rows tell."""
    return _by_run(table, pa.table(table.get_add_actions(flatten=True)))


def _by_run(table: DeltaTable, actions: pa.Table) -> dict[str, str | None]:
    paths = actions["path"].to_pylist()
    if partitioned(table):
        return dict(zip(paths, actions[f"partition.{RUN}"].to_pylist(), strict=True))
    if f"min.{RUN}" not in actions.column_names:
        return dict.fromkeys(paths)
    ends = zip(actions[f"min.{RUN}"].to_pylist(), actions[f"max.{RUN}"].to_pylist(), strict=True)
    return {path: low if low == high else None for path, (low, high) in zip(paths, ends, strict=True)}


def runs(out: str, name: str = RUNS) -> list[str]:
    """The ids of the runs that have rows in a table, the oldest first: of `runs` those that finished."""
    table = opened(out, name)
    if table is None:
        return []
    of_files = files(table)
    told = {run for run in of_files.values() if run is not None}
    if None in of_files.values():
        told |= set(read(out, name, columns=[RUN])[RUN].to_pylist())
    return sorted(told)


def count(out: str, name: str, run_id: str) -> int:
    """How many committed rows a run has in a table: by the table's log, if that says whose each file is."""
    table = opened(out, name)
    if table is None:
        return 0
    actions = pa.table(table.get_add_actions(flatten=True))
    by_run = _by_run(table, actions)
    if None in by_run.values() or "num_records" not in actions.column_names:
        return int(read(out, name, run_id=run_id, columns=[RUN]).num_rows)
    rows = zip(by_run.values(), actions["num_records"].to_pylist(), strict=True)
    return sum(int(number or 0) for run, number in rows if run == run_id)


def read(out: str, name: str, *, run_id: str | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    """The committed rows of a table, of one run or all; no rows when the table is not there."""
    columns = STORED[name].names if columns is None else list(columns)
    tables = list(parts(out, name, run_id=run_id, columns=columns))
    return pa.concat_tables([STORED[name].empty_table().select(columns), *tables])


def parts(
    out: str, name: str, *, run_id: str | None, columns: Sequence[str], at_once: int | None = None
) -> Iterator[pa.Table]:
    """The same rows, some files (about `at_once` rows) at a time: of a table that need not fit into memory.

    Of one run they come in the same order each time.
    """
    table, schema = opened(out, name), STORED[name]
    if table is None:
        return
    actions = pa.table(table.get_add_actions(flatten=True))
    told = actions["num_records"].to_pylist() if "num_records" in actions.column_names else repeat(None)
    rows = dict(zip(actions["path"].to_pylist(), told, strict=False))
    own: dict[str, int] = {}
    rewritten: dict[str | None, list[str]] = {}
    for path, run in sorted(_by_run(table, actions).items()):
        if run_id is not None and run not in (None, run_id):
            continue
        if run is not None and run == run_of(path):
            own[os.path.join(out, name, path)] = rows[path] or 0
        else:
            rewritten.setdefault(run, []).append(os.path.join(out, name, path))
    try:
        # Files that an audit wrote say of each row whose it is, so those of a thousand runs are one reading.
        for some in _some_at_a_time(own, at_once or _AT_ONCE):
            yield _read_files(some, schema, columns)
        for run, paths in rewritten.items():
            yield _read(paths, schema, run, run_id, columns)
    except (OSError, pa.ArrowInvalid, Unreadable) as error:
        raise SegmendError(
            f"{out}/{name}: a file of an earlier run is gone or damaged ({error}); give another --out"
        ) from error


def _some_at_a_time(rows: Mapping[str, int], at_once: int) -> Iterator[list[str]]:
    """The paths of files, by how many rows they have, in lists of about so many rows."""
    some: list[str] = []
    count = 0
    for path, number in rows.items():
        some.append(path)
        count += number
        if count >= at_once:
            yield some
            some, count = [], 0
    if some:
        yield some


def _read(
    paths: Sequence[str], schema: pa.Schema, run: str | None, run_id: str | None, columns: Sequence[str]
) -> pa.Table:
    if run is None:
        # Who rewrites a file may have another type of text, which is compared with none of ours.
        filters = None if run_id is None else pc.field(RUN).cast(pa.string()) == run_id
        return _read_files(paths, schema, columns, filters)
    # Whoever rewrites a file (OPTIMIZE) leaves out of it what the table's log says of the whole of it.
    inner = schema.remove(schema.get_field_index(RUN))
    rows = _read_files(paths, inner, [column for column in columns if column != RUN])
    return _of_run(rows, schema, run).select(columns) if RUN in columns else rows


def _read_files(
    paths: Sequence[str], schema: pa.Schema, columns: Sequence[str], filters: object = None
) -> pa.Table:
    """Many at once where they lie on a disk."""
    files = [folder.source(path) for path in paths]
    sources = [[each] for each in files] if folder.is_remote(paths[0]) else [files]
    named = dict(schema=schema, columns=list(columns), filters=filters, partitioning=None)
    return pa.concat_tables(pq.read_table(each[0] if len(each) == 1 else each, **named) for each in sources)
