"""Whether records of a log may be in remote storage (KIP-405), as far as a disk tells."""

from __future__ import annotations

from segmend.broker.remote_storage import ENABLED
from segmend.formats.config_values import boolean
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_image import MetadataImage


def may_be_tiered(partition: PartitionDir, image: MetadataImage) -> bool:
    """By the topic's settings; without them by a log that starts before its first segment."""
    if partition.topic in image.ids:
        return boolean(image.configs.get(partition.topic, {}).get(ENABLED)) is True
    start = partition.log_dir.log_start_offsets.get(partition.key)
    return start is not None and 0 <= start < min(partition.layout.logs, default=0)
