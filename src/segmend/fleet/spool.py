"""Rows on their way into the files of a run, however many: no more than some thousands of a table wait."""

from __future__ import annotations

from typing import Final

from segmend.fleet import rows
from segmend.fleet.delta import AuditRun, DeltaFile, write_part

AT_ONCE: Final = 20_000


class Spool:
    """Takes rows of any table; `close` gives the files that they are in."""

    def __init__(self, out: str, run: AuditRun) -> None:
        self._out, self._run = out, run
        self._waiting: dict[str, list[rows.Row]] = {}
        self._parts: list[DeltaFile] = []

    def add(self, name: str, row: rows.Row) -> None:
        """One more row of a table."""
        waiting = self._waiting.setdefault(name, [])
        waiting.append(row)
        if len(waiting) >= AT_ONCE:
            self._write(name)

    def _write(self, name: str) -> None:
        part = write_part(self._out, self._run, name, rows.table(name, self._waiting.pop(name)))
        self._parts += [] if part is None else [part]

    def close(self) -> list[DeltaFile]:
        """Write what waits."""
        for name in tuple(self._waiting):
            self._write(name)
        return self._parts
