"""The replicas of each partition among directories of any number of brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypedDict

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.formats.names import parse_dir_name, parse_file_name
from segmend.frozen import frozen
from segmend.logdir.file_system import or_none, place_of
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import Key, PartitionDir
from segmend.node.older import UNTOLD
from segmend.wording import few


class Gathered(NamedTuple):
    """The directories of each partition, and, in words, those that are one under another name.

    `twice` are of the same partition; `shared` of another one, so that nothing tells whose records are there.
    """

    groups: Mapping[Key, Sequence[PartitionDir]]
    twice: tuple[str, ...]
    shared: tuple[str, ...]


def gathered(fleet: FleetDirs, places: Iterable[str] = (), kinds: Iterable[str] = ("current",)) -> Gathered:
    """The directories of each partition, sorted.

    Those of a partition are sorted, too, alone as in the fleet, however they were given: by broker id and
    path, last those that name no broker. With `places` (paths) only these directories count, of any kind.
    A link to the directory of another partition is not taken.
    """
    wanted, taken = frozenset(places), frozenset(kinds)
    every = [each for log_dir in sorted(fleet.dirs, key=_whose) for each in log_dir.partitions]
    chosen = [each for each in every if (each.path in wanted if wanted else each.kind in taken)]
    seen: dict[tuple[int, int] | str, PartitionDir] = {}
    twice, shared = list[str](), list[str]()
    for partition in sorted(chosen, key=_is_link):
        place = place_of(partition.log_dir.files, partition.path)
        first = seen.setdefault(place, partition)
        if first is not partition:
            same = twice if first.key == partition.key else shared
            same.append(f"{partition.path}: the same directory as {first.path}")
    by_key: dict[Key, list[PartitionDir]] = {}
    ours = {id(each) for each in seen.values()}
    for partition in (each for each in chosen if id(each) in ours):
        by_key.setdefault(partition.key, []).append(partition)
    return Gathered({key: by_key[key] for key in sorted(by_key)}, tuple(twice), tuple(shared))


def _is_link(partition: PartitionDir) -> bool:
    return partition.log_dir.entries.get(partition.name) == "link-dir"


class PassedOverObject(TypedDict, total=False):
    """`PassedOver` in the last line of a report; those of old do not have all of it."""

    not_looked_at: Sequence[str]
    strays: Sequence[str]
    shared: Sequence[str]
    unread: Sequence[str]
    running: Sequence[str]
    not_here: Sequence[int] | None
    assumed: Sequence[str]


@frozen
class PassedOver:
    """Paths of what lies beside the replicas and is not looked at.

    `aside` are directories that no broker serves: of a replica that is being deleted or moved, or was set
    aside; and logs of replicas that have another ending, for they are being deleted, or a cleaner wrote them.
    `strays` are those of them that may have records that no replica has: what was set aside, and the
    copy of a move where its broker's own replica is not among these, or got its name and place since they
    were listed. `broken` are links to nothing where a replica should be. `running` are log dirs on which a
    broker runs or ran meanwhile: what it wrote since they were read is not looked at either. `not_here` are
    brokers that are to have replicas, and of which no dir was given; None where nothing tells. `shared` are
    links, in words, to the directory of another partition. `killed` are log dirs without the marker of a
    clean stop: that they are as their brokers left them is taken for granted.
    """

    aside: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    not_here: tuple[int, ...] | None = ()
    shared: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()

    def assumed(self) -> Iterator[str]:
        """What was taken for granted, in words."""
        if self.killed:
            yield f"what lies in {few(self.killed)} is as the broker left it: {UNTOLD}, nor what came since"

    def to_json(self) -> PassedOverObject:
        """As it stands in the last line of a report."""
        return {
            "not_looked_at": list(self.aside), "strays": list(self.strays), "shared": list(self.shared),
            "unread": list(self.broken), "running": list(self.running),
            "not_here": None if self.not_here is None else list(self.not_here),
            "assumed": list(self.assumed()),
        }  # fmt: skip


def running_on(fleet: FleetDirs, before: Iterable[str] = ()) -> tuple[str, ...]:
    """The paths of those on which a broker runs, and of those on which one ran `before`."""
    return tuple(dict.fromkeys((*before, *(each.path for each in fleet.dirs if each.broker_running()))))


def passed_over(fleet: FleetDirs, wants: Callable[[Key], bool]) -> PassedOver:
    """Of the partitions wanted; of whole log dirs, not where partition directories were given."""
    aside, broken = list[PartitionDir](), list[str]()
    for log_dir in fleet.dirs:
        others = (each for each in log_dir.partitions if each.kind in ("future", "delete", "stray"))
        aside += (each for each in others if wants(each.key))
        links = (name for name, kind in sorted(log_dir.entries.items()) if kind == "link-broken")
        named = ((name, parse_dir_name(name)) for name in links)
        broken += (
            f"{log_dir.path}/{name}"
            for name, parsed in named
            if parsed.kind == "current" and wants((parsed.topic, parsed.partition))
        )
    served: dict[Key, list[PartitionDir]] = {}
    for each in fleet.served() if aside else ():
        served.setdefault(each.key, []).append(each)
    left = (each for each in aside if each.kind != "delete")
    current = [each for each in fleet.served() if wants(each.key)]
    linked = [*filter(_is_link, current)]
    return PassedOver(
        shared=gathered(fleet).shared if linked else (),
        aside=(*(each.path for each in aside), *(log for each in current for log in _other_logs(each))),
        strays=tuple(each.path for each in left if _may_have_more(each, served.get(each.key, ()))),
        broken=tuple(broken),
    )


def _other_logs(partition: PartitionDir) -> Iterator[str]:
    layout = partition.layout
    for name in sorted((*layout.deleted, *layout.swap, *layout.cleaned)):
        if parse_file_name(name).kind == "log":
            yield f"{partition.path}/{name}"


def _may_have_more(beside: PartitionDir, served: Sequence[PartitionDir]) -> bool:
    """Not without a byte, of a topic that was deleted and made anew, or as a copy of what its broker serves.

    `served` are the replicas of its partition. An untold size may be any.
    """
    ids = {each.topic_id for each in served} - {None}
    if beside.topic_id and ids and beside.topic_id not in ids:
        return False
    brokers = {_whose(each.log_dir)[0] for each in served}
    if beside.kind == "future" and _whose(beside.log_dir)[0] in brokers:
        return False
    logs = (f"{beside.path}/{name}" for name in beside.entries if name.endswith(".log"))
    sizes = (or_none(beside.log_dir.files.file_size, log) for log in logs)
    return beside.unreadable is not None or any(size != 0 for size in sizes)


def _whose(log_dir: LogDir) -> tuple[float, str]:
    return float("inf") if log_dir.node_id is None else log_dir.node_id, log_dir.real_path
