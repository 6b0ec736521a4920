"""What replicas are to be and are not among these dirs, and what they may have had beyond those that are.

Acknowledged records are on all that are in sync, or eligible (KIP-966), and perhaps on nobody else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatchcase

from segmend.cluster.newest_metadata import KnownCluster
from segmend.cluster.vanished import Key, in_checkpoints, reach
from segmend.logdir.tree import LogDir

Beyond = Callable[[Key, Collection[int | None], int], Iterator[str]]
"""Told a partition, the brokers of its replicas here and where these end, what may be beyond, in words."""


def not_here(known: Sequence[KnownCluster], topics: str | None) -> tuple[int, ...] | None:
    """Brokers that are to have replicas of these topics (a glob), and no dir here; None if nothing tells."""
    found = set[int]()
    for each in known:
        names, replicas = each.image.names, each.image.replicas
        wanted = {topic for topic, name in names.items() if fnmatchcase(name, topics or "*")}
        theirs = {node for (topic, _), nodes in replicas.items() if topic in wanted for node in nodes}
        found |= theirs - each.brokers
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

    def told(key: Key, holders: Collection[int | None], end: int) -> Iterator[str]:
        yield from _out_of_sync(known, key, holders)
        for log_dir, upto in gone.get(key, ()):
            if upto > end:
                yield (
                    f"{reach(log_dir, upto)}, and no replica is in it: whether offsets from {end} on are "
                    "lost nothing tells"
                )

    return told


def _out_of_sync(known: Sequence[KnownCluster], key: Key, holders: Collection[int | None]) -> Iterator[str]:
    for each in known:
        leader = each.image.leaders.get((each.image.ids.get(key[0], ""), key[1]))
        whole = () if leader is None else sorted({*leader.isr, *leader.elr})
        if whole and not set(whole).intersection(holders):
            names = ", ".join(map(str, whole))
            named = f"broker {names} was" if len(whole) == 1 else f"brokers {names} were"
            yield (
                f"by the metadata log only {named} in sync, and no replica here is known to be of such a "
                "one: what those have beyond is not looked at"
            )
