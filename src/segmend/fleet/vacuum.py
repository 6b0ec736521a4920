"""Making room in an OUT: old runs go, and what audits left that were killed."""

from __future__ import annotations

import os
import time
from collections.abc import Container, Iterator, Sequence
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from segmend.errors import SegmendError
from segmend.fleet import delta, folder
from segmend.fleet.history import finished
from segmend.fleet.schemas import STORED
from segmend.frozen import frozen

ORPHAN_SECONDS: Final = 24 * 3600
"""So long files that no commit names, and runs that did not finish, are left alone: they may be at work.

An audit may take longer: it counts from the last file that it has written.
"""


@frozen
class Swept:
    """What a vacuum took away, or would take: runs, files, bytes."""

    runs: tuple[str, ...]
    files: int
    bytes: int


@delta.kept_open()
def vacuum(out: str, *, keep: int | None, older_than_ms: int | None, dry_run: bool) -> Swept:
    """Drop runs: all but the `keep` newest finished ones, of those that began before `older_than_ms`.

    With them go runs that never finished and files that no commit names, once they are a day old.
    The newest finished run always stays. Each table's log gets a checkpoint, and the rows of `runs` one file.
    """
    # The runs that did not finish, and have written a file within a day.
    old = time.time() - ORPHAN_SECONDS
    written = (
        each for name in STORED for each in folder.entries(os.path.join(out, name)) if each.written >= old
    )
    busy = {run for each in written if (run := delta.run_of(each.name)) is not None} - {*delta.runs(out)}
    going = _going(out, keep, older_than_ms, busy)
    count = size = 0
    for name in STORED:
        try:
            gone = list(_swept(out, name, going, busy, dry_run=dry_run))
        except (DeltaError, OSError) as error:
            raise SegmendError(f"{out}/{name}: it cannot be changed: {folder.one_line(error)}") from error
        count, size = count + len(gone), size + sum(each.bytes for each in gone)
    return Swept(runs=tuple(going), files=count, bytes=size)


def _swept(
    out: str, name: str, going: Sequence[str], busy: Container[str], *, dry_run: bool
) -> Iterator[folder.StoredFile]:
    """The files of one table that go."""
    table = delta.opened(out, name)
    if table is None:
        return
    of_runs = delta.files(table)
    live = {path for path, run in of_runs.items() if run not in going}
    known = set(of_runs)
    if not dry_run:
        live, known = _cut(table, going, one_file=name == delta.RUNS)
    for each in _loose(os.path.join(out, name), live=live, dropped=known - live):
        if each.name not in known and delta.run_of(each.name) in busy:
            continue
        if not dry_run:
            folder.remove(each.path)
        yield each
    if not dry_run:
        # Who opens the table reads the checkpoint, and not every commit since the last one.
        table.update_incremental()
        table.create_checkpoint()
        table.cleanup_metadata()


def _cut(table: DeltaTable, going: Sequence[str], *, one_file: bool) -> tuple[set[str], set[str]]:
    """Commit that the runs are gone; the files that are left, and all that were there on the way."""
    of_runs = delta.files(table)
    known = set(of_runs)
    # A file that has rows of several runs names none.
    if {None, *going} & {*of_runs.values()} and going:
        table.delete(f"{delta.RUN} in ({', '.join(map(_quoted, going))})")
        known |= set(delta.files(table))
    if one_file:
        delta.make_one_file(table)
    live = set(delta.files(table))
    return live, known | live


def _going(out: str, keep: int | None, older_than_ms: int | None, busy: Container[str]) -> list[str]:
    rows = finished(out, (delta.RUN, "started"))
    droppable = rows[: -max(keep or 1, 1)]
    if older_than_ms is not None:
        droppable = [row for row in droppable if row["started"].timestamp() * 1000 < older_than_ms]
    done = {row["run_id"] for row in rows}
    yesterday = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - ORPHAN_SECONDS))
    halves = {run for name in STORED for run in delta.runs(out, name)} - done
    halves = {run for run in halves if run < yesterday and run not in busy}
    going = {row["run_id"] for row in droppable} | halves
    assert not rows or rows[-1]["run_id"] not in going, "the newest finished run stays"
    return sorted(going)


def _quoted(run_id: str) -> str:
    return "'" + run_id.replace("'", "''") + "'"


def _loose(home: str, *, live: set[str], dropped: set[str]) -> list[folder.StoredFile]:
    """The Parquet files in `home` that are dropped, or that no commit names and that are old."""
    old = time.time() - ORPHAN_SECONDS
    return [
        each
        for each in folder.entries(home)
        if each.name.endswith(".parquet")
        and each.name not in live
        and (each.name in dropped or each.written < old)
    ]
