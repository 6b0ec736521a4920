"""Any table of a fleet as Arrow record batches: list, split, pack on the driver; read in a task.

`open_table` plans, `read` does the work of one task. Spark's data source and `scan` call
them, and so may anything else that can move a pickled value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Final
from uuid import uuid4

import pyarrow as pa

from segmend.checks import Level
from segmend.checks.runner import SCANNED_KINDS
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.gathered import gathered
from segmend.cluster.policies import Policies
from segmend.errors import UsageError
from segmend.fleet import columns, filling, rows
from segmend.fleet.damaged import DamageTally, few_of, tell_gone, tell_unread, tell_unseen, unreadable
from segmend.fleet.delta import AuditRun
from segmend.fleet.internal_topics import as_records, said
from segmend.fleet.listing import Place, brokers, find_places, refuse_others
from segmend.fleet.options import ReadOptions
from segmend.fleet.pack import pack, target_bytes
from segmend.fleet.plan import pack_shares
from segmend.fleet.ranges import ByteRange, ranges_of
from segmend.fleet.records import instead
from segmend.fleet.remote import listed_once
from segmend.fleet.schemas import DECODED
from segmend.fleet.selection import Found, WantedLog, doubts, lacking, reach, wanted_logs
from segmend.fleet.surroundings import Surroundings
from segmend.fleet.task import VANISHED, AuditJob, Share, Task, TaskPiece, gather
from segmend.formats.names import file_prefix
from segmend.formats.offset_checkpoint import LOG_START_OFFSET
from segmend.frozen import frozen
from segmend.grouping import grouped
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.wording import plural

BY_RANGE = ("batches", "records")
CONSUMED = ("records", "damage", *DECODED)
_OF_RECORDS: Final = 128 << 20
"""As much as Spark reads of files in one task: to write what it gives costs a task 0.1 s of CPU by itself."""
_NO_RUN = AuditRun(run_id="", number=0)


@frozen
class TableTask:
    """What one task reads: ranges of segments, or whole partitions."""

    options: ReadOptions
    ranges: tuple[ByteRange, ...] = ()
    task: Task | None = None
    read: str = ""
    """Names the read that it is of."""

    @property
    def name(self) -> tuple[str, str]:
        """Of the read, and the first place of the task's ranges, which none of its others has."""
        first = self.ranges[:1]
        return self.read, "".join(f"{each.place.path}/{each.log_name}:{each.start}" for each in first)

    @property
    def places(self) -> Iterator[Place]:
        """The log dirs that it may read, again and again."""
        for piece in self.ranges:
            yield piece.place
            yield from (other.place for other in piece.others)
        for share in self.task.shares if self.task else ():
            yield from share.places


Key = tuple[str | None, int, str, int, int]
"""(cluster id, broker, topic, partition, segment); the first "" where no disk tells it, None if unasked."""


def open_table(
    paths: Sequence[str],
    options: ReadOptions,
    *,
    cores: int,
    only: AbstractSet[Key] | None = None,
    again: bool = False,
) -> list[TableTask]:
    """The tasks of a read; UsageError when a path is not there or an option makes no sense.

    `only` restricts `batches` and `records` to these segments. `again` is a later batch of a stream, whose
    first look told what is not known.
    """
    _ = options.schema
    with listed_once(paths):
        places = find_places(paths)
        tell_unread(places, options.gone_mode)
        if options.table in columns.READERS:
            return _by_range(places, options, cores, only, again)
        return _by_partition(places, options, cores)


@frozen
class Reach:
    """How far the partitions of a read reach: the first offset of each, and the one behind its last."""

    firsts: dict[tuple[str, int], int]
    ends: dict[tuple[str, int], int]
    topic_ids: dict[str, str]
    """As the first partition of each topic tells it, if its files do."""
    unsure: tuple[str, ...]
    """In words: what is not known, and what is not read; nothing if that was not asked for."""
    nowhere: tuple[str, ...]
    """In words: what is named and not there; a pattern names nothing."""


def reached(paths: Sequence[str], options: ReadOptions, *, first: bool = False) -> Reach:
    """How far the partitions reach that a read of records wants; what is not known is for the `first` look.

    UsageError as `open_table`, and where a topic of several clusters would be one.
    """
    with listed_once(paths):
        places = find_places(paths)
        tell_unread(places, options.gone_mode)
        fleet = _Consumed(places, options)
        partitions = _partitions(places, options)
        current = [each for each in partitions if each[1].kind == "current" and fleet.takes(each[1])]
        wanted = wanted_logs(current, options)
        logs = {log.partition.key: log for log in wanted}
        if len(logs) < len(wanted):
            raise UsageError("these are log dirs of several clusters that have topics of the same names")
        reaches = {key: reach(log, options) for key, log in logs.items()}
        first_ones = {key[0]: log.partition for key, log in sorted(logs.items(), reverse=True)}
        return Reach(
            firsts={key: first for key, (first, _) in reaches.items()},
            ends={key: end for key, (_, end) in reaches.items()},
            topic_ids={topic: told for topic, each in first_ones.items() if (told := each.topic_id)},
            unsure=(*fleet.unsure(wanted),) if first else (),
            nowhere=(*options.without_patterns().nowhere(places, logs.keys()),),
        )


def _opened(places: Iterable[Place]) -> Iterator[tuple[Place, LogDir]]:
    return ((place, log_dir) for place in places if (log_dir := place.opened()) is not None)


def _partitions(places: Iterable[Place], options: ReadOptions) -> Iterator[tuple[Place, PartitionDir]]:
    for place, log_dir in _opened(places):
        for partition in log_dir.partitions:
            if options.wants(place.broker, partition.topic, partition.partition):
                yield place, partition


def _by_range(
    places: Sequence[Place],
    options: ReadOptions,
    cores: int,
    only: AbstractSet[Key] | None,
    again: bool,
) -> list[TableTask]:
    kinds = _kinds(options.table)
    partitions, fleet = list(_partitions(places, options)), _Consumed(places, options)
    logs_wanted = [(place, p) for place, p in partitions if p.kind in kinds and fleet.takes(p)]
    logs = wanted_logs(logs_wanted, options)
    target = _target(sum(log.partition.size for log in logs), options, cores)
    whole = 1 << 62 if options.table == "index_entries" else target
    tell_gone(fleet.gone(), options.gone_mode)
    if only is None and not again:
        tell_gone(fleet.unsure(logs), options.mode)
    tell_gone(
        (words for log in logs if options.consumes for words in lacking(log, options, len(logs))),
        options.gone_mode,
    )
    tell_gone(_unread((partition for _, partition in logs_wanted), options), options.gone_mode)
    tell_gone(options.nowhere(places, {log.partition.key for log in logs}), options.gone_mode)
    pieces: Iterator[ByteRange] = (
        each
        for log in logs
        for segment in log.partition.segments
        for each in ranges_of(
            segment, log.place, target=whole, wanted=log.wanted, others=log.others,
            compacted=fleet.compacts(log.partition.topic),
        )
    )  # fmt: skip
    if only is not None:
        untold = _untold(only, places)
        tell_gone(_gone(only, untold, partitions, options), options.mode)
        pieces = (each for each in pieces if _key(each.place, each, each.base_offset, untold) in only)
    packed = pack(pieces, cores=max(cores, options.min_partitions), target=target)
    ranges, name = (tuple(sorted(each, key=lambda r: r.order)) for each in packed), uuid4().hex
    return [TableTask(options=options, ranges=each, read=name) for each in ranges]


class _Consumed:
    """What the log dirs of a read for records know besides the logs: of other tables nothing is asked."""

    def __init__(self, places: Sequence[Place], options: ReadOptions) -> None:
        self._options = options
        opened = _opened(places) if options.table in CONSUMED else ()
        groups = grouped(opened, lambda each: each[0].cluster_id).items()
        self._fleets = {cluster: FleetDirs(each for _, each in group) for cluster, group in groups}
        kinds = _kinds(options.table)
        replicas = (gathered(fleet, kinds=kinds).groups.values() for fleet in self._fleets.values())
        self._taken = {each.path for groups in replicas for partitions in groups for each in partitions}

    @cached_property
    def compacts(self) -> Policies:
        """What tells whether a topic is compacted."""
        return Policies(self._fleets.values(), [ServerConfig.load(path) for path in self._options.config])

    @cached_property
    def _around(self) -> dict[str | None, Surroundings]:
        whole = not self._options.brokers
        return {
            cluster: Surroundings(fleet, self._wants, whole=whole) for cluster, fleet in self._fleets.items()
        }

    def _wants(self, key: tuple[str, int]) -> bool:
        return self._options.wants(-1, *key)

    def takes(self, partition: PartitionDir) -> bool:
        """As in a rescue, no link to the directory of another partition, and each directory once."""
        return not self._fleets or partition.path in self._taken

    def gone(self) -> Iterator[str]:
        """The partitions that are wanted and in none of the log dirs, in words."""
        return (words for around in self._around.values() for words in around.gone().values())

    def unsure(self, logs: Iterable[WantedLog]) -> Iterator[str]:
        """What is not known of these logs, in words, and what beside them is not read."""
        for around in self._around.values():
            yield from around.unsure()
        groups = grouped(logs, lambda log: (log.place.cluster_id, log.partition.key))
        beyond: dict[str, list[str]] = {}
        for (cluster, key), group in groups.items() if self._options.consumes else ():
            listed, same = doubts(group, self._around[cluster].elsewhere(key))
            yield from listed
            for words in same:
                beyond.setdefault(words, []).append(group[0].partition.name)
        yield from (f"{few_of(names)}: {words}" for words, names in beyond.items())


def _unread(partitions: Iterable[PartitionDir], options: ReadOptions) -> Iterator[str]:
    """In words: what was refused of that whose rows are wanted, or says which records were deleted."""
    dirs: dict[str, LogDir] = {}
    for each in partitions:
        dirs[each.log_dir.path] = each.log_dir
        if each.unreadable is not None:
            yield f"{each.unreadable}; no row comes from there"
    for log_dir in dirs.values() if options.consumes and not options.aged else ():
        refused = log_dir.offset_checkpoint(LOG_START_OFFSET).unreadable
        if refused is not None:
            yield f"{refused}; records that were deleted may be among the rows"


def _untold(only: AbstractSet[Key], places: Iterable[Place]) -> bool:
    """Whether the segments do not say their cluster; UsageError where that leaves open which they are."""
    untold = any(cluster is None for cluster, *_ in only)
    if untold and len({place.cluster_id for place in places} - {None}) > 1:
        raise UsageError("these are log dirs of several clusters: the segments must say their cluster_id")
    return untold


def _key(place: Place, of: ByteRange | PartitionDir, base_offset: int, untold: bool) -> Key:
    return None if untold else place.cluster_id or "", place.broker, of.topic, of.partition, base_offset


def _gone(
    only: AbstractSet[Key], untold: bool, partitions: Iterable[Found], options: ReadOptions
) -> Iterator[str]:
    """In words: segments that were named and are not there, as where a broker deleted them meanwhile."""
    there = {
        _key(place, partition, segment.base_offset, untold)
        for place, partition in partitions
        for segment in partition.segments
        if segment.log is not None
    }
    left = sorted(key[1:] for key in only - there if options.wants(*key[1:4]))
    for (broker, topic, partition), same in groupby(left, itemgetter(0, 1, 2)):
        first, *others = (f"{file_prefix(base_offset)}.log" for *_, base_offset in same)
        more = f" and {plural(len(others), 'other segment')}" if others else ""
        name = f"broker {broker}: {topic}-{partition}/{first}{more}"
        yield f"{name}: in none of these log dirs; no row comes of it"


def _kinds(table: str) -> frozenset[str]:
    if table not in CONSUMED:
        return SCANNED_KINDS
    return frozenset({"cluster-metadata" if table == "cluster_metadata" else "current"})


def _target(total: int, options: ReadOptions, cores: int) -> int:
    target = options.split_bytes or target_bytes(total, cores)
    if options.table == "records" and not options.split_bytes:
        target = max(target, min(_OF_RECORDS, total // max(1, cores)))
    return target if options.min_partitions == 1 else max(1, min(target, -(-total // options.min_partitions)))


def _by_partition(places: Sequence[Place], options: ReadOptions, cores: int) -> list[TableTask]:
    job = AuditJob(
        out="",
        run=_NO_RUN,
        level=Level.DEEP if options.crc else options.level,
        findings=options.table == "findings",
        digests=options.table == "partitions",
        scans=False,
    )
    there: set[tuple[str, int]] = set()

    def shares() -> Iterator[Share]:
        for group in brokers(places).values():
            partitions = list(_partitions(group, options))
            tell_gone(_unread((partition for _, partition in partitions), options), options.mode)
            there.update(partition.key for _, partition in partitions)
            share = _share(group, partitions, options)
            if share.pieces:
                yield share

    packed = list(pack_shares(shares(), cores=cores, target=options.split_bytes))
    tell_gone(options.nowhere(places, there), options.mode)
    return [TableTask(options=options, task=Task(job=job, shares=tuple(each))) for each in packed]


def _share(group: Sequence[Place], wanted: Iterable[Found], options: ReadOptions) -> Share:
    """What is wanted of one broker."""
    broker = group[0].broker
    pieces = [
        TaskPiece(log_dir_id=place.log_dir_id, name=p.name, bytes=p.size, files=len(p.entries))
        for place, p in wanted
    ]
    if not options.chooses_topics and (not options.brokers or broker in options.brokers):
        pieces.append(TaskPiece(log_dir_id=group[0].log_dir_id, name=None, bytes=0, files=len(group)))
    release = BrokerDirs(log_dir for _, log_dir in _opened(group)).guess
    return Share(release=release, places=tuple(group), pieces=tuple(pieces))


def read(work: TableTask) -> Iterator[pa.RecordBatch]:
    """The rows of one task. Bad bytes and vanished files give fewer rows, a vanished log dir an error."""
    with listed_once(place.path for place in work.places):
        yield from _read(work)


def _read(work: TableTask) -> Iterator[pa.RecordBatch]:
    options = work.options
    refuse_others(work.places)
    if work.task is not None:
        gathered = gather(work.task)
        gone = [path for words, path in gathered.unseen if words == VANISHED]
        told = _told_by_plan(work.task).union(gone)
        tell_unseen((path for path in gathered.unreadable if path not in told), gone)
        table = rows.table(options.table, gathered.rows[options.table])
        yield from table.select(options.schema.names).to_batches()
        return
    tally = DamageTally(options.mode, options.gone_mode, work.name)
    filling.forget()
    for piece in work.ranges:
        try:
            with piece.file(".log").reader() as reader:
                yield from columns.READERS[options.table](piece, reader, options, tally.report)
        except Unreadable as error:
            # It is a finding (K14b) of `findings`; the other files go on.
            yield from _unreadable(piece, error, options, tally)
    tally.tell()


def _told_by_plan(task: Task) -> set[str]:
    """Directories: those that are refused were told when they were listed."""
    pieces = ((share, piece) for share in task.shares for piece in share.pieces if piece.name is not None)
    paths = {place.path for share in task.shares for place in share.places}
    return paths | {
        f"{place.path}/{piece.name}"
        for share, piece in pieces
        for place in share.places
        if place.log_dir_id == piece.log_dir_id
    }


def _unreadable(
    piece: ByteRange, error: Unreadable, options: ReadOptions, tally: DamageTally
) -> Iterator[pa.RecordBatch]:
    """A log that cannot be opened is told once, by its first range; it may have gone after that was read."""
    last = None if piece.next_base is None else piece.next_base - 1
    damage = unreadable(piece, error, piece.base_offset, last)
    if piece.start != piece.begin:
        if error.missing:
            tally.report(damage)
        return
    if options.table not in CONSUMED:
        tally.report(damage)
    elif options.table == "records":
        yield from instead(damage, options, tally.report)
    elif options.consumes:
        yield from said(instead(damage, as_records(options), tally.report), piece, options)
    else:
        damage_table = rows.table("damage", [columns.damage_row(damage)])
        yield from damage_table.select(options.schema.names).to_batches()
