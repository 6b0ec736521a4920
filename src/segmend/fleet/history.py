"""The runs of one OUT, and what changed between two of them.

A finding that a later run does not have is gone only where that run looked as deep into the same
log dir, and nothing there was refused to it; else nobody knows, and it is called unseen.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from segmend.checks import Level
from segmend.errors import SegmendError, UsageError
from segmend.fleet import delta
from segmend.fleet.refused import REFUSED
from segmend.fleet.typed_rows import RunRow
from segmend.frozen import frozen

Kept: TypeAlias = npt.NDArray[np.bool_]
"""Of each finding of a run, in the order of `delta.parts`, whether it is meant."""
SECOND: Final = len("20260101T000000")
"""So far the id of a run says when it began, or which one it came after."""


@frozen
class LookedAt:
    """What a run looked at: how deep, the log dirs that it knew of, and those of them that it could list.

    `refused` has (log dir, name in it) of what was refused to it in whole or in part, and (topic, partition).
    """

    run_id: str
    level: Level
    known: frozenset[str]
    dirs: frozenset[str]
    refused: frozenset[tuple[str, str | int]] = frozenset()


@frozen
class Changes:
    """Of the later run's findings, row by row, whether it is new; of the one before, gone or unseen."""

    new: Kept
    gone: Kept
    unseen: Kept


_TOLD: Final[Mapping[str, Sequence[str]]] = {
    "log_dirs": ("log_dirs",),
    "partitions": ("partitions",),
    "findings": ("errors", "warnings", "infos"),
}
"""Tables that have a row for each that these columns of `runs` count."""


def lost(out: str, run_id: str) -> str | None:
    """Words where rows of a finished run are in no commit any more: what they told would seem gone."""
    counts = [column for columns in _TOLD.values() for column in columns]
    for row in delta.read(out, delta.RUNS, run_id=run_id, columns=counts).to_pylist():
        for name, columns in _TOLD.items():
            there, told = delta.count(out, name, run_id), sum(row[column] or 0 for column in columns)
            if there < told:
                rows = f"{there:,} of the {told:,} rows of the finished run {run_id}"
                return f"{out}/{name}: has {rows}, its log lacks a commit"
    return None


def refuse_lost(out: str, run_id: str) -> None:
    """SegmendError where rows of a finished run are lost."""
    words = lost(out, run_id)
    if words is not None:
        raise SegmendError(f"{words}; name other runs")


def sight(out: str, run_id: str, level: Level) -> LookedAt:
    """What the run looked at; `level` as its row in `runs` has it. SegmendError where rows of it are lost."""
    refuse_lost(out, run_id)
    rows = delta.read(out, "log_dirs", run_id=run_id, columns=["path", "partitions"]).to_pylist()
    dirs = frozenset(row["path"] for row in rows if row["partitions"] is not None)
    known = frozenset(row["path"] for row in rows)
    return LookedAt(
        run_id=run_id, level=level, known=known, dirs=dirs, refused=frozenset(_refused(out, run_id))
    )


def _refused(out: str, run_id: str) -> Iterator[tuple[str, str | int]]:
    names = ("code", "dir", "file", "topic", "partition")
    for part in delta.parts(out, "findings", run_id=run_id, columns=names):
        for row in part.filter(pc.equal(part["code"], REFUSED)).to_pylist():
            yield row["dir"], _first_name(row["file"])
            if row["topic"] is not None:
                yield row["topic"], row["partition"]


def _first_name(file: str | None) -> str:
    return (file or "").partition("/")[0]


def changes(out: str, before: LookedAt, after: LookedAt) -> Changes:
    both = before.known & after.known
    # Of a replica that is behind nothing is known once those that it was compared with cannot be read.
    told = before.dirs <= after.dirs
    then, now = (
        _Findings.of(out, before, both, after, told),
        _Findings.of(out, after, both, after, told),
    )
    left = then.without(now)
    looked = then.looked if after.level >= before.level else np.zeros_like(left)
    return Changes(new=now.without(then), gone=left & looked, unseen=left & ~looked)


@frozen
class _Findings:
    """The findings of a run: what each is known by, and whether the later run would have it, were it there.

    A fingerprint has no path, for a disk may be mounted elsewhere; the log dirs of a broker often have one
    name, so of those that both runs know it counts with the path. Findings may share it (of several
    producers in a partition): as many of them are new as there are more. One that two tasks tell counts once.
    """

    keys: npt.NDArray[np.int64]
    once: Kept
    looked: Kept

    @classmethod
    def of(cls, out: str, run: LookedAt, both: Collection[str], later: LookedAt, compared: bool) -> _Findings:
        """Those of a run: of a million no more than these numbers are kept."""
        names = ("fingerprint", "dir", "offset", "message", "source", "file", "topic", "partition")
        keys, same, looked = (array(code) for code in "qqb")
        for part in delta.parts(out, "findings", run_id=run.run_id, columns=names):
            columns = (part[name].to_pylist() for name in names)
            for fingerprint, path, offset, message, source, file, *of in zip(*columns, strict=True):
                keys.append(hash((fingerprint, path if path in both else None)))
                same.append(hash((fingerprint, path, offset, message)))
                seen = path in later.dirs and (path, _first_name(file)) not in later.refused
                joined = compared and tuple(of) not in later.refused
                looked.append(seen and (joined or source != "join"))
        once: Kept = np.zeros(len(same), bool)
        once[np.unique(np.array(same, np.int64), return_index=True)[1]] = True
        return cls(keys=np.array(keys, np.int64), once=once, looked=np.array(looked, bool))

    def without(self, others: _Findings) -> Kept:
        """Those that the others do not have."""
        known, counts = np.unique(others.keys[others.once], return_counts=True)
        rows = np.flatnonzero(self.once)
        order = rows[np.argsort(self.keys[rows], kind="stable")]
        keys = self.keys[order]
        number = np.arange(len(keys)) - np.searchsorted(keys, keys)
        left: Kept = np.zeros(len(self.keys), bool)
        left[order] = number >= _counts_of(keys, known, counts)
        return left


def _counts_of(
    keys: npt.NDArray[np.int64], known: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    if not len(known):
        return np.zeros(len(keys), np.int64)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, counts[at], 0)


def finished(out: str, columns: Sequence[str] | None = None) -> list[RunRow]:
    """The rows of `runs`, the oldest first; SegmendError when `out` has none.

    The newest ones are files of their own (see `delta`), which cost by the columns.
    """
    rows: list[RunRow] = delta.read(out, "runs", columns=columns).to_pylist()
    if not rows:
        raise SegmendError(f"{out}: no finished run of `segmend fleet audit` in it")
    return sorted(rows, key=_age)


def newest(out: str) -> RunRow | None:
    """The row of the newest run, None without any: of a thousand, those of its second alone are read."""
    known = delta.runs(out)
    close = [each for each in known if each[:SECOND] == known[-1][:SECOND]]
    rows = (row for each in close for row in delta.read(out, "runs", run_id=each).to_pylist())
    return max(rows, key=_age, default=None)


def _age(row: RunRow) -> tuple[str, datetime, str]:
    """By its id first: the clock may have gone back (see `delta.new_run`)."""
    return row["run_id"][:SECOND], row["started"], row["run_id"]


def pick(rows: Sequence[RunRow], wanted: Sequence[str]) -> tuple[LookedAt, LookedAt]:
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


def bare(row: RunRow) -> LookedAt:
    """Of a row of `runs`: how deep it looked."""
    return LookedAt(
        run_id=row["run_id"], level=Level[row["level"].upper()], known=frozenset(), dirs=frozenset()
    )


def _named(rows: Sequence[RunRow], name: str) -> RunRow:
    matching = [row for row in rows if row["run_id"].startswith(name)]
    if len(matching) != 1:
        told = "no run begins" if not matching else f"{len(matching)} runs begin"
        raise UsageError(f"{told} with {name}; there are: {', '.join(row['run_id'] for row in rows)}")
    return matching[0]
