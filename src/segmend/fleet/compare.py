"""Replicas of a fleet compared in tasks: one partition with all its replicas is one piece of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from segmend.fleet.driver import Driver
from segmend.fleet.pack import FILE_COST, pack
from segmend.fleet.remote import files_of
from segmend.frozen import frozen, replace
from segmend.logdir.tree import LogDir, PartitionDir
from segmend.merge.compared import Compared, compared
from segmend.merge.gathered import Key
from segmend.merge.packed import Packed
from segmend.merge.values import Run


@frozen
class ReplicaDirs:
    """The directories of one partition, as (log dir, name); `weight` is what reading them costs in bytes."""

    key: Key
    places: tuple[tuple[str, str], ...]
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
    places = tuple((each.log_dir.path, each.name) for each in partitions)
    return ReplicaDirs(key=key, places=places, weight=weight, compacted=compacted)


def compare_group(group: Sequence[ReplicaDirs]) -> list[Compared]:
    """What one task does. Of the runs travels what they are, without the marks within."""
    opened: dict[str, LogDir] = {}
    partitions = {each.key: places_now(each.places, opened) for each in group}
    compacts = {each.key[0]: each.compacted for each in group}.get
    return [_slim(each) for each in compared(partitions, jobs=1, compacts=compacts)]


def places_now(
    places: Sequence[tuple[str, str]], opened: dict[str, LogDir] | None = None
) -> list[PartitionDir]:
    """In a task: these directories, as (log dir, name); `opened` keeps log dirs for who asks again.

    One that is gone since it was listed cannot be read, and says so: there are others.
    """
    dirs = {} if opened is None else opened
    for path in {path for path, _ in places} - dirs.keys():
        dirs[path] = LogDir.attempt(path, files_of(path))
    return [dirs[path].partition(name) or PartitionDir.forced(dirs[path], name) for path, name in places]


def _slim(partition: Compared) -> Compared:
    replicas = (
        replace(each, runs=Packed(Run, (replace(run, marks=()) for run in each.runs)))
        for each in partition.replicas
    )
    return replace(partition, replicas=tuple(replicas))
