"""The doors of the Python API; `import segmend` shows them as its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from os import PathLike, fspath
from types import ModuleType
from typing import TYPE_CHECKING

from segmend.checks import CheckOfAny, CheckRun, Level
from segmend.cluster import ClusterDirs, ClusterForecast, Nodes, with_zookeeper
from segmend.errors import MissingExtra, UsageError
from segmend.formats.java_number import LONG_MAX, LONG_MIN
from segmend.kernel.columns import COLUMNS, WantedRecords
from segmend.kernel.types import BatchRange, Problem
from segmend.loading import Forecast, ForecastOptions
from segmend.loading import forecast_any as play
from segmend.logdir import disk
from segmend.logdir.as_user import user_of
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.logdir.seek import start_of
from segmend.logdir.user import User
from segmend.logdir.walk import Selection
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery import ops
from segmend.surgery.options import chosen
from segmend.surgery.plan import Plan
from segmend.surgery.planning.any_release import plan_for_any
from segmend.surgery.request import Request

if TYPE_CHECKING:
    import pyarrow as pa

OnProblem = Callable[[LogSegment, Problem], None]


def open(path: str | PathLike[str]) -> LogDir:
    """Open one log dir for reading; raises `SegmendError` if it cannot be listed."""
    return LogDir.open(fspath(path))


def check(
    *log_dirs: LogDir,
    level: Level = Level.DEFAULT,
    kafka: str | None = None,
    jobs: int = 1,
    as_user: str | None = None,
) -> CheckRun:
    """Check the log dirs of one broker: iterate the answer for findings, then see its `summary`.

    `kafka` chooses whose rules (`"4.3"`); without it the release is read off the dirs. `as_user` is whom the
    broker runs as (`"kafka"`, `"1000:1000"`), the owner of each dir if it is not given.
    """
    user = None if as_user is None else User.named(as_user)
    return CheckOfAny(_broker(log_dirs, kafka), level=level, jobs=jobs, user=user)


def forecast(
    *log_dirs: LogDir,
    kafka: str | None = None,
    clean: bool | None = None,
    deep: bool = False,
    as_user: str | None = None,
) -> Forecast:
    """What a broker with these log dirs, and no others, will do to them when it starts.

    Iterate the answer for its lines (`PartitionOutcome`, `DirOutcome`, ...), then see its `broker`.
    `clean` overrides the clean shutdown marker; `deep` also finds what consumers will not get; `as_user`
    is whom the broker runs as (`"kafka"`, `"1000:1000"`), the owner of most files if it is not given.
    """
    now = time.time_ns() // 1_000_000
    user, assumed = user_of(as_user, log_dirs)
    options = ForecastOptions(clean=clean, deep=deep, now_ms=now, user=user, user_assumed=assumed)
    return play(_broker(log_dirs, kafka), options)


def forecast_cluster(
    *log_dirs: LogDir,
    kafka: str | None = None,
    only: Collection[int] | None = None,
    zookeeper: Sequence[str] = (),
) -> ClusterForecast:
    """What becomes of a cluster whose brokers, or those of the node ids `only`, start over these dirs.

    Iterate the answer for its lines: `NodeOutcome`, `Quorum`, `Leadership`, and a last `ClusterOutcome`.
    `zookeeper` are the dataDir of its ZooKeeper, and its dataLogDir. Dirs of another cluster than most are
    named as unknown.
    """
    cluster = ClusterDirs(log_dirs, Release.parse(kafka) if kafka else None, strangers=True)
    brokers, told = with_zookeeper(cluster.brokers, zookeeper)
    nodes = Nodes(brokers, ForecastOptions(now_ms=time.time_ns() // 1_000_000))
    return ClusterForecast(nodes, only, cluster.unplaced, told)


def plan(operation: str, *log_dirs: LogDir, kafka: str | None = None, **options: object) -> Plan:
    """Plan surgery on all log dirs of one broker; nothing is touched. `Plan.render()` is the file to apply.

    Options as on the command line, `-` as `_`: `plan("move", a, b, partition=["orders-3"], to=b.path)`.
    Raises `UsageError` for what makes no sense, `SegmendError` for what cannot be read.
    """
    if operation not in ops.names():
        raise UsageError(f"no operation is called '{operation}'; there are {', '.join(ops.names())}")
    module = ops.operation(operation)
    try:
        asked = chosen(module.Options, options)
    except UsageError as error:
        raise UsageError(f"plan({operation!r}): {error}") from None
    request = Request(
        broker=_broker([LogDir.open(disk.real_path(log_dir.path)) for log_dir in log_dirs], kafka),
        given=[log_dir.path for log_dir in log_dirs],
        options=asked,
    )
    return plan_for_any(module.plan, request)


def _broker(log_dirs: Sequence[LogDir], kafka: str | None) -> BrokerDirs:
    return BrokerDirs(log_dirs, release=Release.parse(kafka) if kafka else None)


def records(
    source: PartitionDir | LogSegment,
    *,
    columns: Collection[str] | None = None,
    first_offset: int | None = None,
    last_offset: int | None = None,
    since: int | None = None,
    until: int | None = None,
    control: bool = False,
    on_problem: OnProblem | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of a segment, or of all segments of a partition, as pyarrow RecordBatches.

    Columns: offset, timestamp (ms, -1 none), timestamp_type, key, value, headers, leader_epoch,
    producer_id, producer_epoch, sequence, is_transactional, is_control, batch_position;
    `columns` takes some of them, which is faster, or key_size and value_size (-1 null). Offsets and
    times (ms) are inclusive. Transaction markers are left out unless `control`. What cannot be
    decoded is passed over and given to `on_problem`. Raises `SegmendError` without pyarrow (extra
    `arrow`) and for a file that cannot be read, `UsageError` for a column that is none.
    """
    arrow = _arrow()
    unknown = set(columns or ()) - arrow.RECORD_FIELDS.keys()
    if unknown:
        raise UsageError(
            f"no such column: {', '.join(sorted(unknown))}; have {', '.join(arrow.RECORD_FIELDS)}"
        )
    low, high = LONG_MIN, LONG_MAX
    selection = Selection(
        first_offset=low if first_offset is None else first_offset,
        last_offset=high if last_offset is None else last_offset,
        since=since,
        until=until,
    )
    return _records(source, arrow, columns, selection, control, on_problem)


def _records(
    source: PartitionDir | LogSegment,
    arrow: ModuleType,
    columns: Collection[str] | None,
    selection: Selection,
    control: bool,
    on_problem: OnProblem | None,
) -> Iterator[pa.RecordBatch]:
    wanted = WantedRecords.between(
        selection.first_offset, selection.last_offset, selection.since, selection.until,
        COLUMNS if columns is None else columns, control=control,
    )  # fmt: skip
    for segment in _segments(source, selection):
        if segment.log is not None:
            with segment.log.reader() as reader:
                yield from arrow.record_batches(
                    reader,
                    wanted,
                    BatchRange(
                        base_offset=segment.base_offset, start=start_of(segment.log, reader, selection)
                    ),
                    problems=_teller(segment, on_problem),
                )


def batches(
    source: PartitionDir | LogSegment, *, crc: bool = False, on_problem: OnProblem | None = None
) -> Iterator[pa.RecordBatch]:
    """The batch headers of a segment, or of all segments of a partition, as pyarrow RecordBatches.

    A row a batch: position, size_bytes, base_offset, last_offset, codec, producer_id and so on;
    `crc_ok` is null unless `crc`. Damage is passed over and given to `on_problem`. Raises
    `SegmendError` without pyarrow (extra `arrow`) and for a file that cannot be read.
    """
    return _batches(source, _arrow(), crc, on_problem)


def _batches(
    source: PartitionDir | LogSegment, arrow: ModuleType, crc: bool, on_problem: OnProblem | None
) -> Iterator[pa.RecordBatch]:
    for segment in _segments(source, Selection()):
        if segment.log is not None:
            with segment.log.reader() as reader:
                yield from arrow.batch_headers(
                    reader,
                    BatchRange(base_offset=segment.base_offset, crc=crc),
                    problems=_teller(segment, on_problem),
                )


def _segments(source: PartitionDir | LogSegment, selection: Selection) -> Iterator[LogSegment]:
    """The segments that can hold a wanted offset; raises `Unreadable` where they cannot be listed."""
    if isinstance(source, LogSegment):
        yield source
        return
    if source.unreadable is not None:
        raise source.unreadable
    for segment in source.segments:
        following = segment.next_base_offset
        if segment.base_offset <= selection.last_offset and (
            following is None or selection.first_offset < following
        ):
            yield segment


def _teller(segment: LogSegment, on_problem: OnProblem | None) -> Callable[[Problem], None] | None:
    return None if on_problem is None else lambda problem: on_problem(segment, problem)


def _arrow() -> ModuleType:
    """The door to the extra `arrow`: the core neither needs pyarrow nor waits for its import."""
    try:
        from segmend.kernel import arrow
    except ModuleNotFoundError as error:
        raise MissingExtra(f"records and batches as Arrow need {error.name}", "arrow") from None
    return arrow
