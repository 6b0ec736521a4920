"""`partition.metadata`, with the topic id that the cluster's metadata or a sibling replica knows.

Arguments: `topic_id`, 22 characters. Byte for byte what every broker since 2.8 writes.
"""

from __future__ import annotations

from segmend.formats import partition_metadata
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments


def build(_log_dir: LogDir, _partition: str, arguments: Arguments, _release: Release) -> bytes:
    return partition_metadata.render(PartitionMetadata(topic_id=str(arguments["topic_id"])))
