"""All partitions of some directories compared, several at a time; each is read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from segmend.errors import PartitionError, UsageError
from segmend.frozen import frozen
from segmend.logdir.partition_dir import Key, PartitionDir
from segmend.merge.look import Second
from segmend.merge.replicas import begin_reading, read_replica, while_it_runs
from segmend.merge.rule import merge
from segmend.merge.values import Merged, Replica
from segmend.threads import Jobs


@frozen
class Compared:
    """One partition: its replicas and their merge, or why they are not to be merged."""

    topic: str
    partition: int
    replicas: tuple[Replica, ...]
    merged: Merged | None
    refused: str | None = None


def compared(
    groups: Mapping[Key, Sequence[PartitionDir]], *, jobs: int, compacts: Callable[[str], bool | None]
) -> Iterator[Compared]:
    """Each partition, in the order given; threads read replicas, for the kernel lets go of Python's lock.

    `compacts` tells of a topic whether it is compacted, None if nothing does.
    """
    shared = Jobs(jobs)
    waiting: deque[tuple[Key, Sequence[PartitionDir], list[Callable[[], Replica]]]] = deque()
    try:
        for key, partitions in groups.items():
            compacted = compacts(key[0])
            reading = [begin_reading(each, compacted=compacted, jobs=shared) for each in partitions]
            waiting.append((key, partitions, reading))
            if len(waiting) > 2 * jobs:
                yield _compared(*waiting.popleft(), compacts)
        while waiting:
            yield _compared(*waiting.popleft(), compacts)
    finally:
        shared.stop()


def _compared(
    key: Key,
    partitions: Sequence[PartitionDir],
    reading: Sequence[Callable[[], Replica]],
    compacts: Callable[[str], bool | None],
) -> Compared:
    (topic, number), begun = key, [reading]
    compacted = compacts(topic)

    def merged(places: Sequence[PartitionDir]) -> Compared:
        again = (
            begun.pop() if begun else [partial(read_replica, each, compacted=compacted) for each in places]
        )
        replicas = tuple(each() for each in again)
        try:
            told = merge(replicas, Second(places, replicas), compacted=compacted)
        except UsageError as error:
            return Compared(topic=topic, partition=number, replicas=replicas, merged=None, refused=str(error))
        return Compared(topic=topic, partition=number, replicas=replicas, merged=told)

    try:
        return while_it_runs(partitions, merged)
    except PartitionError as error:
        return Compared(topic=topic, partition=number, replicas=(), merged=None, refused=str(error))
