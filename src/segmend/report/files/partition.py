"""`partition.metadata`: the topic id."""

from __future__ import annotations

from segmend.formats import partition_metadata
from segmend.report.fields import ShownField
from segmend.report.files import Rows

KIND = "partition-metadata"
NAMES = (partition_metadata.FILE_NAME,)
FIELDS = (ShownField("version", "VERSION"), ShownField("topic_id", "TOPIC ID", right=False))


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001
    """One row."""
    value, damages = partition_metadata.parse(data)
    return [{"type": "partition-metadata", "version": value.version, "topic_id": value.topic_id}], damages
