"""Forecasts of whole clusters, a task a node: what its disks tell, then its start.

A task carries the paths of its node and of the node whose metadata counts, never the metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from segmend.cluster import ClusterForecast
from segmend.cluster.cluster_dirs import NOBODYS, by_node_id_alone, with_zookeeper
from segmend.cluster.nodes import NodeStart, Sight, image_of, sight, start
from segmend.fleet.driver import Driver
from segmend.fleet.listing import Place
from segmend.frozen import frozen
from segmend.loading import ForecastOptions
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage


@frozen
class NodeTask:
    """The places of one node; `leader` are those of the node whose metadata it will have.

    `zookeeper` are the dirs of its ZooKeeper, as far as they were given.
    """

    node_id: int
    places: tuple[Place, ...]
    leader: tuple[Place, ...] = ()
    zookeeper: tuple[str, ...] = ()
    release: Release | None = None
    options: ForecastOptions

    def opened(self) -> BrokerDirs:
        """Its dirs, those that can be listed; raises as `with_zookeeper`."""
        broker = _opened(self.places, self.release)
        return with_zookeeper({self.node_id: broker}, self.zookeeper)[0][self.node_id]

    def image(self) -> MetadataImage | None:
        return image_of(_opened(self.leader, self.release)) if self.leader else None


def _opened(places: Iterable[Place], release: Release | None) -> BrokerDirs:
    return BrokerDirs(filter(None, (place.opened() for place in places)), release=release)


def look(task: NodeTask) -> tuple[int, Sight]:
    """What the disks of one node tell."""
    return task.node_id, sight(task.opened())


def play(task: NodeTask) -> NodeStart:
    return start(task.node_id, task.opened(), task.image(), task.options)


class FleetNodes:
    """The nodes of one cluster, played by a driver."""

    def __init__(
        self,
        places: Mapping[int, Sequence[Place]],
        driver: Driver,
        options: ForecastOptions,
        release: Release | None = None,
        zookeeper: Sequence[str] = (),
    ) -> None:
        self._places = places
        self._driver = driver
        self._options = options
        self._release = release
        self._zookeeper = tuple(zookeeper)

    @property
    def node_ids(self) -> Iterable[int]:
        return self._places.keys()

    def _task(self, node_id: int, leader: int | None = None) -> NodeTask:
        return NodeTask(
            node_id=node_id, places=tuple(self._places[node_id]), release=self._release,
            leader=() if leader is None else tuple(self._places[leader]), options=self._options,
            zookeeper=self._zookeeper,
        )  # fmt: skip

    def sights(self) -> dict[int, Sight]:
        return dict(self._driver.run(look, [self._task(node_id) for node_id in self._places]))

    def image(self, node_id: int) -> MetadataImage | None:
        return image_of(self._task(node_id).opened())

    def starts(self, node_ids: Iterable[int], leader: int | None) -> Iterator[NodeStart]:
        return self._driver.run(play, [self._task(node_id, leader) for node_id in node_ids])


def forecast_fleet(
    places: Mapping[int, Sequence[Place]],
    driver: Driver,
    options: ForecastOptions,
    *,
    release: Release | None = None,
    only: frozenset[int] | None = None,
    zookeeper: Sequence[str] = (),
) -> ClusterForecast:
    """What becomes of one cluster; what cannot be listed, or is nobody's, is named as unknown.

    Raises `UsageError` if `zookeeper` has not the data of this cluster.
    """
    known = {node_id: each for node_id, each in places.items() if node_id >= 0}
    every = [(node_id, place) for node_id, each in places.items() for place in each]
    driver.ready([place for _, place in every])
    unknown = [f"{place.path}: {place.unreadable}" for _, place in every if place.unreadable]
    unknown += [NOBODYS.format(place.path) for node_id, place in every if node_id < 0]
    for node_id, each in known.items():
        unknown += by_node_id_alone(node_id, {one.path: one.identity[0] for one in each if one.identity})
    nodes = {node_id: _opened(each, release) for node_id, each in known.items() if zookeeper}
    _, told = with_zookeeper(nodes, zookeeper)
    return ClusterForecast(FleetNodes(known, driver, options, release, zookeeper), only, unknown, told)
