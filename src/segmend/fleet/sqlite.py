"""The SQL engine that needs no JVM: SQLite, filled from the run's Parquet files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from segmend.fleet.folder import source
from segmend.fleet.schemas import STORED
from segmend.fleet.sql import COLUMNS, GROUPED
from segmend.fleet.typed_rows import HeldReplica

CACHE_KIB: Final = 64 << 10
_TYPES = {pa.string(): "text"}
T = TypeVar("T")


class SQLite:
    """`files` maps a table's name to the Parquet files of this run."""

    def __init__(self, files: Mapping[str, Sequence[str]]) -> None:
        # In memory as long as it is small: what is more goes to a temporary file without a name.
        self._db = sqlite3.connect("")
        self._db.execute(f"pragma cache_size = -{CACHE_KIB}")
        self._db.row_factory = sqlite3.Row
        for name, columns in COLUMNS.items():
            kinds = [f'"{c}" {_TYPES.get(STORED[name].field(c).type, "integer")}' for c in columns]
            self._db.execute(f"create table {name} ({', '.join(kinds)})")
            into = f"insert into {name} values ({', '.join('?' * len(columns))})"
            for file in files.get(name, ()):
                for batch in pq.ParquetFile(source(file)).iter_batches(columns=list(columns)):
                    self._db.executemany(into, zip(*(batch[c].to_pylist() for c in columns), strict=True))

    def view(self, name: str, statement: str) -> None:
        """Make the result a table of this name."""
        self._db.execute(f"create temp table {name} as {statement}")

    def rows(self, statement: str) -> Iterator[Mapping[str, object]]:
        return map(dict, self._db.execute(statement))

    def each_partition(self, judge: Callable[[Iterator[HeldReplica]], T]) -> Iterator[T]:
        """All of them here, one at a time."""
        yield judge(cast(HeldReplica, row) for row in self.rows(GROUPED))

    def close(self) -> None:
        self._db.close()
