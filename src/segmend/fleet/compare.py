"""Replicas of a fleet compared in tasks: one partition with all its replicas is one piece of work."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from segmend.fleet.driver import Driver
from segmend.fleet.pack import FILE_COST, pack
from segmend.fleet.remote import files_of
from segmend.frozen import frozen, replace
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import Key, PartitionDir
from segmend.merge.compared import Compared, compared
from segmend.merge.packed import Packed
from segmend.merge.values import Run


class ListedDir(NamedTuple):
    """A partition directory that goes to a task, with what logs it had when it was listed.

    Four bytes a log (230 kB for 20,000 of three replicas), so that nothing bounds them: Spark's limit of
    128 MiB a task is that of 30 million.
    """

    dir: str
    name: str
    logs: bytes = b""

    @classmethod
    def of(cls, partition: PartitionDir) -> ListedDir:
        """It with the base offsets of its logs, packed."""
        return cls.having(partition.log_dir.path, partition.name, partition.layout.logs)

    @classmethod
    def having(cls, dir: str, name: str, base_offsets: Iterable[int]) -> ListedDir:
        """The same of a directory that is not looked at now."""
        return cls(dir, name, zlib.compress(array("q", sorted(base_offsets)).tobytes(), 1))

    def within(self, log_dir: LogDir) -> PartitionDir:
        """The directory as it is now, where those logs are expected."""
        partition = log_dir.partition(self.name) or PartitionDir.forced(log_dir, self.name)
        if self.logs:
            partition.expect(array("q", zlib.decompress(self.logs)))
        return partition


@frozen
class ReplicaDirs:
    """The directories of one partition; `weight` is what reading them costs in bytes."""

    key: Key
    places: tuple[ListedDir, ...]
    weight: int
    compacted: bool | None


def compare_fleet(
    groups: Mapping[Key, Sequence[PartitionDir]], driver: Driver, compacts: Callable[[str], bool | None]
) -> Iterator[Compared]:
    """Each partition compared, in the order of their names; `compacts` is as of `compared`."""
    pieces = [_piece(key, partitions, compacts(key[0])) for key, partitions in groups.items()]
    tasks = pack(pieces, cores=driver.cores)
    unordered = (each for group in driver.run(compare_group, tasks) for each in group)
    yield from sorted(unordered, key=lambda each: (each.topic, each.partition))


def _piece(key: Key, partitions: Sequence[PartitionDir], compacted: bool | None) -> ReplicaDirs:
    weight = sum(each.size + len(each.entries) * FILE_COST for each in partitions)
    places = tuple(map(ListedDir.of, partitions))
    return ReplicaDirs(key=key, places=places, weight=weight, compacted=compacted)


def compare_group(group: Sequence[ReplicaDirs]) -> list[Compared]:
    """What one task does. Of the runs travels what they are, without the marks within."""
    opened: dict[str, LogDir] = {}
    partitions = {each.key: places_now(each.places, opened) for each in group}
    compacts = {each.key[0]: each.compacted for each in group}.get
    return [_slim(each) for each in compared(partitions, jobs=1, compacts=compacts)]


def places_now(places: Sequence[ListedDir], opened: dict[str, LogDir] | None = None) -> list[PartitionDir]:
    """In a task: these directories; `opened` keeps log dirs for who asks again.

    One that is gone since it was listed cannot be read, and says so: there are others. So does a log.
    """
    dirs = {} if opened is None else opened
    for path in {each.dir for each in places} - dirs.keys():
        dirs[path] = LogDir.attempt(path, files_of(path))
    return [each.within(dirs[each.dir]) for each in places]


def _slim(partition: Compared) -> Compared:
    replicas = (
        replace(each, runs=Packed(Run, (replace(run, marks=()) for run in each.runs)))
        for each in partition.replicas
    )
    return replace(partition, replicas=tuple(replicas))
