"""Metadata that is older than logs: they had leaders in epochs that it knows nothing of.

A replica is led in an epoch only after the controllers have agreed on it, and told its node. So a backup was
restored, of the metadata or of one of the node's dirs, and what else is missing there nobody can tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from segmend.cluster.values import Name
from segmend.loading import PartitionOutcome, Service
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage
from segmend.wording import plural

ELECTED = (
    "what the metadata lacks: {} had leaders that it does not know, so it is older than these logs (restored "
    "from a backup?), and neither who was in sync since nor what was acknowledged is told"
)
OWN = (
    "its metadata is older than its own logs ({} had leaders that it does not know): if one of its dirs was "
    "restored from a backup, nobody can tell what else is missing there"
)


def epochs_of(broker: BrokerDirs, replicas: Mapping[Name, PartitionOutcome]) -> Iterator[tuple[Name, int]]:
    """The newest leader epoch of each log that the node serves."""
    for log_dir in broker.dirs:
        for partition in log_dir.current:
            line, value = replicas.get(partition.key), partition.leader_epochs.value
            if line is not None and line.dir == log_dir.path and line.outcome == Service.SERVED and value:
                yield partition.key, max((entry.epoch for entry in value.entries), default=0)


def ahead(epochs: Mapping[Name, int], image: MetadataImage) -> frozenset[Name]:
    """The logs that are newer than what the metadata knows of them."""
    known = {
        (image.names[topic_id], number): leader.epoch
        for (topic_id, number), leader in image.leaders.items()
        if topic_id in image.names
    }
    return frozenset(name for name, epoch in epochs.items() if epoch > known.get(name, epoch))


def told(words: str, names: Collection[Name]) -> Iterator[str]:
    """One sentence for all of them, if there are any."""
    if names:
        others = f" and {plural(len(names) - 1, 'other')}" if len(names) > 1 else ""
        topic, number = min(names)
        yield words.format(f"{topic}-{number}{others}")
