"""Dirs that were not there when their broker last ran: by the broker epochs of the markers, or by times.

A broker writes the checkpoints of all its dirs in one go: the high watermarks every 5 s, of each dir that has
a replica (`ReplicaManager.checkpointHighWatermarks`), the recovery points every minute (`LogManager`), and
both as it stops. So a dir of which both are older is an older copy, or its disk was away. Seen on 1.1.0: the
broker takes its logs as they are, killed and stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from segmend.broker.checkpoints import BROKER_EPOCHS
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir

STOPPED_EARLIER: Final = (
    "the marker has broker epoch {}, that of {} has {}: this dir was not there when the broker last stopped, "
    "so it is an older copy (a snapshot?) or was not mounted"
)
WRITTEN_EARLIER: Final = (
    "its checkpoints were last written {:,} s before those of {}, and a broker writes them all in one go: "
    "this dir is an older copy (a snapshot?), or was not mounted when the broker last ran, or that one was "
    "mended since"
)
_AT_ONCE: Final = 120_000_000_000
"""ns between the last goes of both: a minute, and as long as one may take on a disk that hangs."""


def stopped_earlier(dirs: Sequence[LogDir], release: Release) -> Mapping[str, tuple[int, int, str]]:
    """By path, dirs of an earlier stop than another: own broker epoch, newest, words.

    A broker stops under one epoch and writes it into every dir that it has. An epoch that the metadata
    knows tells nothing: a start that fails after it registered leaves the markers as they were.
    """
    if not BROKER_EPOCHS.of(release):
        return {}
    # One that the broker cannot read ends its start, as is said elsewhere.
    markers = {each.path: each.clean_shutdown.value for each in dirs}
    epochs = {path: each.broker_epoch for path, each in sorted(markers.items()) if each is not None}
    stops = {path: epoch for path, epoch in epochs.items() if epoch is not None}
    newest = max(stops, key=stops.__getitem__, default="")
    return {
        path: (epoch, stops[newest], STOPPED_EARLIER.format(epoch, newest, stops[newest]))
        for path, epoch in stops.items()
        if epoch < stops[newest]
    }


def written_earlier(dirs: Sequence[LogDir]) -> Mapping[str, str]:
    """By path, dirs whose checkpoints were written before another dir was last used, in words.

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
            found[each.path] = WRITTEN_EARLIER.format(since // 1_000_000_000, newest.path)
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
