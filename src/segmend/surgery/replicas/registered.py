"""Whom the newest metadata at hand names as the leader of a partition."""

from __future__ import annotations

from collections.abc import Iterable

from segmend.frozen import frozen
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage, PartitionLeader


@frozen
class Heard:
    """What the metadata says of the partition, and the node that the source's log dir belongs to."""

    registered: PartitionLeader
    source: int | None


def heard_of(key: tuple[str, int], brokers: Iterable[BrokerDirs], source: BrokerDirs | None) -> Heard | None:
    """What the newest metadata at hand says of the partition; None where none does.

    An ISR changes within an epoch: of copies that tell of one epoch, one that has the source in it counts.
    """
    images = (broker.metadata for broker in brokers)
    told = [registered for image in images if image is not None and (registered := _registered(image, key))]
    if not told:
        return None
    node = None if source is None else source.node_id
    newest = max(told, key=lambda each: (each.epoch, node in (each.leader, *each.isr)))
    return Heard(registered=newest, source=node)


def _registered(image: MetadataImage, key: tuple[str, int]) -> PartitionLeader | None:
    return image.leaders.get((image.ids.get(key[0], ""), key[1]))
