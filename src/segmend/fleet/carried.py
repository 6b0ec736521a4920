"""What an earlier audit read of sealed segments, taken over by a later one that finds them unchanged.

A segment is unchanged where its log and indexes have the inode, size, modification time and change
time that they had when they were read, under the same path. So damage that leaves no trace in
these (a disk that forgets) is not seen: what is taken over says which run read it, and a run that is not
told of an earlier one (or has `--full`) reads everything. The active segment is always read.

What is taken over is the scan, the value that all checks go by, not the findings: they are made anew from it,
by the rules of today, so that damage seen before is reported again, and what the start makes of it is
asked of the files as they lie now.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from segmend.checks import Level
from segmend.checks.context import PartitionContext
from segmend.checks.segment_view import SegmentView
from segmend.errors import UsageError
from segmend.findings import Finding
from segmend.fleet import delta, history, plain_values
from segmend.fleet.delta import AuditRun
from segmend.fleet.digest import PartitionDigest, Parts
from segmend.fleet.folder import names, source
from segmend.fleet.listing import Place, absolute
from segmend.fleet.schemas import DIGEST_OFFSETS, SCANS
from segmend.fleet.settled import Settled
from segmend.fleet.typed_rows import ScanRow
from segmend.formats.names import file_prefix
from segmend.frozen import frozen, replace
from segmend.kernel.stretches import Stretches
from segmend.kernel.types import SegmentScan
from segmend.logdir.file_system import FileStat, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import TICK_NS

LAST: Final = "last"
"""Names the newest finished run, if there is one."""
_LARGEST: Final = 1 << 20
"""The scan of a segment that takes more bytes than this is not kept: the segment is read again."""
_TABLE: Final = "scans"
_FILES: Final = ("log", "index", "timeindex", "txnindex")


@frozen
class Earlier:
    """A file of the table `scans`, and of which broker and partition directories it is (from, to)."""

    path: str
    broker: int
    first: str
    last: str


@frozen
class EarlierScan:
    """What an earlier run has of one segment."""

    mark: str
    read_by: str
    scan: str
    has_holes: bool
    parts: Parts


def since(out: str, wanted: str, level: Level) -> tuple[str, ...]:
    """The runs to carry over from, the newest first: the one that is named, and those stopped since it.

    `wanted` is the beginning of its id, or `last`: then none is no error. UsageError where none is
    named so, or several, or one that looked less or more deeply.
    """
    if level == Level.STARTUP:
        raise UsageError("--since-run: an audit with --startup reads no logs; there is nothing to carry over")
    halves = stopped(out)
    if wanted == LAST:
        newest = history.newest(out)
        named = [newest["run_id"]] if newest else halves[-1:]
    else:
        known = sorted({*delta.runs(out), *halves})
        named = [each for each in known if each.startswith(wanted)]
        if len(named) != 1:
            told = "no run begins" if not named else f"{len(named)} runs begin"
            raise UsageError(f"--since-run: {told} with {wanted}; there are: {', '.join(known) or 'none'}")
    for each in named:
        for row in delta.read(out, delta.RUNS, run_id=each, columns=["level"]).to_pylist():
            if row["level"] != level.name.lower():
                told = f"{each} was an audit of level {row['level']}"
                raise UsageError(f"--since-run: {told}; give the same, or no run")
    return tuple(sorted({*named, *(each for each in halves if named and each > named[0])}, reverse=True))


def stopped(out: str) -> list[str]:
    """The ids of runs that left readings and did not finish, the oldest first."""
    done = set(delta.runs(out))
    runs = {run for each in names(os.path.join(out, _TABLE)) if (run := delta.run_of(each)) is not None}
    return sorted(runs - done)


def to_go_on_with(out: str) -> str | None:
    """The newest of them, unless an audit finished after it: that one has read what it had not."""
    newest = max(delta.runs(out), default="")[: history.SECOND]
    return next((each for each in reversed(stopped(out)) if each[: history.SECOND] > newest), None)


def files(out: str, runs: Sequence[str]) -> list[Earlier]:
    """The files of these runs, the newest first; one that a killed run left torn gives nothing."""
    if not runs:
        return []
    folder = os.path.join(out, _TABLE)
    table = delta.opened(out, _TABLE)
    paths = {path for path, run in (delta.files(table) if table else {}).items() if run in runs}
    paths |= {each for each in names(folder) if delta.run_of(each) in runs}
    earlier: list[Earlier] = []
    for path in sorted(paths, reverse=True):
        with suppress(OSError, pa.ArrowInvalid, Unreadable):
            earlier.extend(_described(folder, path))
    return earlier


def _described(folder: str, path: str) -> Iterator[Earlier]:
    about = pq.read_metadata(source(os.path.join(folder, path)))
    columns = {about.schema.column(n).name: n for n in range(about.num_columns)}
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        brokers, names = (group.column(columns[name]).statistics for name in ("broker", "dir_name"))
        for broker in range(brokers.min, brokers.max + 1):
            yield Earlier(path=path, broker=broker, first=names.min, last=names.max)


def about(earlier: Iterable[Earlier], names: Collection[str]) -> tuple[str, ...]:
    """The paths of those that may know of these partition directories."""
    first, last = min(names), max(names)
    return tuple(dict.fromkeys(each.path for each in earlier if each.first <= last and first <= each.last))


class Readings:
    """What one task of one broker takes over and reads; checks are given `scanned` and `stretches`."""

    def __init__(self, run: AuditRun, level: Level, known: Mapping[str, Sequence[EarlierScan]]) -> None:
        self._run_id, self._level, self._known = run.run_id, level.name.lower(), known
        self._marks: dict[str, str] = {}
        self._taken: dict[str, EarlierScan] = {}
        self._stretches: dict[str, Stretches] = {}
        self._began_ns = time.time_ns()

    def scanned(self, view: SegmentView) -> SegmentScan | None:
        """The scan of a sealed segment that is as it was; None where it must be read."""
        path = view.log.path
        mark = None if view.is_active else mark_of(map(view.file, _FILES), self._began_ns)
        if mark is None:
            return None
        self._marks.setdefault(path, mark)
        for each in self._known.get(path, ()):
            if each.mark == mark:
                with suppress(ValueError):
                    scan = plain_values.from_text(SegmentScan, each.scan)
                    self._taken[path] = each
                    return scan
        return None

    def stretches(self, view: SegmentView) -> Stretches:
        """What is to be filled by whoever reads the log of a segment."""
        made = self._stretches[view.log.path] = Stretches(DIGEST_OFFSETS)
        return made

    def filled(self, view: SegmentView) -> Stretches | None:
        """What was filled by it, once; None where the log was not read."""
        return self._stretches.pop(view.log.path, None)

    def taken(self, view: SegmentView) -> EarlierScan | None:
        """What was taken over of a segment; None where its log was read."""
        return self._taken.get(view.log.path)

    def of_finding(self, finding: Finding) -> str | None:
        """The run that read the log of a finding about a segment that was taken over, else None."""
        folder, _, _ = (finding.file or "").rpartition("/")
        if finding.segment is None or not folder:
            return None
        carried = self._taken.get(f"{finding.dir}/{folder}/{file_prefix(finding.segment)}.log")
        return None if carried is None else carried.read_by

    def rows(
        self,
        context: PartitionContext,
        scans: Sequence[SegmentScan | None],
        digest: PartitionDigest,
        settled: Settled,
    ) -> Iterator[dict[str, object]]:
        """Rows of `scans` for the segments whose files did not change while they were read."""
        partition = context.partition
        log_dir = absolute([context.dir.path])[0]
        for view, scan in zip(context.views, scans, strict=True):
            mark = self._marks.get(view.log.path)
            # Another user may read the indexes, and nothing of the files will have changed.
            if scan is None or mark is None or view.index_unread:
                continue
            if mark_of(settled.of(view.segment), self._began_ns) != mark:
                continue
            text = plain_values.to_text(scan if scan.built is None else replace(scan, built=None))
            if len(text) > _LARGEST:
                continue
            parts, has_holes = digest.parts(view.base_offset)
            taken = self.taken(view)
            yield {
                "segment": view.base_offset, "dir": log_dir, "dir_name": partition.name,
                "level": self._level, "mark": mark, "read_by": taken.read_by if taken else self._run_id,
                "scan": text,
                "has_holes": has_holes, "buckets": parts,
            }  # fmt: skip


def known(
    out: str, files: Iterable[str], places: Iterable[Place], names: Container[tuple[str, str]], level: Level
) -> dict[str, list[EarlierScan]]:
    """What these files of `scans` have of partition directories (log dir, name), by the paths of the logs."""
    dirs = {absolute([place.path])[0]: place.path for place in places}
    by_dir: dict[str, list[EarlierScan]] = {}
    for file in files:
        for row in _rows(os.path.join(out, _TABLE, file)):
            log_dir, name = dirs.get(row["dir"], ""), row["dir_name"]
            if (log_dir, name) in names and row["level"] == level.name.lower():
                path = f"{log_dir}/{name}/{file_prefix(row['segment'])}.log"
                by_dir.setdefault(path, []).append(_known(row))
    return by_dir


def _known(row: ScanRow) -> EarlierScan:
    return EarlierScan(
        mark=row["mark"], read_by=row["read_by"], scan=row["scan"], has_holes=row["has_holes"],
        parts=row["buckets"],
    )  # fmt: skip


def _rows(path: str) -> list[ScanRow]:
    try:
        rows: list[ScanRow] = pq.read_table(source(path), schema=SCANS, partitioning=None).to_pylist()
    except (OSError, pa.ArrowInvalid, Unreadable):
        # Vacuumed meanwhile, or torn: all of it is read again.
        return []
    return rows


def mark_of(files: Iterable[FileEntry | None], now_ns: int) -> str | None:
    """What tells whether the files of a segment are as they were; None where nothing does.

    Their status is remembered there: of a view they are read right after.
    """
    try:
        marks = ["-" if each is None else file_mark(each.stat(), now_ns) for each in files]
    except Unreadable:
        return None
    return None if None in marks else " ".join(filter(None, marks))


def file_mark(stat: FileStat, now_ns: int) -> str | None:
    """Of one file; None where no change time is known, or it is so young that another change may share it."""
    if stat.changed_ns is None or now_ns - stat.changed_ns <= TICK_NS:
        return None
    return f"{stat.inode}:{stat.size}:{stat.mtime_ns}:{stat.changed_ns}"
