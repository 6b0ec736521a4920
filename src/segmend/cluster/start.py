"""The start of several nodes of one cluster: each by the image of the leader that their quorum elects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain

from segmend.cluster.leadership import Name, Situation, high_watermarks
from segmend.cluster.members import Members
from segmend.cluster.order import start_order
from segmend.cluster.quorum import metadata_logs, quorum, voters_of
from segmend.cluster.values import ClusterOutcome, Fate, Leadership, NodeOutcome, Quorum
from segmend.loading import DirOutcome, Options, PartitionOutcome, forecast
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

Line = NodeOutcome | Quorum | Leadership | ClusterOutcome
"""What a forecast of a cluster gives, in this order of kinds, the cluster last."""
NOT_GIVEN = "its log dirs were not given"
LEFT_OUT = "left out (--only)"
NO_QUORUM = "the metadata quorum does not come up"
Replicas = dict[Name, dict[int, PartitionOutcome]]


class ClusterForecast:
    """Iterate for the lines. `only` are the nodes that come up, all of those given if it is None."""

    def __init__(self, found: Members, options: Options, only: Collection[int] | None = None) -> None:
        self._members = found
        self._options = options
        self._only = only
        self._logs = metadata_logs(found.brokers)
        self._voters = voters_of(found.brokers, self._logs)
        self._replicas: Replicas = defaultdict(dict)

    def __iter__(self) -> Iterator[Line]:
        nodes, elected = self._settled()
        yield from nodes
        yield elected
        lines = []
        for line in self._leaderships(nodes, elected):
            lines.append(line)
            yield line
        yield self._outcome(nodes, elected, lines)

    @cached_property
    def _brokers(self) -> dict[int, BrokerDirs]:
        """Those that are started."""
        chosen = self._members.brokers
        return {node: broker for node, broker in chosen.items() if self._only is None or node in self._only}

    def _settled(self) -> tuple[list[NodeOutcome], Quorum]:
        """The starts and the quorum: a voter that refuses does not vote, and its image does not count."""
        down: dict[int, str] = {}
        while True:
            elected = quorum(self._voters, self._logs, self._absent() | down)
            image = self._image(elected)
            self._replicas.clear()
            nodes = [self._start(node_id, broker, image) for node_id, broker in self._brokers.items()]
            refused = {node.node_id: node.broker.reason or "" for node in nodes if not node.broker.starts}
            if refused.keys() <= down.keys():
                return [self._beside(node, elected) for node in nodes], elected
            down |= refused

    def _absent(self) -> dict[int, str]:
        """Why nodes that the quorum or the metadata names are not started."""
        images = [log.image for log in self._logs.values() if log is not None]
        replicas = chain.from_iterable(image.replicas.values() for image in images)
        named = {*self._voters, *chain.from_iterable(replicas)}
        reasons = {node: NOT_GIVEN for node in named if node not in self._members.brokers}
        return reasons | {node: LEFT_OUT for node in self._members.brokers if node not in self._brokers}

    def _image(self, elected: Quorum) -> MetadataImage | None:
        """That of the worst voter that can be elected; the newest there is, if nobody can."""
        known = {node: log for node, log in self._logs.items() if log is not None}
        able = [node for node in elected.leaders_possible if node in known]
        if able:
            return known[able[-1]].image
        newest = max(known.values(), key=lambda log: log.position, default=None)
        return None if newest is None else newest.image

    def _start(self, node_id: int, broker: BrokerDirs, image: MetadataImage | None) -> NodeOutcome:
        lines = forecast(broker if image is None else broker.told(image), self._options)
        clean = True
        for line in lines:
            if isinstance(line, PartitionOutcome):
                self._replicas[line.topic, line.partition][node_id] = line
            if isinstance(line, DirOutcome):
                clean = clean and line.clean_shutdown
        assert lines.broker is not None
        return NodeOutcome(
            node_id=node_id, dirs=tuple(each.path for each in broker.dirs), clean_shutdown=clean,
            broker=lines.broker,
        )  # fmt: skip

    def _beside(self, node: NodeOutcome, elected: Quorum) -> NodeOutcome:
        """Without a quorum a node waits for its metadata, and serves nobody."""
        if elected.comes_up or not self._voters or not node.broker.starts:
            return node
        waits = replace(node.broker, unserved=node.broker.partitions)
        return replace(node, broker=waits)

    def _leaderships(self, nodes: list[NodeOutcome], elected: Quorum) -> Iterator[Leadership]:
        image, marks = self._image(elected), high_watermarks(self._members.brokers)
        down = self._absent()
        down |= {node.node_id: node.broker.reason or "" for node in nodes if not node.broker.starts}
        clean = frozenset(node.node_id for node in nodes if node.clean_shutdown)
        seen = Situation(down=down, clean=clean, replicas=self._replicas, marks=marks)
        if image is None:
            yield from seen.unknown()
        for line in () if image is None else seen.leaderships(image):
            yield (
                line
                if elected.comes_up
                else replace(
                    line,
                    outcome=Fate.LEADERLESS,
                    leaders_possible=(),
                    reason=f"{NO_QUORUM}: {elected.reason}",
                )
            )

    def _outcome(self, nodes: list[NodeOutcome], elected: Quorum, lines: list[Leadership]) -> ClusterOutcome:
        order, helpless = start_order([node.node_id for node in nodes if node.broker.starts], lines)
        return ClusterOutcome(
            nodes=len(nodes), partitions=len(lines), fates=dict(Counter(line.outcome for line in lines)),
            start_order=order, order_cannot_help=helpless,
            all_start=all(node.broker.starts for node in nodes), quorum_comes_up=elected.comes_up,
            unknown=tuple(dict.fromkeys(self._unknown(nodes))), assumed=tuple(_assumed(nodes)),
        )  # fmt: skip

    def _unknown(self, nodes: list[NodeOutcome]) -> Iterator[str]:
        yield from self._members.unplaced
        if not self._voters:
            yield "in-sync replicas and leaders: no metadata log here tells them (are they in ZooKeeper?)"
        yield from (f"node {node}: {why}" for node, why in self._absent().items() if why == NOT_GIVEN)
        for node in nodes:
            yield from (f"node {node.node_id}: {each}" for each in node.broker.unknown)


def _assumed(nodes: list[NodeOutcome]) -> Iterator[str]:
    yield from dict.fromkeys(each for node in nodes for each in node.broker.assumed)
    yield "that nodes reach each other, and that nothing is written before all are up"


def forecast_cluster(
    found: Members, options: Options, only: Collection[int] | None = None
) -> ClusterForecast:
    """What becomes of a cluster whose nodes start over these dirs; nothing is touched."""
    return ClusterForecast(found, options, only)
