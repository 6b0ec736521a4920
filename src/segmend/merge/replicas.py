"""Replicas read into runs, one or several at once; also while a broker takes their files away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.runs import begin_runs
from segmend.merge.values import Replica
from segmend.threads import Jobs

Done = TypeVar("Done")
_TRIES: Final = 4
"""A broker rarely takes a file away several times while its log is read."""


def read_replica(partition: PartitionDir, *, compacted: bool | None) -> Replica:
    """As `begin_reading`, at once."""
    return begin_reading(partition, compacted=compacted, jobs=Jobs(1))()


def read_replicas(
    partitions: Sequence[PartitionDir], *, compacted: bool | None, threads: int = 2
) -> Iterator[Replica]:
    """Each of them, in this order, by several threads: the kernel lets go of Python's lock."""
    jobs = Jobs(threads)
    try:
        for read in [begin_reading(each, compacted=compacted, jobs=jobs) for each in partitions]:
            yield read()
    finally:
        jobs.stop()


def begin_reading(partition: PartitionDir, *, compacted: bool | None, jobs: Jobs) -> Callable[[], Replica]:
    """As `begin_runs`; anew where something is wrong, and a running broker has taken names away meanwhile."""
    read = begin_runs(partition, compacted=compacted, jobs=jobs)
    return lambda: _settled(partition, read(), compacted)


def _settled(partition: PartitionDir, replica: Replica, compacted: bool | None) -> Replica:
    for _ in range(_TRIES):
        if not (replica.damaged or replica.unreadable) or not partition.log_dir.broker_running():
            break
        before = partition.entries.keys()
        _forget(partition)
        if before <= partition.entries.keys():
            break
        replica = begin_runs(partition, compacted=compacted, jobs=Jobs(1))()
    return replica


def _forget(partition: PartitionDir) -> None:
    """Have its names listed anew: whoever looks into the files of the replica again looks with this one."""
    now = partition.afresh()
    vars(partition).clear()
    vars(partition).update(vars(now))


def while_it_runs(places: Sequence[PartitionDir], work: Callable[[Sequence[PartitionDir]], Done]) -> Done:
    """`work` with these; anew with what is there then, where a running broker takes away what it reads."""
    for _ in range(_TRIES):
        try:
            return work(places)
        except Unreadable as refused:
            if not refused.missing or not any(each.log_dir.broker_running() for each in places):
                raise
            places = [each.afresh() for each in places]
    return work(places)
