"""The load of a directory in which a running broker rolls, deletes and renames files meanwhile."""

from __future__ import annotations

from typing import Final

from segmend.frozen import replace
from segmend.loading.dirs import DirState
from segmend.loading.metadata_log import UNKNOWN
from segmend.loading.replicas import Loaded, Situation, load_directory, unseen
from segmend.loading.timing.estimate import LoadJob, Work
from segmend.loading.values import DirectoryOutcome
from segmend.logdir.tree import PartitionDir

_TRIES: Final = 4
"""A broker rarely changes the names in a directory twice while it is loaded."""


def load_settled(dir_state: DirState, partition: PartitionDir, situation: Situation) -> Loaded:
    """As `load_directory`; again where the names in it are others behind the load than before it."""
    if not dir_state.live:
        return load_directory(dir_state, partition, situation)
    for _ in range(_TRIES):
        names = partition.entries
        loaded = load_directory(dir_state, partition, situation)
        partition = partition.afresh()
        gone = partition.unreadable is not None and partition.unreadable.missing
        if partition.entries == names and not gone:
            return loaded
        dir_state.jobs.pop()
        if gone:
            break
    dir_state.jobs.append(LoadJob(name=partition.name, work=Work()))
    return _in_motion(dir_state, partition)


def _in_motion(dir_state: DirState, partition: PartitionDir) -> Loaded:
    """A directory that went meanwhile, or whose names never stood still: nothing is said of what is in it."""
    unknown = f"{partition.path}: the broker that runs here changed it while it was looked at"
    if partition.kind == "current":
        return replace(unseen(dir_state, partition), unknown=unknown)
    line = DirectoryOutcome(
        dir=dir_state.path, name=partition.name, kind=partition.kind, outcome=UNKNOWN,
        topic=partition.topic, partition=partition.partition,
    )  # fmt: skip
    return Loaded(outcome=line, dir_state=dir_state, path=partition.path, after=None, unknown=unknown)
