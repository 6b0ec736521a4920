"""When the checkpoints and logs of dirs were last written, held against each other.

A broker writes the checkpoints of all its dirs in one go: the high watermarks every 5 s, of each dir that has
a replica (`ReplicaManager.checkpointHighWatermarks`), the recovery points every minute (`LogManager`), and
both as it stops. A dir that is older than the others is an older copy, or its disk was away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from segmend.formats import meta_properties
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.stops import as_it_ran

S: Final = 1_000_000_000
MINUTE: Final = 60 * S
AT_ONCE: Final = 120 * S
"""ns between the last goes of both: a minute, and as long as one may take on a disk that hangs."""
INTERVAL: Final = "replica.high.watermark.checkpoint.interval.ms"


def checkpoint_times(log_dir: LogDir) -> list[int]:
    """When its high watermarks and its recovery points were written (ns), if it has both."""
    times = [time_of(log_dir.entry(name)) for name in (HIGH_WATERMARK, RECOVERY_POINT)]
    known = [time for time in times if time is not None]
    return known if len(known) == len(times) else []


def last_append(log_dir: LogDir) -> int:
    """When one of its logs was last written (ns), the metadata's among them."""
    home = log_dir.cluster_metadata
    logs = [each.segments[-1].log for each in (*log_dir.current, *([home] if home else ())) if each.segments]
    return max((time for log in logs if (time := time_of(log)) is not None), default=0)


def time_of(entry: FileEntry | None) -> int | None:
    try:
        return None if entry is None else entry.stat().mtime_ns
    except Unreadable:
        return None


def written_earlier(
    dirs: Sequence[LogDir], interval: int, until: int | None = None
) -> Mapping[str, tuple[int, str]]:
    """By path, dirs whose checkpoints were written how much (s) before those of another, in use since.

    One checkpoint that somebody edited tells nothing, nor do both where no log was written since. A copy that
    did not keep times makes all that is in the other dir younger than this one; a bucket has only such. Who
    mends logs and the high watermarks of one dir makes it look so: a forecast asks, and `check` finds no
    fault. A dir whose logs were written later than its high watermarks hung. The high watermarks are written
    every `interval` ns, and it is rare that a kill comes between two dirs of which one is idle: a dir that
    lacks one go is told. `until`: when the run ended, if that is known; dirs written after it are left out.
    """
    marks = interval // 2
    times = {
        each: own
        for each in dirs
        if each.device and each.current and (own := checkpoint_times(each))
        if until is None or max(own) <= until + interval
    }
    if len(times) < 2:
        return {}
    marked = max(times, key=lambda each: times[each][0])
    newest = times[marked][0]
    earlier = {}
    for each, own in times.items():
        since = newest - max(own)
        hung = since <= marks or (since <= AT_ONCE and last_append(each) >= newest - S)
        if not hung and _was_there(marked, max(own), marks):
            earlier[each.path] = since // S, marked.path
    return earlier


def copied_running(dirs: Sequence[LogDir]) -> Mapping[str, tuple[str, str]]:
    """By path, dirs as no stop in order leaves them: by what that shows, and which dir has its marker.

    A stop writes the high watermarks of all dirs at once, and then, dir by dir, the recovery points at the
    ends of the logs, trims the indexes and puts a marker there; it may be killed between two of them. A
    marker beside such logs of its own tells nothing: somebody set it.
    """
    last = {each: times[0] for each in dirs if each.is_clean and (times := checkpoint_times(each))}
    marked = max(last, key=last.__getitem__, default=None)
    if marked is None:
        return {}
    there = last[marked] - S
    away = [each for each in dirs if not each.is_clean and min(checkpoint_times(each)[:1], default=0) < there]
    shown = {each.path: how for each in away if (how := as_it_ran(each)) is not None}
    if not shown or as_it_ran(marked) is not None:
        return {}
    return {path: (how, marked.path) for path, how in shown.items()}


def copied_anew(dirs: Sequence[LogDir]) -> Mapping[str, str]:
    """By path, dirs all of whose files are younger than the last that was written to another, and which.

    No log is asked where the checkpoints of another dir tell that this one is none: each has to be listed.
    """
    known = [each for each in dirs if each.device]
    checkpoints = {each: max(checkpoint_times(each), default=0) for each in known}
    used: dict[LogDir, int] = {}
    copied = {}
    for each in known if len(known) > 1 else ():
        others = [other for other in known if other is not each]
        if not each.current or not _marks_are_younger(each, max(checkpoints[o] for o in others) + AT_ONCE):
            continue
        used |= {other: max(last_append(other), checkpoints[other]) for other in others if other not in used}
        newest = max(others, key=used.__getitem__)
        if used[newest] and is_younger(each, used[newest] + AT_ONCE):
            copied[each.path] = newest.path
    return copied


def is_younger(log_dir: LogDir, time: int) -> bool:
    """Whether its identity, checkpoints and logs are all there, and younger than that (ns).

    The identity is asked first: of a dir that is no such copy it is old, and no log is looked at.
    """
    if not _marks_are_younger(log_dir, time):
        return False
    logs = [each.log for one in log_dir.current for each in one.segments]
    return bool(logs) and all(own is not None and own > time for own in map(time_of, logs))


def _marks_are_younger(log_dir: LogDir, time: int) -> bool:
    """Whether its identity and checkpoints are."""
    entries = map(log_dir.entry, (meta_properties.FILE_NAME, HIGH_WATERMARK, RECOVERY_POINT))
    return all(own is not None and own > time for own in map(time_of, entries))


def _was_there(log_dir: LogDir, when: int, margin: int) -> bool:
    """Whether something of it was written before that time, and logs of its replicas since.

    Where each log is written all the time, what is written as it starts, and the recovery points, are older.
    """
    first = (time_of(log_dir.entry(name)) for name in (meta_properties.FILE_NAME, RECOVERY_POINT))
    earlier, later = any(time is not None and time < when for time in first), False
    for entry in (each.log for one in log_dir.current for each in one.segments):
        time = time_of(entry)
        if time is not None:
            earlier, later = earlier or time < when, later or time > when + margin
        if earlier and later:
            return True
    return False
