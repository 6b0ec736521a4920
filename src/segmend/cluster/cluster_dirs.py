"""The log dirs of several brokers: whose each of them is, and what they know together.

`BrokerDirs` is one broker's. Nothing but this makes some of the dirs of several, or says of which cluster
they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from segmend.broker.cleanup_policy import COMPACTED_TOPICS
from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.grouping import grouped
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.last_run import EarlierDir, Kind, times_were_lost
from segmend.node.metadata_image import MetadataImage
from segmend.node.metadata_log import MetadataLog
from segmend.node.zookeeper_metadata import ZooKeeperMetadata, zookeeper_metadata

NOBODYS = "{}: no meta.properties tells which node's it is"
_STRANGER = (
    "{}: it is of cluster {}, and most of these dirs of {}; give the dirs of that cluster by themselves"
)

_BY_NODE_ID_ALONE = (
    "{}: it names no cluster, and others of node {} do: by its node id alone it is taken for that node's"
)


class ClusterDirs:
    """The dirs of one cluster: its brokers by node id, and those that are `nobodys`, with the reason.

    Raises `UsageError` if they are of more than one cluster. `configs` are the server.properties of nodes, as
    far as they were given: a dir is whose log.dirs has it. With `strangers` they may be: the cluster is that
    of most, and a dir of another one is the node's all the same whose log.dirs has it, or beside whose dirs
    alone it lies, which refuses to start with it.
    """

    def __init__(
        self,
        dirs: Iterable[LogDir],
        release: Release | None = None,
        configs: Mapping[int, ServerConfig] = MappingProxyType({}),
        *,
        strangers: bool = False,
    ) -> None:
        self.dirs = tuple(dirs)
        placed = {disk.real_path(path): node for node, config in configs.items() for path in config.all_dirs}
        homes: dict[int, list[LogDir]] = {}
        claims: dict[int, dict[str, str | None]] = {}
        self.nobodys: dict[str, str] = {}
        cluster = _cluster_of(self.dirs, strangers)
        beside = _only_ones(each for each in self.dirs if not _is_strange(each, cluster))
        for log_dir in self.dirs:
            identity, strange = log_dir.meta_properties.value, _is_strange(log_dir, cluster)
            stored = None if identity is None or strange else identity.node_id
            if stored is None and not log_dir.unreadable:
                stored = beside.get(_parent(log_dir))
            configured = placed.get(log_dir.files.real_path(log_dir.path))
            node_id = stored if configured is None else configured
            if node_id is not None:
                homes.setdefault(node_id, []).append(log_dir)
                if identity is not None and configured is None:
                    claims.setdefault(node_id, {})[log_dir.path] = identity.cluster
            elif identity is not None and strange:
                self.nobodys[log_dir.path] = _STRANGER.format(log_dir.path, identity.cluster, cluster)
            else:
                self.nobodys[log_dir.path] = str(log_dir.unreadable or NOBODYS.format(log_dir.path))
        absent = sorted(configs.keys() - homes.keys())
        if absent:
            raise UsageError(f"--config: no dir of node {absent[0]} was given")
        self.brokers = {
            node_id: BrokerDirs(homes[node_id], release=release, given=configs.get(node_id))
            for node_id in sorted(homes)
        }
        self.by_node_id_alone = tuple(
            words for node_id, clusters in claims.items() for words in by_node_id_alone(node_id, clusters)
        )
        """Dirs, in words, that may be of another cluster for all that they say."""

    @property
    def unplaced(self) -> tuple[str, ...]:
        """The dirs of which nobody can tell whose they are, in words."""
        return (*self.nobodys.values(), *self.by_node_id_alone)

    @cached_property
    def metadata(self) -> ClusterMetadata | None:
        """The newest metadata log among the dirs that has its beginning: else it may lack any topic."""
        newest: tuple[MetadataLog, BrokerDirs] | None = None
        for broker in self.brokers.values():
            log = broker.own_metadata_log
            if log is not None and log.records and log.whole:
                candidate = log, broker
                newest = max(newest or candidate, candidate, key=lambda each: each[0].position)
        return None if newest is None else ClusterMetadata(log=newest[0], has=newest[1], cluster=self)

    @property
    def image(self) -> MetadataImage | None:
        """What that says."""
        return None if self.metadata is None else self.metadata.image

    @cached_property
    def release(self) -> Release:
        """Whose rules count where one's are asked for: of who has the newest metadata, or else the newest."""
        if self.metadata is not None:
            return self.metadata.has.release
        alone = (BrokerDirs([each]) for each in self.dirs if each.path in self.nobodys)
        return max(each.release for each in (*self.brokers.values(), *alone))


@frozen
class ClusterMetadata:
    """The newest metadata of a cluster that is among its dirs, and the node that `has` it."""

    log: MetadataLog
    has: BrokerDirs
    cluster: ClusterDirs

    @property
    def image(self) -> MetadataImage:
        return self.log.image

    @property
    def brokers(self) -> Mapping[int, BrokerDirs]:
        """Those whose dirs are here."""
        return self.cluster.brokers

    @property
    def is_open(self) -> bool:
        """Whether a cleaner was at a topic without a policy of its own: the brokers' need not be Kafka's."""
        cleaned = {topic for log_dir in self.cluster.dirs for topic, _ in log_dir.cleaner_offsets}
        theirs = cleaned.intersection(self.image.ids).difference(COMPACTED_TOPICS)
        return not all(map(self.image.has_policy, theirs))

    def earlier(self) -> Mapping[str, EarlierDir]:
        """By path, dirs that are not known to be as their brokers left them.

        Where the files of the metadata lost their times, too, younger ones tell nothing.
        """
        told, home = dict[str, EarlierDir](), self.has.metadata_dir
        for broker in self.brokers.values():
            elsewhere = None if broker is self.has else home
            told |= broker.earlier_by(self.log, elsewhere) if elsewhere else broker.earlier_dirs
        if home is not None and times_were_lost(home, self.image):
            told = {path: each.untold if each.kind is Kind.ANEW else each for path, each in told.items()}
        return {path: each for path, each in told.items() if not each.complete}


class FleetDirs:
    """The dirs of any number of brokers, of any clusters.

    `release` is whose rules count for all of them, where somebody says so.
    """

    def __init__(self, dirs: Iterable[LogDir] = (), release: Release | None = None) -> None:
        self.dirs = tuple(dirs)
        self._release = release

    @cached_property
    def clusters(self) -> Sequence[ClusterDirs]:
        """Those of each cluster; those that do not say of which they are, are by themselves."""
        groups = grouped(self.dirs, lambda each: each.cluster)
        if len(groups) == 1:
            return [self.only_cluster]
        return [ClusterDirs(group, self._release) for group in groups.values()]

    @cached_property
    def only_cluster(self) -> ClusterDirs:
        """All of them, those among them that do not say; raises `UsageError` if they are of several."""
        return ClusterDirs(self.dirs, self._release)

    def refuse_several(self) -> None:
        """Raise `UsageError` if they are of more than one cluster."""
        _cluster_of(self.dirs, strangers=False)

    @property
    def known(self) -> Sequence[ClusterMetadata]:
        """The metadata of each cluster that has some here."""
        return [each.metadata for each in self.clusters if each.metadata is not None]

    @property
    def image(self) -> MetadataImage | None:
        """What the metadata of the first of these says."""
        return next((each.image for each in self.known), None)

    @property
    def release(self) -> Release:
        """Whose rules count where one's are asked for."""
        return self._release or max((each.release for each in self.clusters), default=BrokerDirs([]).release)

    def home(self, broker: int | None) -> Home | None:
        """The first node of these dirs, or the one with this id; raises `UsageError` if there is none."""
        told = (each for each in self.dirs if each.meta_properties.value is not None)
        identity = next((each for each in told if broker in (None, each.node_id)), None)
        if identity is None:
            if broker is not None:
                raise UsageError(f"--broker {broker}: no meta.properties among these dirs has this id")
            return None
        cluster = next(each for each in self.clusters if identity in each.dirs)
        whole = (each for each in cluster.brokers.values() if identity in each.dirs)
        node = next(whole, None) or BrokerDirs([identity], release=self._release)
        return Home(identity=identity, broker=node, release=self._release or cluster.release)

    def afresh(self) -> FleetDirs:
        """The same, each as it is now."""
        return FleetDirs((LogDir.attempt(each.path, each.files) for each in self.dirs), self._release)

    def served(self) -> Iterator[PartitionDir]:
        """The replicas that their brokers serve, dir by dir."""
        return (each for log_dir in self.dirs for each in log_dir.current)


@frozen
class Home:
    """Whose log dir something is to be: the dir that has its `identity`, its node, and whose rules count."""

    identity: LogDir
    broker: BrokerDirs
    release: Release


def by_node_id_alone(node_id: int, clusters: Mapping[str, str | None]) -> Iterator[str]:
    """In words, the dirs of a node that name no cluster where others do; `clusters` has what each names."""
    if any(clusters.values()):
        yield from (_BY_NODE_ID_ALONE.format(path, node_id) for path, named in clusters.items() if not named)


def _cluster_of(dirs: Iterable[LogDir], strangers: bool) -> str | None:
    """The cluster of most of them, the first of several; None if nothing tells."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for log_dir in dirs:
        if (cluster := log_dir.cluster) is not None:
            first.setdefault(cluster, log_dir.path)
            counts[cluster] += 1
    if len(first) > 1 and not strangers:
        told = "; ".join(f"{path} is of {cluster}" for cluster, path in first.items())
        raise UsageError(f"these are {len(first)} clusters: {told}")
    return max(counts, key=counts.__getitem__, default=None)


def _is_strange(log_dir: LogDir, cluster: str | None) -> bool:
    return log_dir.cluster not in (None, cluster)


def _parent(log_dir: LogDir) -> str:
    return log_dir.files.real_path(log_dir.path).rpartition("/")[0]


def _only_ones(dirs: Iterable[LogDir]) -> dict[str, int]:
    """The nodes whose dirs alone lie in a directory: what lies there, too, and names nobody is theirs."""
    nodes: dict[str, set[int]] = {}
    for log_dir in dirs:
        if log_dir.node_id is not None:
            nodes.setdefault(_parent(log_dir), set()).add(log_dir.node_id)
    return {parent: ids.pop() for parent, ids in nodes.items() if len(ids) == 1}


def with_zookeeper(
    brokers: dict[int, BrokerDirs], dirs: Sequence[str]
) -> tuple[dict[int, BrokerDirs], ZooKeeperMetadata | None]:
    """The brokers, told what is in the dataDir of their ZooKeeper, and that; as they are without `dirs`.

    Raises `UsageError` if a broker has no ZooKeeper, or if that is one of another cluster.
    """
    if not dirs:
        return brokers, None
    for node, broker in brokers.items():
        if broker.kraft:
            raise UsageError(f"--zookeeper: node {node} runs with KRaft, and its metadata is on its disks")
    ids = (each.cluster_id for broker in brokers.values() for each in broker.identities)
    told = zookeeper_metadata(dirs, next(filter(None, ids), None))
    return {node: broker.told(told.image) for node, broker in brokers.items()}, told
