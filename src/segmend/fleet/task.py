"""What one task of an audit does, wherever it runs: check partitions, write Parquet files, count.

A task is a plain value, and `run_task` a plain function: Spark's workers, a process pool and
a test call it alike. Rows never travel through the driver, only the names of files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import groupby

from segmend.broker.failures import DIR_FAILED
from segmend.checks import CheckOfAny, CheckRun, Level, Scope, Wanted
from segmend.checks.any_release import READ_AGAIN
from segmend.checks.context import Keeper, PartitionContext
from segmend.checks.registry import Check
from segmend.checks.segment_view import SegmentView
from segmend.findings import Finding, Severity
from segmend.fleet import carried, rows
from segmend.fleet.delta import AuditRun, DeltaFile, write_part
from segmend.fleet.digest import PartitionDigest
from segmend.fleet.listing import Place
from segmend.fleet.pack import FILE_COST
from segmend.fleet.refused import refused
from segmend.fleet.remote import listed_once
from segmend.fleet.settled import Settled
from segmend.formats.names import parse_dir_name
from segmend.frozen import dataclass, field, frozen
from segmend.json_values import number
from segmend.kernel.types import SegmentScan
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PARTITION_KINDS, PartitionDir
from segmend.logdir.release import Guess
from segmend.node.broker_dirs import BrokerDirs

OTHER_DIRS = "other log dirs of {}, of which its metadata tells"
METADATA = "the cluster's metadata as {} has it"
NOT_ALLOWED = "{}: could not be read with this user's permissions"
VANISHED = "{}: gone between being listed and being read"
COMPARED_KINDS = frozenset({"current", "cluster-metadata"})
_INNER = frozenset({Scope.PARTITION, Scope.SEGMENT, Scope.FAILURE})
_OUTER = frozenset({Scope.BROKER, Scope.DIR, Scope.FAILURE})


@frozen
class TaskPiece:
    """A partition directory of one log dir; or, without a name, what is said of the broker as a whole."""

    log_dir_id: int
    name: str | None
    bytes: int
    files: int

    @property
    def weight(self) -> int:
        return self.bytes + self.files * FILE_COST


@frozen
class AuditJob:
    """What all tasks of an audit share, and nothing that grows with the fleet."""

    out: str
    run: AuditRun
    level: Level
    findings: bool = True
    digests: bool = True
    scans: bool = True


@frozen
class Share:
    """What one task reads of one broker: all its log dirs are opened together, as the checks want them.

    `dir_bytes` (by log dir id) comes with the piece that stands for the broker as a whole; `earlier`
    are files of the table `scans` that may know of these pieces. Of a broker that is `cut` other tasks read
    more: what its findings have in common with those is not known, and no log is read again for another
    release that it may be of.
    """

    release: Guess
    places: tuple[Place, ...]
    pieces: tuple[TaskPiece, ...]
    dir_bytes: Mapping[int, int] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    cut: bool = False

    @property
    def weight(self) -> int:
        return sum(piece.weight for piece in self.pieces)


@frozen
class Task:
    """What one task reads, and nothing of what others do: it travels."""

    job: AuditJob
    shares: tuple[Share, ...]

    @property
    def bytes(self) -> int:
        """Bytes of the files of all pieces."""
        return sum(piece.bytes for share in self.shares for piece in share.pieces)


@frozen
class Result:
    """What a task tells the driver.

    `unreadable` are paths that were refused, or were gone where no broker runs; `carried` counts segments
    that another run has read, by it, `unseen` is what was not there to be looked at: words with {}, and
    whose it is.
    """

    parts: tuple[DeltaFile, ...]
    counts: dict[str, int]
    codes: dict[tuple[str, str], int]
    unreadable: tuple[str, ...]
    bytes: int
    carried: dict[str, int]
    unseen: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Sink:
    """Rows by table, on their way to a file or a DataFrame."""

    rows: dict[str, list[rows.Row]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
    carried: Counter[str] = field(default_factory=Counter)
    unseen: list[tuple[str, str]] = field(default_factory=list)


@frozen
class _Only(Wanted):
    """Of all checks those of some scopes, and of all partitions those of one task."""

    scopes: frozenset[Scope]
    directories: frozenset[tuple[str, str]] = frozenset()

    def check(self, check: Check) -> bool:
        return check.scope in self.scopes

    def partition(self, partition: PartitionDir) -> bool:
        """Whether the partition directory is one of the task's."""
        return (partition.log_dir.path, partition.name) in self.directories


def run_task(task: Task) -> Result:
    """Look at every piece, write the rows found, and say which files they are in."""
    sink, job = gather(task), task.job
    # Of each broker a file of its own: a later audit opens what it has of one broker, and no more.
    scans = groupby(sink.rows.pop("scans", []), lambda row: (row["cluster_id"], row["broker"]))
    tables = [*sink.rows.items(), *(("scans", list(same)) for _, same in scans)]
    parts = [write_part(job.out, job.run, name, rows.table(name, rows_found)) for name, rows_found in tables]
    return Result(
        parts=tuple(part for part in parts if part),
        counts=dict(sink.counts),
        codes=dict(sink.codes),
        unreadable=tuple(sink.unreadable),
        bytes=task.bytes,
        carried=dict(sink.carried),
        unseen=tuple(sink.unseen),
    )


def gather(task: Task) -> Sink:
    """Look at every piece; the rows found."""
    sink = Sink()
    with listed_once(place.path for share in task.shares for place in share.places):
        for share in task.shares:
            _run_broker(task.job, share, sink)
    return sink


def _run_broker(job: AuditJob, share: Share, sink: Sink) -> None:
    places, pieces = share.places, share.pieces
    opened = [(place, place.opened()) for place in places]
    dirs = [log_dir for _, log_dir in opened if log_dir is not None]
    unlisted = [place.path for place, log_dir in opened if log_dir is None]
    checked = BrokerDirs(dirs, release=share.release, unlisted=unlisted)
    paths = {place.log_dir_id: place.path for place in places}
    by_path = {place.path: place for place in places}
    names = frozenset((paths[p.log_dir_id], p.name) for p in pieces if p.name is not None)
    whole = len(names) < len(pieces)

    known = carried.known(job.out, share.earlier, places, names, job.level)
    readings = carried.Readings(job.run, job.level, known)

    gone = {f"{path}/{name}" for path, name in names if path not in unlisted}

    def take(context: PartitionContext) -> None:
        gone.discard(context.partition.path)
        _partition_rows(job, by_path[context.dir.path], context, sink, readings)

    # All in one run: a finding of a whole dir may be the cause of what is found in its partitions.
    scopes = frozenset[Scope]().union(_INNER if names else (), _OUTER if whole else ())
    wanted = _Only(scopes=scopes if job.findings else frozenset(), directories=names)
    kind = partial(CheckOfAny, read_again=0 if share.cut else READ_AGAIN) if job.findings else CheckRun
    scanned = readings.scanned if job.scans else None
    if names or job.findings:
        stretches = readings.stretches if job.digests else None
        keeper = Keeper(scanned, stretches, take)
        run = kind(checked, level=job.level, wanted=wanted, keeper=keeper)
        for finding in run:
            _add(finding, by_path[finding.dir], sink, readings.of_finding(finding))
        for path in run.summary.unreadable:
            place = _place_of(path, places)
            if _is_ours(path, place, names, whole=whole):
                _add(refused(path, place), place, sink)
        vanished = [*run.summary.vanished, *sorted(gone)]
        sink.unreadable += [*run.summary.unreadable, *run.summary.missed(vanished)]
        sink.unseen += [(NOT_ALLOWED, path) for path in run.summary.unreadable]
        sink.unseen += [(VANISHED, path) for path in vanished]
        whose = f"broker {next(iter(by_path.values())).broker}"
        sink.unseen += [(OTHER_DIRS, whose)] if run.summary.dirs_not_given else []
        sink.unseen += [(METADATA, whose)] if run.summary.metadata_unseen else []
        sink.unseen += [("{}", words) for words in run.summary.unknown]
    if whole:
        _dir_rows(share, dirs, sink)


def _is_ours(path: str, place: Place, names: AbstractSet[tuple[str, str]], *, whole: bool) -> bool:
    """Whether it lies in a partition of this task, or in none: several tasks of a broker meet the same."""
    name = path.removeprefix(place.path).lstrip("/").partition("/")[0]
    return (place.path, name) in names if parse_dir_name(name).kind in PARTITION_KINDS else whole


def _place_of(path: str, places: Sequence[Place]) -> Place:
    return next(place for place in places if path.startswith(f"{place.path}/"))


def _add(finding: Finding, place: Place, sink: Sink, source: str | None = None) -> None:
    sink.rows["findings"].append(rows.finding_row(finding, place, "scan") | {"carried_from": source})
    sink.codes[finding.code, finding.severity.value] += 1


def _dir_rows(share: Share, dirs: Sequence[LogDir], sink: Sink) -> None:
    opened = {log_dir.path: log_dir for log_dir in dirs}
    for place in share.places:
        log_dir = opened.get(place.path)
        size = share.dir_bytes.get(place.log_dir_id, 0)
        sink.rows["log_dirs"].append(
            rows.log_dir_row(place, log_dir, release=str(share.release.release), bytes=size)
        )
        if log_dir is None:
            _add(_unlisted(place), place, sink)
            sink.unreadable.append(place.path)
        else:
            sink.rows["checkpoints"].extend(rows.checkpoint_rows(place, log_dir))


def _unlisted(place: Place) -> Finding:
    """A log dir of the fleet that nobody could look into is a finding, whatever the reason."""
    return Finding(
        code="K14b",
        severity=Severity.ERROR,
        message=f"the log dir cannot be listed: {place.unreadable or 'it vanished'}",
        dir=place.path,
        broker_says=DIR_FAILED.format(place.path),
    )


def _partition_rows(
    job: AuditJob, place: Place, context: PartitionContext, sink: Sink, readings: carried.Readings
) -> None:
    partition = context.partition
    scans = context.scans or [None] * len(context.views)
    keys, compared = rows.partition_keys(place, partition), partition.kind in COMPARED_KINDS
    digest, settled = PartitionDigest(), Settled(partition)
    for view, scan in zip(context.views, scans, strict=True):
        taken = readings.taken(view)
        source = None if taken is None else taken.read_by
        row = rows.segment_row(keys, view, scan, settled)
        row["carried_from"] = source
        sink.rows["segments"].append(row)
        if scan is not None and source is not None:
            sink.carried[source] += 1
            sink.counts["carried_bytes"] += scan.size
        if scan is not None and job.digests and compared:
            _digest(view, scan, digest, readings)
    if job.scans:
        sink.rows["scans"].extend(keys | row for row in readings.rows(context, scans, digest, settled))
    row = rows.partition_row(place, context, settled, has_holes=digest.has_holes)
    sink.rows["partitions"].append(row)
    sink.rows["digests"].extend(digest.rows(keys))
    sink.rows["checkpoints"].extend(rows.epoch_rows(place, partition))
    sink.counts.update(
        partitions=1, segments=len(scans), **{name: number(row, name) for name in ("batches", "records")}
    )
    sink.counts.update(bytes=sum(scan.size for scan in scans if scan is not None))


def _digest(
    view: SegmentView, scan: SegmentScan, digest: PartitionDigest, readings: carried.Readings
) -> None:
    taken, filled = readings.taken(view), readings.filled(view)
    if taken is not None:
        digest.take(view.base_offset, taken.parts, has_holes=taken.has_holes)
        return
    # Replicas are compared by all headers, also of batches that a scan leaves out as damaged.
    if filled is not None and not (filled.bounded or scan.damaged_batches or scan.tail):
        digest.take(view.base_offset, filled.rows, has_holes=filled.has_holes)
        return
    try:
        with view.log.reader() as reader:
            digest.add(reader, view.base_offset)
    except Unreadable:
        # The scan came through a moment ago; what is gone since is the next run's business.
        return
