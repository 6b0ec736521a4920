"""Whether a partition's partition.metadata is wrong, or the whole directory: what these disks prove.

The id of a topic stands in the cluster's metadata. That the records belong to the topic of the directory's
name is another matter: a directory that was renamed, copied or swapped has its own id with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs

_COMPARED = 64 << 10


def why_not_the_file(broker: BrokerDirs, partition: PartitionDir) -> str | None:
    """Why it is not proven that its partition.metadata alone is wrong; None where it is."""
    image, topic_id = broker.metadata, partition.topic_id
    if image is None or partition.topic not in image.ids:
        return "the cluster's metadata on these disks does not tell the topic's id"
    if not image.assigned(partition.topic, partition.partition, broker.node_id):
        return "the cluster's metadata does not assign this partition to this node"
    owner = None if topic_id is None else image.names.get(topic_id)
    if owner is None:
        return (
            f"no topic of the cluster has the id {topic_id}: the records may be those of a topic that is gone"
        )
    namesake = next(_current(broker, owner, partition.partition), None)
    if namesake is None:
        return f"{owner}-{partition.partition} is not on these disks: this may be its directory, renamed"
    if namesake.topic_id == image.ids[partition.topic]:
        return f"it and {namesake.path} have each other's id: give the directories each other's name"
    if _beginning(namesake) == _beginning(partition):
        return f"it begins as {namesake.path} does: it may be a copy of that directory"
    return None


def of_no_topic(broker: BrokerDirs, partition: PartitionDir) -> bool:
    """Whether the cluster knows the topic's id, and no topic with the one in the partition.metadata."""
    image, topic_id = broker.metadata, partition.topic_id
    if image is None or topic_id is None or topic_id in image.names or partition.topic not in image.ids:
        return False
    return image.assigned(partition.topic, partition.partition, broker.node_id)


def others_that_may_lead(broker: BrokerDirs, topic_id: str | None, number: int) -> set[int]:
    """Other nodes that are in sync by the metadata here, or may be elected without being so (KIP-966).

    A follower keeps nothing that its leader does not have.
    """
    image = broker.metadata
    leader = None if image is None else image.leaders.get((topic_id or "", number))
    able = () if leader is None else (*leader.isr, *leader.elr)
    return {node for node in able if node != broker.node_id}


def twin_of(broker: BrokerDirs, partition: PartitionDir) -> PartitionDir | None:
    """Another directory that is the same partition and has the topic's id in the cluster's metadata."""
    known = None if broker.metadata is None else broker.metadata.ids.get(partition.topic)
    if known is None:
        return None
    twins = _current(broker, partition.topic, partition.partition)
    return next((each for each in twins if each.path != partition.path and each.topic_id == known), None)


def _current(broker: BrokerDirs, topic: str, number: int) -> Iterator[PartitionDir]:
    yield from (each for each in broker.current if (each.topic, each.partition) == (topic, number))


def _beginning(partition: PartitionDir) -> bytes:
    """The first bytes of its log, which have the time of the first batch."""
    for segment in partition.segments:
        if segment.log is None:
            continue
        try:
            with segment.log.reader() as reader:
                return reader.read(min(_COMPARED, reader.size), 0)
        except Unreadable:
            return b""
    return b""
