"""The load of a directory in which a running broker rolls, deletes and renames files meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from segmend.formats.names import parse_dir_name
from segmend.frozen import replace
from segmend.loading.dirs import PATIENCE, DirState
from segmend.loading.metadata_log import UNKNOWN
from segmend.loading.replicas import Loaded, Situation, load_directory, unseen
from segmend.loading.timing.estimate import LoadJob, Work
from segmend.loading.values import DirectoryOutcome, Service
from segmend.logdir.partition_dir import PartitionDir

_TRIES: Final = 4
"""A broker rarely changes the names in a directory twice while it is loaded."""
_NOT_OF_THE_IMAGE: Final = frozenset((Service.STRAY, Service.EMPTY, Service.UNSERVED))
_PAUSE: Final = 0.05
"""Seconds from look to look."""


def load_settled(dir_state: DirState, partition: PartitionDir, situation: Situation) -> Loaded:
    """As `load_directory`; again where the names in it are others behind the load than before it."""
    if not dir_state.live:
        return load_directory(dir_state, partition, situation)
    for _ in range(_TRIES):
        names = partition.entries
        loaded = load_directory(dir_state, partition, situation)
        partition = partition.afresh()
        gone = partition.unreadable is not None and partition.unreadable.missing
        stays = partition.entries == names and not gone
        if stays and not (loaded.service in _NOT_OF_THE_IMAGE and _goes(dir_state, partition)):
            return loaded
        dir_state.jobs.pop()
        if stays or gone:
            break
    dir_state.jobs.append(LoadJob(name=partition.name, work=Work()))
    return _in_motion(dir_state, partition)


def _goes(dir_state: DirState, partition: PartitionDir) -> bool:
    """Whether the broker takes it away, or makes it anew, a moment after the metadata says so.

    One that is seen to go on may need as long again for the next.
    """
    while dir_state.patience > 0:
        dir_state.patience -= _PAUSE
        time.sleep(_PAUSE)
        now = partition.afresh()
        if now.unreadable is not None or now.topic_id != partition.topic_id:
            dir_state.patience = PATIENCE
            return True
    return False


def arriving(dir_states: Sequence[DirState], name: str) -> Loaded | None:
    """A replica that is not listed and that a running broker makes a moment after the metadata says so."""
    live = [state for state in dir_states if state.live]
    made = [(state, PartitionDir(state.log_dir, name, parse_dir_name(name))) for state in live]
    while made:
        for state, partition in made:
            if partition.afresh().unreadable is None:
                live[0].patience = PATIENCE
                return _in_motion(state, partition)
        if live[0].patience <= 0:
            break
        live[0].patience -= _PAUSE
        time.sleep(_PAUSE)
    return None


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
