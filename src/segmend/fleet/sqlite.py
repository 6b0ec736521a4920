"""The SQL engine that needs no JVM: SQLite in memory, filled from the run's Parquet files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from segmend.fleet.folder import source
from segmend.fleet.schemas import STORED
from segmend.fleet.sql import COLUMNS, Row

_TYPES = {pa.string(): "text"}


class SQLite:
    """`files` maps a table's name to the Parquet files of this run."""

    def __init__(self, files: Mapping[str, Sequence[str]]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.row_factory = sqlite3.Row
        for name, columns in COLUMNS.items():
            self._load(name, columns, files.get(name, ()))

    def _load(self, name: str, columns: Sequence[str], files: Iterable[str]) -> None:
        kinds = [f'"{c}" {_TYPES.get(STORED[name].field(c).type, "integer")}' for c in columns]
        self._db.execute(f"create table {name} ({', '.join(kinds)})")
        into = f"insert into {name} values ({', '.join('?' * len(columns))})"
        for file in files:
            table = pq.read_table(source(file), columns=list(columns))
            self._db.executemany(into, zip(*(table[c].to_pylist() for c in columns), strict=True))

    def view(self, name: str, statement: str) -> list[Row]:
        """Make the result a table of this name, and return its rows."""
        self._db.execute(f"create temp table {name} as {statement}")
        return self.rows(f"select * from {name}")

    def rows(self, statement: str) -> list[Row]:
        """The rows of a statement."""
        return [dict(row) for row in self._db.execute(statement)]

    def close(self) -> None:
        """Forget everything."""
        self._db.close()
