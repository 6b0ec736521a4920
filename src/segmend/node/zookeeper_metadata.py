"""The cluster's metadata as ZooKeeper has it: replicas, in-sync replicas, settings (`ZkData`).

Topics have ids there since 2.8 (KIP-516); one without is known by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from segmend.errors import UsageError
from segmend.formats.cursor import Malformed
from segmend.formats.json_text import integer, parse_object
from segmend.frozen import frozen
from segmend.logdir.zookeeper import ZooKeeperData, read_data
from segmend.node.metadata_image import MetadataImage, PartitionLeader

TOPICS = "/brokers/topics"
_TOPIC = re.compile(rf"{TOPICS}/([^/]+)")
_STATE = re.compile(rf"{TOPICS}/([^/]+)/partitions/(\d{{1,9}})/state")
_NUMBER = re.compile(r"\d{1,9}")
_CONFIG = re.compile(r"/config/(topics|brokers)/([^/]+)")
_DEFAULT = "<default>"
NO_NEWER = (
    "that no other ZooKeeper server has newer data than what was given (transaction {:#x}), and that it has "
    "ended the sessions of the brokers before they start (else they end: NodeExists)"
)
_DELETES = "when topic {} is deleted: it is marked for that in ZooKeeper (admin/delete_topics)"
_MOVES = "a reassignment of partitions goes on (admin/reassign_partitions in ZooKeeper)"
_MIGRATED = "what the KRaft controllers know: ZooKeeper has /migration, so they took over (KIP-866)"


@frozen
class ZooKeeperMetadata:
    """`image` of one cluster; `assumed` of the data and `unknown` of it."""

    image: MetadataImage
    assumed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def zookeeper_metadata(dirs: Sequence[str], cluster_id: str | None) -> ZooKeeperMetadata:
    """What ZooKeeper's dataDir has of that cluster; raises `UsageError` if it knows none, or several."""
    data = read_data(dirs)
    root = _root(data, cluster_id, dirs)
    tree = {path[len(root) :]: value for path, value in data.tree.items() if path.startswith(f"{root}/")}
    doubts = list(data.doubts)
    image = _image(tree, doubts)
    unknown = (*doubts, *_pending(tree))
    return ZooKeeperMetadata(image=image, assumed=(NO_NEWER.format(data.zxid),), unknown=unknown)


def _root(data: ZooKeeperData, cluster_id: str | None, dirs: Sequence[str]) -> str:
    """The path in `zookeeper.connect` behind the servers."""
    roots = [path.removesuffix(TOPICS) for path in data.tree if path.endswith(TOPICS)]
    known = {root: _object(data.tree.get(f"{root}/cluster/id", b""), []).get("id") for root in roots}
    candidates = [root for root, its in known.items() if its == cluster_id]
    candidates = candidates or [root for root, its in known.items() if None in (its, cluster_id)]
    if len(candidates) != 1:
        wanted = "a Kafka cluster" if cluster_id is None else f"cluster {cluster_id}"
        count = "no data" if not candidates else f"the data of {len(candidates)} that may be it"
        raise UsageError(f"--zookeeper {' '.join(dirs)}: it has {count} of {wanted}")
    return candidates[0]


def _object(value: bytes, doubts: list[str], path: str = "") -> dict[str, object]:
    try:
        return parse_object(value)
    except Malformed as error:
        doubts.append(f"{path} in ZooKeeper: {error.reason}")
        return {}


def _image(tree: Mapping[str, bytes], doubts: list[str]) -> MetadataImage:
    image = MetadataImage()
    for path, value in tree.items():
        topic, config = _TOPIC.fullmatch(path), _CONFIG.fullmatch(path)
        if topic is not None:
            _assign(image, topic[1], _object(value, doubts, path))
        elif config is not None:
            _configure(image, config[1], config[2], _object(value, doubts, path))
    for path, value in tree.items():
        state = _STATE.fullmatch(path)
        key = None if state is None else (image.ids.get(state[1], ""), int(state[2]))
        if key in image.replicas:
            told = _object(value, doubts, path)
            image.leaders[key] = PartitionLeader(
                leader=_or(integer(told, "leader", 32), -1),
                epoch=_or(integer(told, "leader_epoch", 32), 0),
                isr=_ids(told.get("isr")),
                removing=image.leaders[key].removing,
            )
    return image


def _assign(image: MetadataImage, topic: str, told: Mapping[str, object]) -> None:
    """Its replicas; one that never had a leader gets its first of any that live."""
    given = told.get("topic_id")
    topic_id = given if isinstance(given, str) else topic
    image.names[topic_id], image.ids[topic] = topic, topic_id
    partitions, removing = told.get("partitions"), told.get("removing_replicas")
    goes = removing if isinstance(removing, dict) else {}
    for number, replicas in (partitions if isinstance(partitions, dict) else {}).items():
        if _NUMBER.fullmatch(number):
            key, nodes = (topic_id, int(number)), _ids(replicas)
            image.replicas[key] = nodes
            image.leaders[key] = PartitionLeader(isr=nodes, removing=_ids(goes.get(number)))


def _configure(image: MetadataImage, kind: str, name: str, told: Mapping[str, object]) -> None:
    config = told.get("config")
    pairs = config.items() if isinstance(config, dict) else ()
    settings = {str(key): str(value) for key, value in pairs}
    if kind == "topics":
        image.configs[name] = settings
    else:
        image.brokers["" if name == _DEFAULT else name] = settings


def _ids(told: object) -> tuple[int, ...]:
    return tuple(each for each in told if isinstance(each, int)) if isinstance(told, list) else ()


def _or(number: int | None, other: int) -> int:
    return other if number is None else number


def _pending(tree: Mapping[str, bytes]) -> Iterator[str]:
    """What controllers do once they are up, and no forecast knows how far they come."""
    deletes = "/admin/delete_topics/"
    for path in sorted(tree):
        if path.startswith(deletes):
            yield _DELETES.format(path.removeprefix(deletes))
    if "/admin/reassign_partitions" in tree:
        yield _MOVES
    if "/migration" in tree:
        yield _MIGRATED
