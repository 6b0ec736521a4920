"""Any table of a fleet as Arrow record batches: list, split, pack on the driver; read in a task.

`open_table` plans, `read` does the work of one task. Spark's data source and `scan` call
them, and so may anything else that can move a pickled value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

import pyarrow as pa

from segmend.checks import Level
from segmend.fleet import columns, rows
from segmend.fleet.delta import AuditRun
from segmend.fleet.listing import Place, brokers, find_places
from segmend.fleet.options import Options
from segmend.fleet.pack import pack, target_bytes
from segmend.fleet.plan import pack_shares
from segmend.fleet.ranges import Range, ranges_of
from segmend.fleet.task import AuditJob, Piece, Share, Task, gather
from segmend.frozen import frozen
from segmend.logdir.file_system import Unreadable
from segmend.logdir.tail import last_timestamp
from segmend.logdir.tree import LogDir, LogSegment, PartitionDir
from segmend.node.broker_dirs import BrokerDirs

BY_RANGE = ("batches", "records")
READ_KINDS = frozenset({"current", "future", "stray", "cluster-metadata"})
_NO_RUN = AuditRun(run_id="", number=0)


@frozen
class TableTask:
    """What one task reads: ranges of segments, or whole partitions."""

    options: Options
    ranges: tuple[Range, ...] = ()
    task: Task | None = None


Key = tuple[int, str, int, int]
"""(broker, topic, partition, segment)."""


def open_table(
    paths: Sequence[str], options: Options, *, cores: int, only: AbstractSet[Key] | None = None
) -> list[TableTask]:
    """The tasks of a read; UsageError when a path is not there or an option makes no sense.

    `only` restricts `batches` and `records` to these segments.
    """
    _ = options.schema
    places = find_places(paths)
    if options.table in BY_RANGE or options.table == "index_entries":
        return _by_range(places, options, cores, only)
    return _by_partition(places, options, cores)


def _opened(places: Iterable[Place]) -> Iterator[tuple[Place, LogDir]]:
    return ((place, found) for place in places if (found := place.opened()) is not None)


def _partitions(places: Iterable[Place], options: Options) -> Iterator[tuple[Place, PartitionDir]]:
    for place, log_dir in _opened(places):
        for partition in log_dir.partitions:
            if options.wants(place.broker, partition.topic, partition.partition):
                yield place, partition


def _by_range(
    places: Sequence[Place], options: Options, cores: int, only: AbstractSet[Key] | None
) -> list[TableTask]:
    kinds = {"current"} if options.table == "records" else READ_KINDS
    found = [(place, p) for place, p in _partitions(places, options) if p.kind in kinds]
    total = sum(partition.size for _, partition in found)
    target = options.split_bytes or target_bytes(total, cores)
    pieces: Iterable[Range]
    pieces = chain.from_iterable(_ranges(place, partition, options, target) for place, partition in found)
    if only is not None:
        pieces = (r for r in pieces if (r.place.broker, r.topic, r.partition, r.base_offset) in only)
    packed = pack(pieces, cores=cores, target=target)
    return [TableTask(options=options, ranges=tuple(ranges)) for ranges in packed]


def _ranges(place: Place, partition: PartitionDir, options: Options, target: int) -> Iterator[Range]:
    low = options.low or 0
    if options.table == "records" and not options.aged:
        key = (partition.topic, partition.partition)
        low = max(low, partition.log_dir.log_start_offsets.get(key, 0))
    whole = 1 << 62 if options.table == "index_entries" else target
    for segment in partition.segments:
        if _overlaps(segment, low, options):
            yield from ranges_of(segment, place, target=whole, low=low)


def _overlaps(segment: LogSegment, low: int, options: Options) -> bool:
    """Whether names and time index leave room for what is wanted."""
    following = segment.next_base_offset
    if following is not None and following <= low:
        return False
    if options.high is not None and segment.base_offset >= options.high:
        return False
    if options.since is None or following is None:
        return True
    try:
        newest = last_timestamp(segment.timeindex)
    except Unreadable:
        return True
    return newest < 0 or newest >= options.since


def _by_partition(places: Sequence[Place], options: Options, cores: int) -> list[TableTask]:
    job = AuditJob(
        out="",
        run=_NO_RUN,
        level=Level.DEEP if options.crc else options.level,
        findings=options.table == "findings",
        digests=options.table == "partitions",
    )
    shares = (share for group in brokers(places).values() if (share := _share(group, options)).pieces)
    packed = pack_shares(shares, cores=cores, target=options.split_bytes)
    return [TableTask(options=options, task=Task(job=job, shares=tuple(found))) for found in packed]


def _share(group: Sequence[Place], options: Options) -> Share:
    """What is wanted of one broker."""
    broker = group[0].broker
    pieces = [
        Piece(log_dir_id=place.log_dir_id, name=p.name, bytes=p.size, files=len(p.entries))
        for place, p in _partitions(group, options)
    ]
    if not options.topics and not options.partitions and (not options.brokers or broker in options.brokers):
        pieces.append(Piece(log_dir_id=group[0].log_dir_id, name=None, bytes=0, files=len(group)))
    release = str(BrokerDirs(log_dir for _, log_dir in _opened(group)).release)
    return Share(release=release, places=tuple(group), pieces=tuple(pieces))


def read(work: TableTask) -> Iterator[pa.RecordBatch]:
    """The rows of one task. Bad bytes and vanished files give fewer rows, never an exception."""
    options = work.options
    if work.task is not None:
        found = gather(work.task).rows[options.table]
        yield from rows.table(options.table, found).select(options.schema.names).to_batches()
        return
    for piece in work.ranges:
        try:
            with piece.file(".log").reader() as reader:
                yield from columns.READERS[options.table](piece, reader, options)
        except Unreadable:
            # It is a finding (K14b) of `findings`; the other files go on.
            continue
