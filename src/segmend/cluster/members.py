"""Whose log dir is whose: the dirs of several brokers told apart by server.properties or meta.properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from segmend.errors import UsageError
from segmend.frozen import field, frozen
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.zookeeper_metadata import ZooKeeperMetadata, zookeeper_metadata

NOBODYS = "{}: no meta.properties tells which node's it is"
_STRANGER = (
    "{}: it is of cluster {}, and most of these dirs of {}; give the dirs of that cluster by themselves"
)


@frozen
class Members:
    """The brokers by node id, and the dirs of which nobody can tell whose they are, with the reason."""

    brokers: dict[int, BrokerDirs] = field(default_factory=dict)
    unplaced: tuple[str, ...] = ()


def members(
    dirs: Iterable[LogDir],
    release: Release | None = None,
    configs: Mapping[int, ServerConfig] = MappingProxyType({}),
    *,
    strangers: bool = False,
) -> Members:
    """Tell them apart; raises `UsageError` if they are of more than one cluster.

    `configs` are the server.properties of nodes, as far as they were given: a dir is whose log.dirs has it.
    With `strangers` they may be: the cluster is that of most, and a dir of another one is the node's all the
    same whose log.dirs has it, or beside whose dirs alone it lies, which refuses to start with it.
    """
    placed = {disk.real_path(path): node for node, config in configs.items() for path in config.all_dirs}
    homes: dict[int, list[LogDir]] = {}
    unplaced, every = [], list(dirs)
    cluster = _cluster_of(every, strangers)
    beside = _only_ones(each for each in every if not _is_strange(each, cluster))
    for log_dir in every:
        identity, strange = log_dir.meta_properties.value, _is_strange(log_dir, cluster)
        stored = None if identity is None or strange else identity.node_id
        if stored is None and not log_dir.unreadable:
            stored = beside.get(_parent(log_dir))
        node_id = placed.get(log_dir.files.real_path(log_dir.path), stored)
        if node_id is not None:
            homes.setdefault(node_id, []).append(log_dir)
        elif identity is not None and strange:
            unplaced.append(_STRANGER.format(log_dir.path, identity.cluster, cluster))
        else:
            unplaced.append(str(log_dir.unreadable or NOBODYS.format(log_dir.path)))
    absent = sorted(configs.keys() - homes.keys())
    if absent:
        raise UsageError(f"--config: no dir of node {absent[0]} was given")
    brokers = {
        node_id: BrokerDirs(homes[node_id], release=release, given=configs.get(node_id))
        for node_id in sorted(homes)
    }
    return Members(brokers=brokers, unplaced=tuple(unplaced))


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
