"""Dirs that were not there when their broker last ran with them: an older copy, or a disk that was away.

A KRaft node's own metadata tells when each dir was last in use (`runs`): a marker, checkpoints or leader
epochs of before are those of an older copy; a dir that is as that run left it was only away. Without that
they are held against each other. A broker writes the checkpoints of all its dirs in one go: the high
watermarks every 5 s, of each dir that has a replica (`ReplicaManager.checkpointHighWatermarks`), the recovery
points every minute (`LogManager`), and both as it stops. A dir of which both are older is an older copy, or
its disk was away. Seen on 1.1.0 and 4.3.1: the broker takes its logs as they are, killed and stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from segmend.broker.checkpoints import BROKER_EPOCHS
from segmend.formats.clean_shutdown import FILE_NAME as MARKER
from segmend.formats.epoch_checkpoint import FILE_NAME as EPOCHS
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.frozen import frozen
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release
from segmend.logdir.scans import plain_scan
from segmend.logdir.tree import LogDir, PartitionDir
from segmend.node.metadata_log import MetadataLog
from segmend.node.older import newest_of_topic
from segmend.node.runs import Use

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
    "the broker ran without this dir since (under broker epoch {}; this one is as {} left it, as far as its "
    "marker and the times of its checkpoints tell, which miss a copy of up to two minutes before): the disk "
    "was away, and nobody wrote to its replicas meanwhile"
)
_OLDER: Final = "by the metadata of this node {}: this dir is an older copy (a snapshot?)"
_MARKED: Final = "the broker ran with it under broker epoch {}, and the marker is of a stop under {}"
_LED: Final = "{} was led here in epoch {}, and its log knows of none after {}"
_WRITTEN: Final = "it was in use {:,} s after its checkpoints were last written"
_AT_ONCE: Final = 120_000_000_000
"""ns between the last goes of both: a minute, and as long as one may take on a disk that hangs."""
_AS_IT_STOPS: Final = 15_000_000_000
"""ns before a stop in order: by then the high watermarks were written at the latest, and are once more."""
_MS: Final = 1_000_000


@frozen
class EarlierDir:
    """A dir of an earlier run than another: why, in which of its files that stands, and what that means.

    `complete`: nothing was written to its replicas since. `proven`: the metadata or the markers say so, not
    the times of another dir. `epochs` are the broker epochs of its marker and of the newest marker.
    """

    words: str
    file: str = MARKER
    complete: bool = False
    proven: bool = True
    epochs: tuple[int, int] | None = None


def earlier_dirs(
    dirs: Sequence[LogDir], release: Release, metadata: tuple[MetadataLog, LogDir] | None, node_id: int | None
) -> Mapping[str, EarlierDir]:
    """By path, the dirs that were not there when the broker last ran.

    `metadata` is the node's own copy, and the dir in which it lies.
    """
    marked = _stopped_earlier(dirs, release)
    by_others = {**_written_earlier(dirs), **marked}
    if metadata is None or node_id is None or not metadata[0].whole:
        return by_others
    log, home = metadata
    newest = max((epoch for each in dirs if (epoch := _marker_epoch(each)) is not None), default=-1)
    if newest > log.image.runs.epochs.get(node_id, -1):
        return by_others  # The metadata is older itself.
    found = {}
    ahead = _ahead_of_files(log, home)
    for each in dirs:
        served = log.image.runs.of(node_id, each.directory_id)
        if served is None:
            told = by_others.get(each.path)
        else:
            told = _AsLeft(each, log, node_id, *served, ahead).told(by_others.get(each.path))
        if told is not None:
            found[each.path] = told
    return found


class _AsLeft:
    """One dir, beside the last run that had it in use."""

    def __init__(
        self, log_dir: LogDir, log: MetadataLog, node_id: int, service: Use, begun: int, ahead: int
    ) -> None:
        self._dir, self._image, self._node_id, self._service = log_dir, log.image, node_id, service
        self._failed_since = begun > service.epoch
        self._until = max(0, ((service.until or 0) - ahead)) * _MS
        self._since = log.image.runs.epochs[node_id] > service.epoch and not self._failed_since

    def told(self, by_others: EarlierDir | None) -> EarlierDir | None:
        """What is to be said of it; `by_others` is what the other dirs tell."""
        epoch, own = _marker_epoch(self._dir), self._service.epoch
        epochs = None if by_others is None else by_others.epochs
        if not self._dir.current:
            return None
        if epoch is not None and epoch < own:
            return EarlierDir(words=_OLDER.format(_MARKED.format(own, epoch)), epochs=epochs)
        if epoch is None:
            older = self._led_since() or self._written_since()
            if older is not None:
                return older
            if by_others is not None and not self._is_as_left():
                return by_others
        if not self._since:
            return None
        last = self._image.runs.epochs[self._node_id]
        return EarlierDir(words=AWAY.format(last, own), complete=True, epochs=epochs)

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
        log = _time(partition.segments[-1].log) if partition.segments else None
        epochs = _time(partition.leader_epochs.entry)
        late = self._until + _AT_ONCE
        return epochs is not None and epochs > late and log is not None and log <= late

    def _written_since(self) -> EarlierDir | None:
        late = self._until - self._last_write()
        if late <= self._margin or not self._dir.device:
            return None
        return EarlierDir(words=_OLDER.format(_WRITTEN.format(late // 1_000_000_000)), file=HIGH_WATERMARK)

    def _last_write(self) -> int:
        """When its checkpoints were last written; as it stops, the high watermarks are."""
        times = _of_checkpoints(self._dir)
        return (times[0] if self._service.in_order else max(times)) if times else self._until

    @property
    def _margin(self) -> int:
        return _AS_IT_STOPS if self._service.in_order else _AT_ONCE

    def _is_as_left(self) -> bool:
        """Whether its checkpoints are of the end of its last run."""
        return abs(self._until - self._last_write()) <= _AT_ONCE


def _marker_epoch(log_dir: LogDir) -> int | None:
    marker = log_dir.clean_shutdown.value
    epoch = None if marker is None else marker.broker_epoch
    return None if epoch is None or epoch < 0 else epoch


def _ahead_of_files(log: MetadataLog, home: LogDir) -> int:
    """How far (ms) the clock of who leads the metadata is at least ahead of that of the files here."""
    partition = home.cluster_metadata
    time = _time(partition.segments[-1].log) if partition is not None and partition.segments else None
    return 0 if time is None else max(0, log.image.runs.time - time // _MS)


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


def _written_earlier(dirs: Sequence[LogDir]) -> Mapping[str, EarlierDir]:
    """By path, dirs whose checkpoints were written before another dir was last used.

    One checkpoint that somebody edited tells nothing, nor do both where no log was written since. A copy that
    did not keep times makes all that is in the other dir younger than this one; a bucket has only such. Who
    mends logs and both checkpoints of one dir makes it look so: a forecast asks, and `check` finds no fault.
    """
    times = {each: _of_checkpoints(each) for each in dirs if each.device and each.current}
    newest = max(times, key=lambda each: min(times[each], default=0), default=None)
    found = {}
    for each, own in times.items():
        if newest is None or not own:
            continue
        since = min(times[newest]) - max(own)
        if since > _AT_ONCE and _was_there(newest, max(own)):
            words = WRITTEN_EARLIER.format(since // 1_000_000_000, newest.path)
            found[each.path] = EarlierDir(words=words, file=HIGH_WATERMARK, proven=False)
    return found


def _of_checkpoints(log_dir: LogDir) -> list[int]:
    """When its checkpoints were written, if it has both."""
    times = [_time(log_dir.entry(name)) for name in (HIGH_WATERMARK, RECOVERY_POINT)]
    known = [time for time in times if time is not None]
    return known if len(known) == len(times) else []


def _was_there(log_dir: LogDir, when: int) -> bool:
    """Whether logs of its replicas were written both before that time and since."""
    earlier = later = False
    for entry in (each.log for one in log_dir.current for each in one.segments):
        time = _time(entry)
        if time is not None:
            earlier, later = earlier or time < when, later or time > when + _AT_ONCE
        if earlier and later:
            return True
    return False


def _time(entry: FileEntry | None) -> int | None:
    try:
        return None if entry is None else entry.stat().mtime_ns
    except Unreadable:
        return None
