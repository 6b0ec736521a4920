"""What replicas are to be and are not among these dirs, and what they may have had beyond those that are.

Acknowledged records are on all that are in sync, or eligible (KIP-966), and perhaps on nobody else. An older
copy of the dir of such a broker has only what there was by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from segmend.cluster.cluster_dirs import ClusterMetadata, FleetDirs
from segmend.cluster.vanished import Wants, in_checkpoints, reach
from segmend.frozen import frozen
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import Key
from segmend.node.last_run import EarlierDir, Kind

Holders = Mapping[str, int | None]
"""The brokers of the replicas of a partition that are here, by the paths of their dirs."""


class More(NamedTuple):
    """What may be beyond the replicas here: in doubt, and what is taken for granted; in words."""

    doubts: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


class _InSync(NamedTuple):
    """By one metadata: the brokers in sync, and those of their dirs that may not be as they left them."""

    brokers: tuple[int, ...]
    earlier: Mapping[str, EarlierDir]

    def beyond(self, holders: Holders) -> More:
        names = ", ".join(map(str, self.brokers))
        named = f"broker {names} was" if len(self.brokers) == 1 else f"brokers {names} were"
        theirs = {path: broker for path, broker in holders.items() if broker in self.brokers}
        if not theirs:
            return More(
                doubts=(
                    f"by the metadata log only {named} in sync, and no replica here is known to be of such a "
                    "one: what those have beyond is not looked at",
                )
            )
        earlier = self.earlier
        if not theirs.keys() <= earlier.keys():
            return More()
        words = tuple(f"{path}: {earlier[path].words}" for path in sorted(theirs))
        untold = all(earlier[path].kind is Kind.UNTOLD for path in theirs)
        if untold and {*theirs.values()} == {*self.brokers}:
            return More(assumed=tuple(f"{each}; taken to be as its broker left it" for each in words))
        return More(
            doubts=tuple(
                f"{each}; by the metadata log only {named} in sync, and what was written since then is not "
                "looked at"
                for each in words
            )
        )


@frozen
class NotRead:
    """What is known of a partition besides the replicas that are read; it goes to tasks.

    `reaches` are lines in checkpoints of dirs without a replica, in words, with the offset that they reach.
    """

    in_sync: tuple[_InSync, ...] = ()
    reaches: tuple[tuple[str, int], ...] = ()

    def beyond(self, holders: Holders, end: int) -> More:
        """What may be beyond these replicas, which end there."""
        told = [each.beyond(holders) for each in self.in_sync]
        above = (
            f"{words}, and no replica is in it: whether offsets from {end} on are lost nothing tells"
            for words, upto in self.reaches
            if upto > end
        )
        return More(
            doubts=(*(words for each in told for words in each.doubts), *above),
            assumed=tuple(words for each in told for words in each.assumed),
        )


def not_here(fleet: FleetDirs, wants: Wants) -> tuple[int, ...] | None:
    """Brokers that are to have replicas of what is wanted, and no dir here; None if nothing tells."""
    missing, known = set[int](), fleet.known
    for each in known:
        names = each.image.names
        theirs = {
            node
            for (topic_id, partition), nodes in each.image.replicas.items()
            if topic_id in names and wants((names[topic_id], partition))
            for node in nodes
        }
        missing |= theirs - each.brokers.keys()
    return tuple(sorted(missing)) if known else None


def beyond(fleet: FleetDirs) -> Callable[[Key], NotRead]:
    """By the metadata, and by the checkpoints of dirs from which a replica is gone."""
    gone: dict[Key, list[tuple[LogDir, int]]] = {}
    for log_dir, image in ((each, cluster.image) for cluster in fleet.clusters for each in cluster.dirs):
        here = {partition.key for partition in log_dir.current}
        for key, end in in_checkpoints(log_dir, image):
            if key not in here:
                gone.setdefault(key, []).append((log_dir, end))
    whole = [(each, each.earlier()) for each in fleet.known]

    def told(key: Key) -> NotRead:
        in_sync = (_in_sync(cluster, key, earlier) for cluster, earlier in whole)
        return NotRead(
            in_sync=tuple(each for each in in_sync if each.brokers),
            reaches=tuple((reach(log_dir, upto), upto) for log_dir, upto in gone.get(key, ())),
        )

    return told


def _in_sync(cluster: ClusterMetadata, key: Key, earlier: Mapping[str, EarlierDir]) -> _InSync:
    leader = cluster.image.leaders.get((cluster.image.ids.get(key[0], ""), key[1]))
    whole = () if leader is None else tuple(sorted({*leader.isr, *leader.elr}))
    theirs = {each.path for node in whole if node in cluster.brokers for each in cluster.brokers[node].dirs}
    return _InSync(whole, {path: each for path, each in earlier.items() if path in theirs})
