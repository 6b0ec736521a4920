"""A log as it is looked at for people: as the next start leaves it, or as the broker over it has it."""

from __future__ import annotations

from segmend.frozen import frozen, replace
from segmend.loading.dirs import DirState
from segmend.loading.load import LoadedLog, load
from segmend.loading.replicas import Situation, load_settings
from segmend.logdir.partition_dir import PartitionDir


@frozen
class LeftStanding:
    """`recovered`: as the next start leaves it; `open_end`: taken as it stands, though it was not closed."""

    loaded: LoadedLog
    recovered: bool
    open_end: bool


def standing(
    state: DirState, partition: PartitionDir, situation: Situation, *, running: bool
) -> LeftStanding:
    """A log that was not closed is recovered, unless a broker is `running` or that takes too long to read."""
    settings = load_settings(state, partition, situation)
    recovers = not settings.clean and not running
    recovers = recovers and situation.budget.takes(_unflushed(partition, settings.recovery_point))
    loaded = load(partition.afresh(), replace(settings, clean=not recovers))
    return LeftStanding(loaded=loaded, recovered=recovers, open_end=not settings.clean and not recovers)


def _unflushed(partition: PartitionDir, recovery_point: int) -> int:
    """Bytes of the logs that a recovery may read."""
    segments = partition.segments
    first = max((n for n, each in enumerate(segments) if each.base_offset <= recovery_point), default=0)
    return sum(each.log.stat().size for each in segments[first:] if each.log is not None)
