"""Who is who: brokers and log dirs by their keys, as every section of the report names them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from segmend.frozen import frozen

from .columns import TableRow, Tables, broker_name, broker_order, rows

_COLUMNS = (
    "broker",
    "log_dir_id",
    "path",
    "release",
    "clean_shutdown",
    "disk_total_bytes",
    "disk_free_bytes",
)


@frozen
class Places:
    """The `log_dirs` table, indexed."""

    dirs: Mapping[int | None, TableRow]
    by_broker: Mapping[str, tuple[TableRow, ...]]

    @property
    def brokers(self) -> list[str]:
        return sorted(self.by_broker, key=broker_order)

    def path(self, log_dir_id: int | None) -> str:
        """The path of a log dir, empty when it is unknown."""
        row = self.dirs.get(log_dir_id)
        return "" if row is None else row["path"] or ""

    def clean(self, broker: str, log_dir_id: int | None) -> bool:
        """Was this log dir left by a clean stop? Of an unknown dir: were all of the broker's?"""
        row = self.dirs.get(log_dir_id)
        rows = self.by_broker.get(broker, ()) if row is None else (row,)
        return bool(rows) and all(row["clean_shutdown"] for row in rows)


def places(tables: Tables) -> Places:
    dirs = rows(tables, "log_dirs", _COLUMNS)
    by_broker: dict[str, list[TableRow]] = defaultdict(list)
    for row in dirs:
        by_broker[broker_name(row["broker"])].append(row)
    return Places(
        dirs={row["log_dir_id"]: row for row in dirs},
        by_broker={broker: tuple(mine) for broker, mine in by_broker.items()},
    )
