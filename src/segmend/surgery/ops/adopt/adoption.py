"""A directory that no broker serves, judged as the replica it would be under its plain name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.sanity import TIME_INDEX
from segmend.broker.strays import (
    MISSING_TOPIC_ID,
    STRAYS,
    MissingTopicId,
    StrayHandling,
    stray_reason,
)
from segmend.errors import SegmendError, UsageError
from segmend.formats import offset_index, time_index
from segmend.formats.kafka_uuid import ZERO, parse_uuid, uuid_text
from segmend.formats.names import DirName
from segmend.frozen import frozen
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir, PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage
from segmend.surgery.request import Request

CURRENT = "current"
_KINDS = ("stray", "delete", "future")


@frozen
class Adoption:
    """The directory, and the name and topic id under which it is to be served.

    `topic` is that of the name, or of the id where a long name was cut; `old_id` the id in its
    partition.metadata.
    """

    partition: PartitionDir
    topic: str
    old_id: str | None
    topic_id: str | None
    broker: BrokerDirs

    @property
    def number(self) -> int:
        """The partition number."""
        return self.partition.partition

    @property
    def name(self) -> str:
        """TOPIC-N."""
        return f"{self.topic}-{self.number}"

    @property
    def target(self) -> str:
        """Where it goes: beside where it is."""
        return f"{self.partition.log_dir.path}/{self.name}"

    @property
    def key(self) -> tuple[str, int]:
        """Topic and number."""
        return self.topic, self.number

    @property
    def replicas(self) -> Sequence[int]:
        """The nodes that are to hold it, as far as the metadata here tells."""
        metadata = self.broker.metadata
        if metadata is None or self.topic_id is None:
            return ()
        return metadata.replicas.get((self.topic_id, self.number), ())

    @property
    def sole(self) -> bool:
        """Whether this node holds the only replica."""
        return tuple(self.replicas) == (self.broker.node_id,)

    def unexpected(self) -> str | None:
        """Why a start would not serve it, in Kafka's words and what then happens; None if it would."""
        broker = self.broker
        handling, image = STRAYS.of(broker.release), broker.image
        if not broker.kraft or handling is StrayHandling.NONE:
            return None
        named = self.topic if image is None else image.names.get(self.topic_id or "", self.topic)
        if named != self.topic:
            return f"its topic id {self.topic_id} is that of topic {named}"
        reason = stray_reason(
            image, topic_id=self.topic_id, partition=self.number, node_id=broker.node_id, path=self.target
        )
        if reason is None:
            return None
        if self.topic_id is None and MISSING_TOPIC_ID.of(broker.release) is MissingTopicId.FATAL:
            return f"{reason} Kafka {broker.release} would not start"
        does = "deletes it" if handling is StrayHandling.DELETE else "renames it to -stray again"
        return f"{reason} The next start {does}"

    def load(self) -> LoadedLog:
        """As the next start will load it; the log end offset is in `after`. Raises `SegmendError`."""
        parsed = DirName(self.name, "current", self.topic, self.number)
        partition = PartitionDir(self.partition.log_dir, self.partition.name, parsed)
        clean = partition.log_dir.is_clean
        last = max(partition.layout.logs, default=0)
        # Under the clean marker at most the active segment is recovered, if its index is set aside.
        found = load(
            partition, Settings(release=self.broker.release, clean=False, recovery_point=last if clean else 0)
        )
        if found.failure is not None:
            raise SegmendError(
                f"{self.partition.path}: no broker can load it: {found.failure} (segmend check tells more)"
            )
        return found


def adoption(request: Request[object], name: str, wish: str | None) -> Adoption:
    """What `--directory` names; `wish` is `--topic-id`. Raises `UsageError`, `SegmendError`."""
    partition = _named(request, name)
    metadata = request.broker.metadata
    partition.partition_metadata.readable()
    old_id = partition.topic_id
    topic_id = old_id if wish is None else _wished(wish, partition, metadata)
    known = "" if metadata is None or topic_id is None else metadata.names.get(topic_id, "")
    return Adoption(
        partition=partition, topic=known if known.startswith(partition.topic) else partition.topic,
        old_id=old_id, topic_id=topic_id, broker=request.broker,
    )  # fmt: skip


def _named(request: Request[object], name: str) -> PartitionDir:
    plain = name.rstrip("/").rpartition("/")[2]
    found = [p for d in request.dirs for p in d.partitions if p.name == plain]
    if "/" in name.rstrip("/"):
        found = [
            p
            for p in found
            if request.dir_called(name.rstrip("/").rpartition("/")[0], "--directory") is p.log_dir
        ]
    if not found:
        raise UsageError(f"--directory {name}: no such directory of a partition ({', '.join(request.given)})")
    if len(found) > 1:
        raise UsageError(f"--directory {name}: in {len(found)} log dirs; give its path")
    if found[0].kind not in _KINDS:
        raise UsageError(f"--directory {name}: is no -stray, -delete or -future directory")
    if found[0].is_link:
        raise UsageError(f"--directory {name}: is a symbolic link; adopt what it points to by hand")
    if found[0].unreadable is not None:
        raise found[0].unreadable
    return found[0]


def _wished(wish: str, partition: PartitionDir, metadata: MetadataImage | None) -> str:
    if wish == CURRENT:
        found = None if metadata is None else metadata.ids.get(partition.topic)
        if found is None:
            raise UsageError(
                f"--topic-id {CURRENT}: the metadata on these disks knows no topic '{partition.topic}'"
            )
        return found
    try:
        raw = parse_uuid(wish)
    except ValueError as error:
        raise UsageError(f"--topic-id {wish}: {error}; give {CURRENT}, or an id") from None
    if raw == ZERO:
        raise UsageError(f"--topic-id {wish}: no topic has this id")
    return uuid_text(raw)


def in_the_way(dirs: Sequence[LogDir], found: Adoption) -> Iterator[PartitionDir]:
    """Directories, in any log dir, that a broker takes for the same partition."""
    for log_dir in dirs:
        yield from (partition for partition in log_dir.current if partition.key == found.key)


def is_empty(partition: PartitionDir) -> bool:
    """Whether nothing in it could be a record."""
    layout = partition.layout
    return partition.size == 0 and not (layout.shadowed or layout.swap or layout.cleaned)


def is_closed(partition: PartitionDir, release: Release) -> bool:
    """Whether the indexes of its active segment end as those of a log that was closed: no zeros, no gap."""
    if not partition.layout.logs:
        return True
    active = partition.segments[-1]
    indexes = [(active.index, offset_index.ENTRY_SIZE)]
    if TIME_INDEX.of(release):
        indexes.append((active.timeindex, time_index.ENTRY_SIZE))
    return all(entry is not None and _ends_well(entry, unit) for entry, unit in indexes)


def _ends_well(entry: FileEntry, unit: int) -> bool:
    with entry.reader() as reader:
        whole = reader.size % unit == 0
        return whole and (reader.size == 0 or any(reader.read(unit, reader.size - unit)))
