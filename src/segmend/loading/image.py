"""The cluster's metadata as this node has it on disk: topics, replicas, topic settings.

Read from the newest snapshot and the log of `__cluster_metadata-0`, as `MetadataLoader` and
`MetadataImage` build it. What cannot be read is left out: the image then says less, not wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from segmend.formats.record import iter_records
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import PartitionDir
from segmend.topics.metadata import decode

_TOPIC_RESOURCE, _BROKER_RESOURCE = 2, 4
_BATCH_LIMIT = 64 << 20

Data = Mapping[str, Any]


@dataclass(slots=True)
class MetadataImage:
    """Replicas and their directory ids by (topic id, partition), names by id, ids by name, settings.

    `configs` are those of topics, `brokers` what was changed while brokers ran ("": for all of them).
    """

    names: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    replicas: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    directories: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    brokers: dict[str, dict[str, str]] = field(default_factory=dict)

    def dynamic(self, node_id: int | None) -> dict[str, str]:
        """Settings of the broker that were changed while it ran: for all brokers, then for this one."""
        return {**self.brokers.get("", {}), **self.brokers.get(str(node_id), {})}

    def assigned(self, topic: str, partition: int, node_id: int | None) -> bool:
        """Whether this node is to hold a replica of the partition."""
        topic_id = self.ids.get(topic)
        return topic_id is not None and node_id in self.replicas.get((topic_id, partition), ())

    def alone(self, topic: str, partition: int) -> bool:
        """Whether the partition has a single replica."""
        topic_id = self.ids.get(topic)
        return topic_id is not None and len(self.replicas.get((topic_id, partition), ())) == 1

    def directory(self, topic_id: str, partition: int, node_id: int | None) -> str | None:
        """The id of the log dir in which the node is to hold its replica, None if that is not told."""
        key = topic_id, partition
        pairs = zip(self.replicas.get(key, ()), self.directories.get(key, ()), strict=False)
        return next((directory for replica, directory in pairs if replica == node_id), None)

    def apply(self, kind: str, data: Data) -> None:
        """Take one metadata record."""
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, data)

    def _topic(self, data: Data) -> None:
        self.names[data["topicId"]] = data["name"]
        self.ids[data["name"]] = data["topicId"]

    def _partition(self, data: Data) -> None:
        self.replicas[data["topicId"], data["partitionId"]] = tuple(data["replicas"])
        self._assign(data)

    def _change(self, data: Data) -> None:
        replicas = data.get("replicas")
        if replicas is not None:
            self.replicas[data["topicId"], data["partitionId"]] = tuple(replicas)
        self._assign(data)

    def _assign(self, data: Data) -> None:
        directories = data.get("directories")
        if directories is not None:
            self.directories[data["topicId"], data["partitionId"]] = tuple(directories)

    def _remove(self, data: Data) -> None:
        topic_id = data["topicId"]
        name = self.names.pop(topic_id, None)
        if name is not None and self.ids.get(name) == topic_id:
            del self.ids[name]
            self.configs.pop(name, None)
        for key in [key for key in self.replicas if key[0] == topic_id]:
            del self.replicas[key]

    def _config(self, data: Data) -> None:
        kinds = {_TOPIC_RESOURCE: self.configs, _BROKER_RESOURCE: self.brokers}
        if data["resourceType"] not in kinds:
            return
        settings = kinds[data["resourceType"]].setdefault(data["resourceName"], {})
        if data["value"] is None:
            settings.pop(data["name"], None)
        else:
            settings[data["name"]] = data["value"]


_HANDLERS = {
    "TOPIC_RECORD": MetadataImage._topic,
    "PARTITION_RECORD": MetadataImage._partition,
    "PARTITION_CHANGE_RECORD": MetadataImage._change,
    "REMOVE_TOPIC_RECORD": MetadataImage._remove,
    "CONFIG_RECORD": MetadataImage._config,
}


def read_image(partition: PartitionDir) -> MetadataImage | None:
    """The image in a `__cluster_metadata-0`; None if nothing in it can be read."""
    image = MetadataImage()
    applied = 0
    start = 0
    snapshots = partition.kraft_snapshots
    if snapshots:
        newest = max(snapshots, key=lambda file: (file.parsed.base_offset or 0, file.parsed.epoch or 0))
        start = newest.parsed.base_offset or 0
        applied += _apply(image, newest, -1)
    for segment in partition.segments:
        if segment.log is not None and (segment.next_base_offset is None or segment.next_base_offset > start):
            applied += _apply(image, segment.log, start)
    return image if applied else None


def _apply(image: MetadataImage, log: FileEntry, start: int) -> int:
    """Apply what a log or snapshot holds from offset `start` on; returns the number of records."""
    count = 0
    try:
        for value in _values(log, start):
            found = decode(None, value)["value"]
            data = found.get("data") if isinstance(found, Mapping) else None
            if isinstance(data, Mapping):
                image.apply(found["type"], data)
                count += 1
    except Unreadable:
        return count
    return count


def _values(log: FileEntry, start: int) -> Iterator[bytes]:
    with log.reader() as reader:
        for batch in iter_batches(reader, crc=True):
            if batch.is_control or batch.last_offset < start or batch.size > _BATCH_LIMIT:
                continue
            data = reader.read(batch.size, batch.position)
            for record in iter_records(data, batch, [], limit=_BATCH_LIMIT):
                if record.offset >= start and record.value is not None:
                    yield record.value
