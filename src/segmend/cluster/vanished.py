"""Partitions that are in none of the dirs of several brokers, and that something there knows to have been.

The metadata assigns them to a dir that is among these, or a checkpoint has lines of them, as of all logs
that a broker has in a dir (`LogManager.checkpointLogRecoveryOffsets`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import Key
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

Wants = Callable[[Key], bool]
"""Whether a partition is asked for."""


def vanished(fleet: FleetDirs) -> dict[Key, str]:
    """By topic and partition: how it is known, and that it is in none of these.

    What a running broker made since they were listed is not gone.
    """
    reasons: dict[Key, str] = {}
    for cluster in fleet.clusters:
        image = cluster.image
        reasons |= {} if image is None else dict(_assigned(image, cluster.brokers))
        for log_dir in cluster.dirs:
            for key, end in in_checkpoints(log_dir, image):
                reasons[key] = f"{key[0]}-{key[1]}: {reach(log_dir, end)}, and none of these dirs has it"
    gone = reasons.keys() - _in(fleet)
    if gone:
        gone -= _in(fleet.afresh())
    return {key: reasons[key] for key in sorted(gone)}


def _in(fleet: FleetDirs) -> set[Key]:
    return {partition.key for partition in fleet.served()}


def _assigned(image: MetadataImage, brokers: Mapping[int, BrokerDirs]) -> Iterator[tuple[Key, str]]:
    for (topic_id, partition), replicas in image.replicas.items():
        name = image.names.get(topic_id, "")
        for node in replicas if name else ():
            if node in brokers and _has_home(image, topic_id, partition, node, brokers[node]):
                words = f"by the metadata log broker {node} has it, and none of these dirs does"
                yield (name, partition), f"{name}-{partition}: {words}"


def _has_home(image: MetadataImage, topic_id: str, partition: int, node: int, broker: BrokerDirs) -> bool:
    """Whether the dir in which the node is to have its replica is here: for certain since KIP-858 only."""
    registered, here = {*image.log_dirs.get(node, ())}, {each.directory_id for each in broker.dirs}
    home = image.directory(topic_id, partition, node)
    return home in here if home in registered else bool(registered) and registered <= here


def in_checkpoints(log_dir: LogDir, image: MetadataImage | None) -> Iterator[tuple[Key, int]]:
    """What its lines have, and up to which offset, as far as the metadata has it there, if there is any."""
    node = log_dir.node_id
    ends = {
        key: max(log_dir.recovery_points.get(key, 0), log_dir.high_watermarks.get(key, 0))
        for key in log_dir.recovery_points.keys() | log_dir.high_watermarks.keys()
    }
    if image is None and not log_dir.current and len(ends) == 1:
        return  # Whoever deletes the last partition of a dir may leave its line.
    told = {partition.key for partition in log_dir.partitions if partition.kind in ("delete", "future")}
    for key, end in ends.items():
        topic, partition = key
        wanted = image is None or (
            image.assigned(topic, partition, node)
            and image.directory(image.ids[topic], partition, node) in (None, log_dir.directory_id)
        )
        if end > 0 and wanted and key not in told:
            yield key, end


def reach(log_dir: LogDir, end: int) -> str:
    return f"its lines in the checkpoints of {log_dir.path} reach to offset {end}"
