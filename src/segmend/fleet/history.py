"""The runs of one OUT, and what changed between two of them.

A finding that a later run does not have is gone only where that run looked as deep into the same
log dir; else nobody knows, and it is called unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from segmend.checks import Level
from segmend.errors import SegmendError, UsageError
from segmend.fleet import delta
from segmend.fleet.schemas import STORED
from segmend.frozen import frozen

SECOND: Final = len("20260101T000000")
"""So far the id of a run says when it began."""


@frozen
class Sight:
    """What a run looked at: how deep, and the log dirs that it could list."""

    run_id: str
    level: Level
    dirs: frozenset[str]


@frozen
class Changes:
    """Rows of `findings`: of the later run those that are new, of the one before those gone or unseen."""

    new: pa.Table
    gone: pa.Table
    unseen: pa.Table


def sight(out: str, run_id: str, level: Level) -> Sight:
    """What the run looked at; `level` as its row in `runs` has it."""
    rows = delta.read(out, "log_dirs", run_id=run_id, columns=["path", "partitions"]).to_pylist()
    dirs = frozenset(row["path"] for row in rows if row["partitions"] is not None)
    return Sight(run_id=run_id, level=level, dirs=dirs)


def changes(
    out: str, before: Sight, after: Sight, columns: Sequence[str] = STORED["findings"].names
) -> Changes:
    """The findings that differ, by their fingerprints; of them these columns."""
    named = list(dict.fromkeys([*columns, "fingerprint", "dir"]))
    then, now = (delta.read(out, "findings", run_id=each.run_id, columns=named) for each in (before, after))
    left = _without(then, now)
    deep_enough = after.level >= before.level
    looked = pc.is_in(left["dir"], pa.array(sorted(after.dirs) if deep_enough else [], pa.string()))
    return Changes(new=_without(now, then), gone=left.filter(looked), unseen=left.filter(pc.invert(looked)))


def _without(findings: pa.Table, others: pa.Table) -> pa.Table:
    """Each finding that the others do not have, once."""
    mine = findings.filter(
        pc.invert(pc.is_in(findings["fingerprint"], others["fingerprint"].combine_chunks()))
    )
    numbered = pa.table(
        {"fingerprint": mine["fingerprint"], "number": pa.array(range(len(mine)), pa.int64())}
    )
    once = numbered.group_by("fingerprint", use_threads=False).aggregate([("number", "max")])
    return mine.take(once["number_max"])


def finished(out: str) -> list[Mapping[str, Any]]:
    """The rows of `runs`, the oldest first; SegmendError when `out` has none."""
    rows: list[Mapping[str, Any]] = delta.read(out, "runs").to_pylist()
    if not rows:
        raise SegmendError(f"{out}: no finished run of `segmend fleet audit` in it")
    return sorted(rows, key=_age)


def newest(out: str) -> Mapping[str, Any] | None:
    """The row of the newest run, None without any: of a thousand, those of its second alone are read."""
    known = delta.runs(out)
    close = [each for each in known if each[:SECOND] == known[-1][:SECOND]]
    rows = (row for each in close for row in delta.read(out, "runs", run_id=each).to_pylist())
    return max(rows, key=_age, default=None)


def _age(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["started"], row["run_id"]


def pick(rows: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> tuple[Sight, Sight]:
    """The two runs named by the beginnings of their ids (default: the last two), the earlier first.

    UsageError when a name fits no run or several, or there is only one run. Their `dirs` are empty.
    """
    chosen = [_named(rows, name) for name in wanted] or list(rows[-2:])
    if len(chosen) == 1 and wanted:
        chosen.append(rows[-1])
    if len(chosen) != 2 or chosen[0]["run_id"] == chosen[1]["run_id"]:
        raise UsageError(f"two runs are needed; there are: {', '.join(row['run_id'] for row in rows)}")
    first, second = sorted(chosen, key=_age)
    return bare(first), bare(second)


def bare(row: Mapping[str, Any]) -> Sight:
    """Of a row of `runs`: how deep it looked."""
    return Sight(run_id=row["run_id"], level=Level[row["level"].upper()], dirs=frozenset())


def _named(rows: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    matching = [row for row in rows if row["run_id"].startswith(name)]
    if len(matching) != 1:
        told = "no run begins" if not matching else f"{len(matching)} runs begin"
        raise UsageError(f"{told} with {name}; there are: {', '.join(row['run_id'] for row in rows)}")
    return matching[0]
