"""A graft put together: the replica, its leader, what a comparison of both says, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

from segmend.broker.sanity import TIME_INDEX
from segmend.errors import SegmendError
from segmend.formats import epoch_checkpoint, offset_checkpoint, partition_metadata, producer_snapshot
from segmend.formats.names import file_prefix
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.frozen import frozen, replace
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.logdir.witnesses import is_loadable
from segmend.surgery.counted import Counted
from segmend.surgery.derive.file_bytes import joined_leader_epochs, producer_snapshot_of
from segmend.surgery.derive.index_interval import interval_of
from segmend.surgery.derive.segment_indexes import rule_of
from segmend.surgery.derive.sources import producers_before
from segmend.surgery.ops.graft.decision import Pair, Splice, decide
from segmend.surgery.ops.graft.graft_steps import Graft
from segmend.surgery.ops.graft.lineage import compacted_by, forgotten, lines_up_to, newest_epoch, refuse_stale
from segmend.surgery.planning import assembly
from segmend.surgery.replicas.comparison import Comparison, compare
from segmend.surgery.replicas.derived import Derived, Indexes, derive
from segmend.surgery.replicas.joined_log import JoinedSegment, LogFile, join, whole
from segmend.surgery.replicas.leader import Leader
from segmend.surgery.replicas.recovery import refuse_unfinished, unflushed_from
from segmend.surgery.replicas.registered import Heard
from segmend.surgery.replicas.replica_log import ReplicaLog

Lines = Mapping[str, int | None]
"""The offset of the partition in each of the four checkpoints; None: no line."""


@frozen
class Site:
    """Where a replica is, or is to be: `target` is None if it is not there.

    `heard` is what the newest metadata at hand says of it.
    """

    log_dir: LogDir
    name: str
    target: PartitionDir | None
    leader: Leader
    release: Release
    heard: Heard | None

    @property
    def key(self) -> tuple[str, int]:
        return self.leader.key

    @property
    def same_id(self) -> bool:
        """Whether both have the same topic id; raises `SegmendError` if they have different ones."""
        mine = None if self.target is None else self.target.topic_id
        theirs = self.leader.partition.topic_id
        if mine is not None and theirs is not None and mine != theirs:
            raise SegmendError(
                f"{self.leader.path}: is of a topic with the id {theirs}, {self.log_dir.path}/{self.name} of "
                f"one with {mine}: two topics that had the same name"
            )
        return mine is not None and mine == theirs

    @property
    def has_forgotten_epochs(self) -> bool:
        """Whether the replica has leader epochs of a topic before, which the leader has forgotten."""
        return forgotten(self.target, self.leader.partition, self.heard)

    @property
    def first_dirty_offset(self) -> int:
        """Below it the cleaner of one of the brokers may have been at work."""
        return max(self.log_dir.cleaner_offsets.get(self.key, 0), self.leader.first_dirty_offset)


def look_at(
    site: Site, *, live: bool, whole_log: bool, tell: Callable[[int, int], None]
) -> tuple[Comparison, Splice | None]:
    """Read both replicas; raises `SegmendError` for what is no leader, `BrokerRunning`, `Unreadable`.

    `tell` is told (done, total) bytes of both, segment by segment.
    """
    for partition in (site.target, site.leader.partition):
        refuse_unfinished(partition)
    both = [partition for partition in (site.target, site.leader.partition) if partition is not None]
    progress = Counted(sum(partition.size for partition in both), tell)
    mine = ReplicaLog(()) if site.target is None else ReplicaLog.of(site.target, progress.add)
    theirs = ReplicaLog.of(site.leader.partition, progress.add)
    empty, high = site.target is None or site.target.size == 0, site.leader.limit(live=live)
    low = 0 if whole_log or empty else site.first_dirty_offset
    pair = Pair(
        target=f"{site.log_dir.path}/{site.name}", source=site.leader.path, leader=theirs,
        same_id=site.same_id, low=low, empty=empty, alone=site.leader.home is None,
    )  # fmt: skip
    compacted = compacted_by(site.leader)
    comparison = compare(mine, theirs, low=low, high=high, compacted=compacted)
    cut = decide(comparison, pair, whole=whole_log)
    if cut is not None and cut.kept is None and low:
        # All of it is copied, what was compacted too, and all that the replica has is replaced.
        comparison = compare(mine, theirs, low=0, high=high, compacted=compacted)
        cut = decide(comparison, replace(pair, low=0), whole=True)
    ends = (
        newest_epoch(site.target, comparison.target),
        newest_epoch(site.leader.partition, comparison.source),
    )
    refuse_stale(pair.target, pair.source, ends, comparison, site.heard)
    return comparison, cut


def make(site: Site, cut: Splice, tell: Callable[[int, int], None]) -> Graft:
    """All that the steps need; raises `Unreadable`, `SegmendError`.

    `tell` is told (done, total) bytes of what is read once more, segment by segment.
    """
    mine = [] if cut.kept is None else _logs(site.target)
    leader = site.leader.partition
    theirs = _logs(leader)
    segments = _joined(mine, theirs, cut)
    vouched = _vouched_from(site, cut, [log.base for log in mine])
    changed = [s for s in segments if s.copied is not None or _is_cut(s, mine) or s.base >= vouched]
    interval = interval_of(leader, leader.base_offsets, None)
    states = _states_before(site, cut, changed[0].base) if changed else ()
    rows = ((segment, _indexes(site, segment)) for segment in changed)
    progress, derived = Counted(sum(segment.size for segment in changed), tell), []
    for each in derive(rows, states, rule_of(site.release, interval)):
        derived.append(each)
        progress.add(each.segment.size)
    snapshots = list(_snapshots(site, cut))
    own = dict(_own(site, cut, derived, {offset for offset, _ in snapshots}))
    return Graft(
        log_dir=site.log_dir, name=site.name, source=leader, cut=cut,
        target=site.target if cut.kept is not None else None,
        replaced=site.target if cut.kept is None else None,
        derived=derived, interval=interval, snapshots=[entry for _, entry in snapshots], own=own,
        times=TIME_INDEX.of(site.release),
    )  # fmt: skip


def _vouched_from(site: Site, cut: Splice, bases: Sequence[int]) -> float:
    """The base offset from which on the graft answers for the segments that stay, and no start scans them.

    Kafka recovers those from the recovery point on (`LogLoader.recoverLog`); newer releases look at no index
    below it. Of none where a clean marker says that all is flushed, or where not all of them is proven.
    """
    first = unflushed_from(site.log_dir, site.key, bases)
    return first if first >= cut.proven else inf


def _logs(partition: PartitionDir | None) -> list[LogFile]:
    if partition is None:
        return []
    rows = sorted(partition.layout.logs.items())
    return [LogFile(base, f"{partition.path}/{name}", partition.files[name].size) for base, name in rows]


def _joined(mine: Sequence[LogFile], theirs: Sequence[LogFile], cut: Splice) -> list[JoinedSegment]:
    if cut.kept is None:
        return whole(theirs, cut.end, last_offset=cut.end_offset - 1)
    return join(
        mine, theirs, kept=cut.kept, copied_from=cut.copied_from, end=cut.end, offset=cut.offset,
        last_offset=cut.end_offset - 1,
    )  # fmt: skip


def _is_cut(segment: JoinedSegment, mine: Sequence[LogFile]) -> bool:
    return any(log.base == segment.base and log.size != segment.size for log in mine)


def _indexes(site: Site, segment: JoinedSegment) -> Indexes | None:
    """The leader's indexes of a segment that is copied whole; else None, and they are made anew."""
    original = next(
        (each for each in site.leader.partition.segments if each.base_offset == segment.base), None
    )
    part = segment.copied
    if original is None or original.log is None or part is None or segment.kept is not None:
        return None
    if part.path != original.log.path or part.start or part.end != original.log.size:
        return None
    if original.index is None or original.timeindex is None:
        return None
    return Indexes(offset=original.index.read(), time=original.timeindex.read())


def _states_before(site: Site, cut: Splice, base: int) -> tuple[ProducerStateEntry, ...]:
    """The producers before a segment: both logs are the same up to there."""
    at_hand = site.target if cut.kept is not None and site.target is not None else site.leader.partition
    known = [offset for offset, entry in at_hand.snapshots if offset <= base and is_loadable(entry)]
    return producers_before(at_hand, base, max(known, default=None))


def _snapshots(site: Site, cut: Splice) -> Iterator[tuple[int, FileEntry]]:
    """The leader's of offsets that the target gets."""
    for offset, entry in site.leader.partition.snapshots:
        above = cut.kept is None or offset > cut.offset
        if above and offset <= cut.end_offset and entry.parsed.padded and is_loadable(entry):
            yield offset, entry


def _own(
    site: Site, cut: Splice, derived: Sequence[Derived], snapshots: set[int]
) -> Iterator[tuple[str, bytes]]:
    """Small files by name: the epochs, the topic id where it is missing, the producers at the end."""
    source, target = site.leader.partition, site.target
    mine = [] if cut.kept is None or target is None else _epochs(target)
    theirs = _epochs(source)
    scans = [each.scan for each in derived]
    if mine and site.has_forgotten_epochs:
        data = lines_up_to(source, cut.end_offset)
    else:
        data = joined_leader_epochs(mine or theirs, theirs, scans, start=cut.offset, end=cut.end_offset)
    old = None if cut.kept is None or target is None else target.leader_epochs.data
    if data != old and (data or old is not None):
        yield epoch_checkpoint.FILE_NAME, data
    known = site.leader.partition.topic_id or (None if target is None else target.topic_id)
    if known is not None and (cut.kept is None or target is None or target.topic_id is None):
        yield partition_metadata.FILE_NAME, partition_metadata.render(PartitionMetadata(topic_id=known))
    states = derived[-1].scan.producers if derived else ()
    if states and cut.end_offset not in snapshots:
        yield (
            f"{file_prefix(cut.end_offset)}{producer_snapshot.SUFFIX}",
            producer_snapshot_of(states, site.release),
        )


def _epochs(partition: PartitionDir) -> list[tuple[int, int]]:
    loaded = partition.leader_epochs
    return [] if loaded.value is None or loaded.damages else [(e, start) for e, start in loaded.value.entries]


def lines(site: Site, cut: Splice, graft: Graft) -> Lines:
    """The partition's offsets in the checkpoints of its log dir.

    The recovery point goes up to the end if everything above the old one is proven, or written, and synced
    by this graft; else it stays, and an unclean start looks at those segments once more.
    """
    key, log_dir, leader = site.key, site.log_dir, site.leader
    kept = cut.kept is not None
    bases = [*(log.base for log in _logs(site.target) if kept), *(d.segment.base for d in graft.derived)]
    first = min(bases, default=0)
    start = max(leader.log_start_offset, log_dir.log_start_offsets.get(key, first) if kept else first)
    point = log_dir.recovery_points.get(key)
    changed = min((d.segment.base for d in graft.derived), default=cut.end_offset)
    synced = not kept or log_dir.is_clean or max(point or 0, first) >= changed
    mark = assembly.at_most(leader.high_watermark, cut.end_offset)
    if mark is None and kept:
        mark = assembly.at_most(log_dir.high_watermarks.get(key), cut.offset)
    dirty = (log_dir if kept else leader.home or log_dir).cleaner_offsets.get(key)
    limit = cut.offset if kept else cut.end_offset
    return {
        offset_checkpoint.RECOVERY_POINT: cut.end_offset if synced else assembly.at_most(point, cut.offset),
        offset_checkpoint.HIGH_WATERMARK: mark,
        offset_checkpoint.LOG_START_OFFSET: start if start > first else None,
        offset_checkpoint.CLEANER_OFFSET: assembly.at_most(dirty, limit) if kept or leader.home else None,
    }
