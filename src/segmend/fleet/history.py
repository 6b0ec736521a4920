"""The runs of one OUT: what changed between two of them, and making room by dropping old ones.

A finding that a later run does not have is gone only where that run looked as deep into the same
log dir; else nobody knows, and it is called unseen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from segmend.checks import Level
from segmend.errors import SegmendError, UsageError
from segmend.fleet import delta
from segmend.fleet.schemas import STORED
from segmend.frozen import frozen

ORPHAN_SECONDS: Final = 24 * 3600
"""So long files that no commit names, and runs that did not finish, are left alone: they may be at work."""


@frozen
class Sight:
    """What a run looked at: how deep, and the log dirs that it could list."""

    run_id: str
    level: Level
    dirs: frozenset[str]


@frozen
class Changes:
    """Rows of `findings`: of the later run those that are new, of the one before those gone or unseen."""

    new: Sequence[Mapping[str, Any]]
    gone: Sequence[Mapping[str, Any]]
    unseen: Sequence[Mapping[str, Any]]


def sight(out: str, run_id: str, level: Level) -> Sight:
    """What the run looked at; `level` as its row in `runs` has it."""
    rows = delta.read(out, "log_dirs", run_id=run_id).select(["path", "partitions"]).to_pylist()
    dirs = frozenset(row["path"] for row in rows if row["partitions"] is not None)
    return Sight(run_id=run_id, level=level, dirs=dirs)


def changes(out: str, before: Sight, after: Sight) -> Changes:
    """The findings that differ, by their fingerprints."""
    then, now = (_by_fingerprint(out, each.run_id) for each in (before, after))
    left = [row for mark, row in then.items() if mark not in now]
    seen = [row["dir"] in after.dirs and after.level >= before.level for row in left]
    return Changes(
        new=[row for mark, row in now.items() if mark not in then],
        gone=[row for row, looked in zip(left, seen, strict=True) if looked],
        unseen=[row for row, looked in zip(left, seen, strict=True) if not looked],
    )


def _by_fingerprint(out: str, run_id: str) -> dict[str, Mapping[str, Any]]:
    return {row["fingerprint"]: row for row in delta.read(out, "findings", run_id=run_id).to_pylist()}


def finished(out: str) -> list[Mapping[str, Any]]:
    """The rows of `runs`, the oldest first; SegmendError when `out` has none."""
    rows: list[Mapping[str, Any]] = delta.read(out, "runs").to_pylist()
    if not rows:
        raise SegmendError(f"{out}: no finished run of `segmend fleet audit` in it")
    return sorted(rows, key=lambda row: (row["started"], row["run_id"]))


def pick(rows: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> tuple[Sight, Sight]:
    """The two runs named by the beginnings of their ids (default: the last two), the earlier first.

    UsageError when a name fits no run or several, or there is only one run. Their `dirs` are empty.
    """
    chosen = [_named(rows, name) for name in wanted] or list(rows[-2:])
    if len(chosen) == 1 and wanted:
        chosen.append(rows[-1])
    if len(chosen) != 2 or chosen[0]["run_id"] == chosen[1]["run_id"]:
        raise UsageError(f"two runs are needed; there are: {', '.join(row['run_id'] for row in rows)}")
    first, second = sorted(chosen, key=lambda row: (row["started"], row["run_id"]))
    return bare(first), bare(second)


def bare(row: Mapping[str, Any]) -> Sight:
    """Of a row of `runs`: how deep it looked."""
    return Sight(run_id=row["run_id"], level=Level[row["level"].upper()], dirs=frozenset())


def _named(rows: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    found = [row for row in rows if row["run_id"].startswith(name)]
    if len(found) != 1:
        told = "no run begins" if not found else f"{len(found)} runs begin"
        raise UsageError(f"{told} with {name}; there are: {', '.join(row['run_id'] for row in rows)}")
    return found[0]


@frozen
class Swept:
    """What a vacuum took away, or would take: runs, files, bytes."""

    runs: tuple[str, ...]
    files: int
    bytes: int


def vacuum(out: str, *, keep: int | None, older_than_ms: int | None, dry_run: bool) -> Swept:
    """Drop runs: all but the `keep` newest finished ones, of those that began before `older_than_ms`.

    With them go runs that never finished and files that no commit names, once they are a day old.
    The newest finished run always stays.
    """
    going = _going(out, keep, older_than_ms)
    count = size = 0
    for name in STORED:
        table = delta.opened(out, name)
        if table is None:
            continue
        of_runs = delta.files(table)
        dropped = {path for path, run in of_runs.items() if run in going}
        if dropped and not dry_run:
            table.delete(f"{delta.RUN} in ({', '.join(map(_quoted, going))})")
        for path in _loose(os.path.join(out, name), live=set(of_runs) - dropped, dropped=dropped):
            count, size = count + 1, size + os.stat(path).st_size
            if not dry_run:
                os.unlink(path)
    return Swept(runs=tuple(going), files=count, bytes=size)


def _going(out: str, keep: int | None, older_than_ms: int | None) -> list[str]:
    rows = finished(out)
    droppable = rows[: -max(keep or 1, 1)]
    if older_than_ms is not None:
        droppable = [row for row in droppable if row["started"].timestamp() * 1000 < older_than_ms]
    done = {row["run_id"] for row in rows}
    yesterday = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - ORPHAN_SECONDS))
    halves = {run for name in STORED for run in delta.runs(out, name)} - done
    return sorted({row["run_id"] for row in droppable} | {run for run in halves if run < yesterday})


def _quoted(run_id: str) -> str:
    return "'" + run_id.replace("'", "''") + "'"


def _loose(folder: str, *, live: set[str], dropped: set[str]) -> list[str]:
    """Paths of Parquet files in `folder` that are dropped, or that no commit names and that are old."""
    found = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(".parquet") or entry.name in live:
                continue
            if entry.name in dropped or entry.stat().st_mtime < time.time() - ORPHAN_SECONDS:
                found.append(entry.path)
    return sorted(found)
