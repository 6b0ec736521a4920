"""All partitions of some directories compared, several at a time; each is read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.logdir.tree import PartitionDir
from segmend.merge.gathered import Key
from segmend.merge.look import Second
from segmend.merge.rule import merge
from segmend.merge.runs import read_replica
from segmend.merge.values import Merged, Replica


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
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting: deque[tuple[Key, Sequence[PartitionDir], list[Future[Replica]]]] = deque()
        try:
            for key, partitions in groups.items():
                read = partial(read_replica, compacted=compacts(key[0]))
                waiting.append((key, partitions, [pool.submit(read, each) for each in partitions]))
                if len(waiting) > 2 * jobs:
                    yield _compared(*waiting.popleft(), compacts)
            while waiting:
                yield _compared(*waiting.popleft(), compacts)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _compared(
    key: Key,
    partitions: Sequence[PartitionDir],
    reading: Sequence[Future[Replica]],
    compacts: Callable[[str], bool | None],
) -> Compared:
    replicas = tuple(each.result() for each in reading)
    try:
        merged = merge(replicas, Second(partitions, replicas), compacted=compacts(key[0]))
    except UsageError as error:
        return Compared(topic=key[0], partition=key[1], replicas=replicas, merged=None, refused=str(error))
    return Compared(topic=key[0], partition=key[1], replicas=replicas, merged=merged)
