"""Dirs that were not there when their broker last ran with them: an older copy, or a disk that was away.

A KRaft node's own metadata tells when each dir was last in use (`runs`): a marker, checkpoints or leader
epochs of before are those of an older copy; a dir that is as a stop in order left it was only away. Where the
node was killed, what was written in the last seconds before leaves no other trace: of a dir that was away
since, nobody can tell then whether it is the same. Without metadata the dirs are held against each other
(`dir_times`). Seen on 1.1.0, 2.8.2, 3.9.2, 4.3.1: the broker takes its logs as they are, killed and stopped.
The metadata of another node tells the same of its dirs, for whoever reads them without starting it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from segmend.broker.checkpoints import BROKER_EPOCHS
from segmend.formats.clean_shutdown import FILE_NAME as MARKER
from segmend.formats.epoch_checkpoint import FILE_NAME as EPOCHS
from segmend.formats.java_number import LONG_MAX
from segmend.formats.meta_properties import FILE_NAME as IDENTITY
from segmend.formats.names import CLUSTER_METADATA
from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.frozen import frozen, replace
from segmend.kernel.scan import iter_batches
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.logdir.scans import plain_scan
from segmend.logdir.stops import as_it_ran
from segmend.node.dir_times import (
    AT_ONCE,
    INTERVAL,
    S,
    checkpoint_times,
    copied_anew,
    copied_running,
    is_younger,
    last_append,
    time_of,
    written_earlier,
)
from segmend.node.metadata_image import MetadataImage
from segmend.node.metadata_log import MetadataLog
from segmend.node.older import newest_of_topic
from segmend.node.runs import Ended, Use

STOPPED_EARLIER: Final = (
    "the marker has broker epoch {}, that of {} has {}: this dir was not there when the broker last stopped, "
    "so it is an older copy (a snapshot?) or was not mounted"
)
WRITTEN_EARLIER: Final = (
    "its checkpoints were last written {:,} s before those of {}, and a broker writes them all in one go: "
    "this dir is an older copy (a snapshot?), or was not mounted when the broker last ran, or that one was "
    "mended since"
)
AWAY: Final = (
    "the broker ran without this dir since (under broker epoch {}); it is as the stop under {} left it: the "
    "disk was away, and nobody wrote to its replicas meanwhile"
)
_AWAY_KILLED: Final = (
    "the broker ran without this dir since (under broker epoch {}), and it is not as a stop in order leaves "
    "one: nothing on these disks tells whether it is as the run before (under {}) left it, or a copy of some "
    "seconds before that, or of longer if times were set"
)
FAILED: Final = (
    "the broker went on without this dir (under broker epoch {}): it failed, and is as it was then; a copy "
    "of up to two minutes before looks the same"
)
_OLDER: Final = "by the metadata {}: this dir is an older copy (a snapshot?)"
_MARKED: Final = "the broker ran with it under broker epoch {}, and the marker is of a stop under {}"
_LED: Final = "{} was led here in epoch {}, and its log knows of none after {}"
_RUNNING: Final = (
    "{}, and {} has the marker of a stop in order: this dir was not there then, so it is a copy of while the "
    "broker ran, or failed before, or was not mounted"
)
_ANEW: Final = (
    "all its files are younger than what was last written to {}: a copy that kept no times, and nobody can "
    "tell of which moment"
)
_WRITTEN: Final = "it was in use {:,} s after its checkpoints were last written"
_BEHIND: Final = (
    "its own copy of the metadata ends at offset {}, and it was in use {:,} s after more was written: this "
    "dir is an older copy (a snapshot?)"
)
_ANEW_BESIDE: Final = (
    "all its files are younger than what {} tells of its broker: a copy that kept no times, and nobody can "
    "tell of which moment"
)
_UNTOLD: Final = "no file of it tells of which moment it is"


_MS: Final = 1_000_000


class Kind(StrEnum):
    """What a dir of an earlier run is."""

    OLDER = "an older copy, or one of which nobody can tell"
    ANEW = "a copy that kept no times"
    AWAY = "away meanwhile: nothing is known to have been written to its replicas since"
    UNTOLD = "nothing tells"


@frozen
class EarlierDir:
    """A dir of an earlier run than another: why, in which of its files that stands, and what that means.

    `proven`: the metadata or the markers say so, not the times of another dir. `epochs` are the broker epochs
    of its marker and of the newest marker.
    """

    words: str
    file: str = MARKER
    kind: Kind = Kind.OLDER
    proven: bool = True
    epochs: tuple[int, int] | None = None

    @property
    def untold(self) -> EarlierDir:
        """The same, where nothing tells."""
        return replace(self, kind=Kind.UNTOLD)

    @property
    def complete(self) -> bool:
        """Whether its replicas are taken to have all that they should have."""
        return self.kind is Kind.AWAY


def earlier_dirs(
    dirs: Sequence[LogDir],
    release: Release,
    config: ServerConfig,
    metadata: tuple[MetadataLog, LogDir] | None,
    node_id: int | None,
    copies: Mapping[str, MetadataLog] | None = None,
) -> Mapping[str, EarlierDir]:
    """By path, the dirs that were not there when the broker last ran.

    `metadata` is the node's own copy, and the dir in which it lies. Of that of another node, `copies` are its
    own ones by the dirs in which they lie; then those of which nothing tells are given as well.
    """
    interval = max(config.number(INTERVAL) // 1000, 5) * S
    beside: dict[str, EarlierDir] = {}
    by_others: dict[str, EarlierDir] = {}
    for group in _of_one_broker(dirs):
        running = {
            path: EarlierDir(words=_RUNNING.format(*shown), proven=False)
            for path, shown in copied_running(group).items()
        }
        beside |= running
        by_others |= {**running, **_by_times(group, interval), **_stopped_earlier(group, release)}
    if metadata is None or node_id is None or not metadata[0].whole:
        return by_others
    log, home = metadata
    newest = max((epoch for each in dirs if (epoch := _marker_epoch(each)) is not None), default=-1)
    if newest > log.image.runs.epochs.get(node_id, -1):
        return by_others  # The metadata is older itself.
    earlier = {}
    ahead = _ahead_of_files(log, home)
    for each in dirs:
        served = log.image.runs.of(node_id, each.directory_id)
        if served is None or not _are_one(_whose(each), (_whose(home)[0], node_id)):
            told = by_others.get(each.path)
            if told is None and copies is not None:
                told = EarlierDir(words=_UNTOLD, file=IDENTITY, kind=Kind.UNTOLD, proven=False)
        else:
            group = [other for other in dirs if _are_one(_whose(each), _whose(other))]
            left = _AsLeft(each, log, node_id, *served, ahead=ahead, interval=interval, group=group)
            told = left.told(by_others.get(each.path), beside.get(each.path))
            if copies is not None and (told is None or told.complete):
                told = left.beside(home, copies.get(each.path)) or told
        if told is not None:
            earlier[each.path] = told
    return earlier


def _whose(log_dir: LogDir) -> tuple[str | None, int | None]:
    """Of which cluster and node its meta.properties says that it is."""
    return log_dir.cluster, log_dir.node_id


def _are_one(one: tuple[str | None, int | None], other: tuple[str | None, int | None]) -> bool:
    """Whether both may be the same broker."""
    return all(mine is None or its is None or mine == its for mine, its in zip(one, other, strict=True))


def _of_one_broker(dirs: Sequence[LogDir]) -> Iterator[list[LogDir]]:
    """The dirs by the brokers that they are of; one that does not say it may be any's.

    When another broker wrote tells nothing of this one, which refuses beside such a dir.
    """
    brokers = {whose for each in dirs if None not in (whose := _whose(each))} or {*map(_whose, dirs)}
    for broker in sorted(brokers, key=str):
        yield [each for each in dirs if _are_one(_whose(each), broker)]


def _by_times(dirs: Sequence[LogDir], interval: int) -> Mapping[str, EarlierDir]:
    anew = {
        path: EarlierDir(words=_ANEW.format(other), file=IDENTITY, kind=Kind.ANEW, proven=False)
        for path, other in copied_anew(dirs).items()
    }
    return {**anew, **_written_earlier(dirs, interval)}


def _written_earlier(
    dirs: Sequence[LogDir], interval: int, until: int | None = None
) -> Mapping[str, EarlierDir]:
    return {
        path: EarlierDir(words=WRITTEN_EARLIER.format(*since), file=HIGH_WATERMARK, proven=False)
        for path, since in written_earlier(dirs, interval, until).items()
    }


class _AsLeft:
    """One dir, beside the last run that had it in use."""

    def __init__(
        self,
        log_dir: LogDir,
        log: MetadataLog,
        node_id: int,
        service: Use,
        begun: int,
        *,
        ahead: int,
        interval: int,
        group: Sequence[LogDir],
    ) -> None:
        self._dir, self._image, self._node_id, self._service = log_dir, log.image, node_id, service
        self._interval, self._group = interval, group
        self._marks = 2 * interval
        self._failed_since = begun > service.epoch
        self._until = max(0, ((service.until or 0) - ahead)) * _MS
        self._since = log.image.runs.epochs[node_id] > service.epoch and not self._failed_since

    def told(self, by_others: EarlierDir | None, beside: EarlierDir | None) -> EarlierDir | None:
        """What is to be said of it; `by_others`: what other dirs tell, `beside`: what their marker does."""
        epoch, own = _marker_epoch(self._dir), self._service.epoch
        epochs = None if by_others is None else by_others.epochs
        if not self._dir.current:
            return None
        if epoch is not None and epoch < own:
            return EarlierDir(words=_OLDER.format(_MARKED.format(own, epoch)), epochs=epochs)
        last = self._image.runs.epochs[self._node_id]
        if epoch is None:
            older = self._led_since() or self._written_since() or self._behind_others()
            if older is not None:
                return older
            if beside is not None and self._was_stopped:
                return replace(beside, proven=True)
            if by_others is not None and (self._is_anew(by_others) or not self._is_as_left()):
                return by_others
            if self._service.end is Ended.LEFT and not self._since and not self._failed_since:
                return EarlierDir(words=FAILED.format(last), kind=Kind.AWAY)
        if not self._since:
            return None
        if epoch is None and not (self._was_stopped and as_it_ran(self._dir) is None):
            return EarlierDir(words=_AWAY_KILLED.format(last, own))
        return EarlierDir(words=AWAY.format(last, own), kind=Kind.AWAY, epochs=epochs)

    def beside(self, home: LogDir, copy: MetadataLog | None) -> EarlierDir | None:
        """What the metadata of another node in `home` tells more, and the `copy` of it that this dir has.

        That tells of the moment of this dir where its files lost their times.
        """
        if not self._dir.current or _marker_epoch(self._dir) == self._service.epoch:
            return None
        if copy is not None and copy.whole:
            return self._metadata_behind(home, copy)
        if not self._dir.device or not checkpoint_times(self._dir):
            return EarlierDir(words=_UNTOLD, file=IDENTITY, kind=Kind.UNTOLD, proven=False)
        if not is_younger(self._dir, self._until + AT_ONCE):
            return None
        if times_were_lost(home, self._image):
            return EarlierDir(words=_UNTOLD, file=IDENTITY, kind=Kind.UNTOLD, proven=False)
        words = _ANEW_BESIDE.format(f"the metadata in {home.path}")
        return EarlierDir(words=words, file=IDENTITY, kind=Kind.ANEW, proven=False)

    def _metadata_behind(self, home: LogDir, copy: MetadataLog) -> EarlierDir | None:
        if self._until - copy.image.runs.time * _MS <= self._margin:
            return None
        end = copy.position[1]
        late = self._until - _first_behind(home, end) * _MS
        if late <= self._margin:
            return None  # Nothing was written to the metadata meanwhile, as up to 3.2 on a quiet cluster.
        return EarlierDir(words=_BEHIND.format(end, late // S), file=CLUSTER_METADATA)

    @property
    def _was_stopped(self) -> bool:
        return self._service.end is Ended.IN_ORDER and not self._failed_since

    def _led_since(self) -> EarlierDir | None:
        """By the leader epochs: none of its logs has the last one in which this node led it.

        A start that fails drops epochs without a record (`LogLoader`), so after one they tell nothing.
        """
        behind = None
        for partition in () if self._failed_since else self._dir.current:
            topic_id = self._image.ids.get(partition.topic)
            leader = self._image.leaders.get((topic_id or "", partition.partition))
            if topic_id is None or partition.topic_id != topic_id or leader is None:
                continue
            own = newest_of_topic(partition, self._image)
            if leader.led[0] != self._node_id or own < 0 or self._was_written_anew(partition):
                continue
            own = own if own >= leader.led[1] else max(own, _last_written(partition))
            if own >= leader.led[1]:
                return None
            words = _OLDER.format(_LED.format(partition.name, leader.led[1], own))
            behind = behind or EarlierDir(words=words, file=f"{partition.name}/{EPOCHS}")
        return behind

    def _was_written_anew(self, partition: PartitionDir) -> bool:
        """Whether only the epochs were written since, as who mends them does."""
        log = time_of(partition.segments[-1].log) if partition.segments else None
        epochs = time_of(partition.leader_epochs.entry)
        late = self._until + AT_ONCE
        return epochs is not None and epochs > late and log is not None and log <= late

    def _written_since(self) -> EarlierDir | None:
        late = self._until - self._last_write()
        if self._margin < late <= AT_ONCE and self._service.end is Ended.UNTOLD:
            late = min(late, self._until - last_append(self._dir))  # its disk hung
        if late <= self._margin or not self._dir.device:
            return None
        return EarlierDir(words=_OLDER.format(_WRITTEN.format(late // S)), file=HIGH_WATERMARK)

    def _behind_others(self) -> EarlierDir | None:
        """By the checkpoints of dirs that were killed with it, which nobody has mended since."""
        if self._service.end is not Ended.UNTOLD or self._since or self._failed_since:
            return None
        return _written_earlier(self._group, self._interval, self._until).get(self._dir.path)

    def _last_write(self) -> int:
        """When its checkpoints were last written; as it stops, the high watermarks are."""
        times = checkpoint_times(self._dir)
        if not times:
            return self._until
        return times[0] if self._service.end is Ended.IN_ORDER else max(times)

    @property
    def _margin(self) -> int:
        """By then the high watermarks were written at the latest, if it ran so long.

        A node is fenced some time after it was killed, and a dir fails that perhaps hung before.
        """
        if self._service.end is Ended.IN_ORDER:
            return self._marks
        ran = self._until - self._service.since * _MS
        return self._marks if self._service.end is Ended.UNTOLD and ran > self._marks else AT_ONCE

    def _is_anew(self, by_others: EarlierDir) -> bool:
        """Whether all its files are younger than that run, too."""
        return by_others.kind is Kind.ANEW and is_younger(self._dir, self._until + AT_ONCE)

    def _is_as_left(self) -> bool:
        """Whether its checkpoints are of the end of its last run."""
        return abs(self._until - self._last_write()) <= AT_ONCE


def _marker_epoch(log_dir: LogDir) -> int | None:
    marker = log_dir.clean_shutdown.value
    epoch = None if marker is None else marker.broker_epoch
    return None if epoch is None or epoch < 0 else epoch


def _ahead_of_files(log: MetadataLog, home: LogDir) -> int:
    """How far (ms) the clock of who leads the metadata is at least ahead of that of the files here."""
    partition = home.cluster_metadata
    time = time_of(partition.segments[-1].log) if partition is not None and partition.segments else None
    return 0 if time is None else max(0, log.image.runs.time - time // _MS)


def times_were_lost(home: LogDir, image: MetadataImage) -> bool:
    """Whether the log of the metadata is younger than its last record."""
    partition = home.cluster_metadata
    time = time_of(partition.segments[-1].log) if partition is not None and partition.segments else None
    return not home.device or time is None or time > image.runs.time * _MS + AT_ONCE


def _first_behind(home: LogDir, end: int) -> int:
    """When (ms) the first batch from this offset on was written to the metadata there; "never" is 2^63."""
    partition = home.cluster_metadata
    for segment in () if partition is None else partition.segments:
        if segment.log is None or (segment.next_base_offset or end + 1) <= end:
            continue
        try:
            with segment.log.reader() as reader:
                for batch in iter_batches(reader):
                    if batch.last_offset >= end:
                        return batch.max_timestamp
        except Unreadable:
            continue
    return LONG_MAX


def _last_written(partition: PartitionDir) -> int:
    """The leader epoch of the last batch; -1 without one."""
    segment = partition.segments[-1] if partition.segments else None
    if segment is None or segment.log is None:
        return -1
    try:
        epochs = plain_scan(segment.log, base_offset=segment.base_offset).epochs
    except Unreadable:
        return -1
    return max((epoch for epoch, _ in epochs), default=-1)


def _stopped_earlier(dirs: Sequence[LogDir], release: Release) -> Mapping[str, EarlierDir]:
    """By path, dirs whose marker is of an earlier stop than another's.

    A broker stops under one epoch and writes it into every dir that it has.
    """
    if not BROKER_EPOCHS.of(release):
        return {}
    # One that the broker cannot read ends its start, as is said elsewhere.
    epochs = {each.path: _marker_epoch(each) for each in sorted(dirs, key=lambda each: each.path)}
    stops = {path: epoch for path, epoch in epochs.items() if epoch is not None}
    newest = max(stops, key=stops.__getitem__, default="")
    return {
        path: EarlierDir(
            words=STOPPED_EARLIER.format(epoch, newest, stops[newest]), epochs=(epoch, stops[newest])
        )
        for path, epoch in stops.items()
        if epoch < stops[newest]
    }
