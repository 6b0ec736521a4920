"""What replicas are to be and are not among these dirs, and what they may have had beyond those that are.

Acknowledged records are on all that are in sync, or eligible (KIP-966), and perhaps on nobody else. An older
copy of the dir of such a broker has only what there was by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from segmend.cluster.newest_metadata import KnownCluster
from segmend.cluster.vanished import Key, in_checkpoints, reach
from segmend.logdir.tree import LogDir
from segmend.node.last_run import EarlierDir, Kind

Holders = Mapping[str, int | None]
"""The brokers of the replicas of a partition that are here, by the paths of their dirs."""


class More(NamedTuple):
    """What may be beyond the replicas here: in doubt, and what is taken for granted; in words."""

    doubts: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


Beyond = Callable[[Key, Holders, int], More]
"""Told a partition, who holds it here and where it ends, what may be beyond."""


def not_here(known: Sequence[KnownCluster], topics: str | None) -> tuple[int, ...] | None:
    """Brokers that are to have replicas of these topics (a glob), and no dir here; None if nothing tells."""
    found = set[int]()
    for each in known:
        names, replicas = each.image.names, each.image.replicas
        wanted = {topic for topic, name in names.items() if fnmatchcase(name, topics or "*")}
        theirs = {node for (topic, _), nodes in replicas.items() if topic in wanted for node in nodes}
        found |= theirs - each.brokers.keys()
    return tuple(sorted(found)) if known else None


def beyond(dirs: Sequence[LogDir], known: Sequence[KnownCluster]) -> Beyond:
    """By the metadata, and by the checkpoints of dirs from which a replica is gone."""
    images = {id(log_dir): each.image for each in known for log_dir in each.dirs}
    gone: dict[Key, list[tuple[LogDir, int]]] = {}
    for log_dir in dirs:
        here = {partition.key for partition in log_dir.current}
        for key, end in in_checkpoints(log_dir, images.get(id(log_dir))):
            if key not in here:
                gone.setdefault(key, []).append((log_dir, end))

    whole = [(each, each.earlier()) for each in known]

    def told(key: Key, holders: Holders, end: int) -> More:
        doubts, assumed = list[str](), list[str]()
        for cluster, earlier in whole:
            more = _out_of_sync(cluster, key, holders, earlier)
            doubts += more.doubts
            assumed += more.assumed
        for log_dir, upto in gone.get(key, ()):
            if upto > end:
                doubts.append(
                    f"{reach(log_dir, upto)}, and no replica is in it: whether offsets from {end} on are "
                    "lost nothing tells"
                )
        return More(tuple(doubts), tuple(assumed))

    return told


def _out_of_sync(
    cluster: KnownCluster, key: Key, holders: Holders, earlier: Mapping[str, EarlierDir]
) -> More:
    leader = cluster.image.leaders.get((cluster.image.ids.get(key[0], ""), key[1]))
    whole = () if leader is None else sorted({*leader.isr, *leader.elr})
    if not whole:
        return More()
    names = ", ".join(map(str, whole))
    named = f"broker {names} was" if len(whole) == 1 else f"brokers {names} were"
    theirs = {path: broker for path, broker in holders.items() if broker in whole}
    if not theirs:
        return More(
            doubts=(
                f"by the metadata log only {named} in sync, and no replica here is known to be of such a "
                "one: what those have beyond is not looked at",
            )
        )
    if not theirs.keys() <= earlier.keys():
        return More()
    words = tuple(f"{path}: {earlier[path].words}" for path in sorted(theirs))
    if {*theirs.values()} == {*whole} and all(earlier[path].kind is Kind.UNTOLD for path in theirs):
        return More(assumed=tuple(f"{each}; taken to be as its broker left it" for each in words))
    return More(
        doubts=tuple(
            f"{each}; by the metadata log only {named} in sync, and what was written since then is not "
            "looked at"
            for each in words
        )
    )
