"""`fleet capacity` from end to end: a task a broker, then sums, disks, and what moves would give."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.fleet.capacity import AllReplicas, BrokerMeasured, CapacityTask, measure_brokers
from segmend.fleet.disks import DiskCapacity, TopicCapacity, disks, seen, topics
from segmend.fleet.driver import Driver
from segmend.fleet.evening_out import Assignment, Evened, MoveOf, between_brokers, between_disks, reassignment
from segmend.fleet.listing import Place, brokers, find_places
from segmend.fleet.pack import FILE_COST, pack
from segmend.frozen import frozen, replace
from segmend.grouping import grouped
from segmend.logdir.overview import log_end_offset
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

__all__ = ["Capacity", "capacity", "find_places"]

RESERVE = 10_000_000_000
"""What stays free on every disk that gets something, as in `plan balance`."""
A_PARTITION = 4
"""So many files of it are opened, about."""
AHEAD = 7.0
"""Room is left for what replicas grow by in so many days, likewise."""


@frozen
class Capacity:
    """All that is told. `chosen` are the moves that `reassignment` is of (`scope` says which), `untold` those
    that it lacks, `why_none` why there are none."""

    disks: list[DiskCapacity]
    topics: list[TopicCapacity]
    measured: list[BrokerMeasured]
    evened: list[Evened]
    unread: tuple[str, ...]
    unsampled: int
    chosen: list[MoveOf]
    scope: str
    reassignment: Mapping[str, object]
    untold: list[MoveOf]
    why_none: list[str]


def capacity(
    places: Sequence[Place],
    driver: Driver,
    *,
    days: float,
    sampled: int,
    spread: float,
    assigned: Assignment | None = None,
    release: Release | None = None,
) -> Capacity:
    """Measure every broker, and add up."""
    driver.ready(places)
    now = time.time_ns() // 1_000_000
    tasks = [
        CapacityTask(
            places=tuple(group), days=days, sampled=sampled, now_ms=now, weight=_weight(group),
            release=release,
        )
        for group in brokers(places).values()
    ]  # fmt: skip
    results = driver.run(measure_brokers, pack(tasks, cores=driver.cores))
    measured = sorted((each for result in results for each in result), key=lambda each: each.broker)
    clusters = [
        _Cluster.of(group) for group in grouped(places, lambda place: place.cluster_id or "").values()
    ]
    evened = [
        replace(each, cluster_id=cluster.places[0].cluster_id)
        for cluster in clusters
        for each in cluster.evened(measured, spread)
    ]
    across = [move for each in evened if each.scope == "brokers" for move in each.moves]
    within = [move for each in evened if each.scope == "disks" for move in each.moves]
    # A file of moves has no place for a cluster.
    chosen = (across or within) if len(clusters) == 1 else []
    why_none = [f"between brokers: {each.why_not}" for each in evened if each.why_not]
    why_none += ["these are log dirs of several clusters; give those of one"] if len(clusters) > 1 else []
    rows, untold = reassignment(chosen, clusters[0].assigned if assigned is None else assigned)
    return Capacity(
        disks=disks(seen(places), measured),
        topics=topics(measured),
        measured=measured,
        evened=evened,
        unread=tuple(path for broker in measured for path in broker.unread),
        unsampled=sum(broker.unsampled for broker in measured),
        chosen=chosen,
        scope="between brokers" if across else "between log dirs",
        reassignment=rows,
        untold=untold,
        why_none=why_none,
    )


def _weight(places: Iterable[Place]) -> int:
    """A partition's directory is listed, and a few files of it are opened."""
    dirs = (place.opened() for place in places)
    return FILE_COST * (1 + sum(A_PARTITION * len(each.partitions) for each in dirs if each is not None))


@frozen
class _Cluster:
    """One cluster, and what the metadata log that goes furthest says of it, if any is on its disks.

    A copy of the metadata may be older than the cluster: a command that shows its replicas knows better.
    """

    places: Sequence[Place]
    image: MetadataImage | None

    @classmethod
    def of(cls, places: Sequence[Place]) -> _Cluster:
        # One at a time: every broker of a cluster without ZooKeeper has a copy.
        best = max(_with_metadata(places), key=_reached, default=None)
        return cls(places=places, image=None if best is None else best.metadata)

    @property
    def assigned(self) -> Assignment:
        """The replicas of every partition."""
        image = self.image
        if image is None:
            return {}
        rows = ((image.names.get(topic), number, r) for (topic, number), r in image.replicas.items())
        return {(name, number): replicas for name, number, replicas in rows if name is not None}

    @property
    def _registered(self) -> set[int]:
        """Who is a broker for sure, also without a replica: with ZooKeeper there are no other nodes."""
        dirs = ((place.broker, dir) for place in self.places if (dir := place.opened()) is not None)
        metas = ((broker, dir.meta_properties.value) for broker, dir in dirs)
        old = {broker for broker, meta in metas if meta is not None and meta.version == 0}
        return old if self.image is None else old | set(self.image.registered)

    def evened(self, measured: Iterable[BrokerMeasured], spread: float) -> Iterator[Evened]:
        """What moves would give."""
        disks_seen, cluster = seen(self.places), self.places[0].cluster_id or ""
        mine = AllReplicas(brokers=tuple(each for each in measured if (each.cluster_id or "") == cluster))
        across = between_brokers(
            disks_seen, mine, registered=self._registered, spread=spread, reserve=RESERVE, days=AHEAD
        )  # fmt: skip
        if across is not None:
            yield across
        yield from between_disks(disks_seen, mine, spread=spread, reserve=RESERVE, days=AHEAD)


def _with_metadata(places: Iterable[Place]) -> Iterator[BrokerDirs]:
    for group in brokers(places).values():
        dirs = [opened for place in group if (opened := place.opened()) is not None]
        if any(each.cluster_metadata is not None for each in dirs):
            yield BrokerDirs(dirs)


def _reached(broker: BrokerDirs) -> int:
    home = broker.metadata_dir
    log = None if home is None else home.cluster_metadata
    return -1 if log is None else log_end_offset(log) or -1
