"""A directory that no broker serves, judged as the replica it would be under its plain name."""

from __future__ import annotations

from collections.abc import Sequence

from segmend.broker.sanity import TIME_INDEX
from segmend.errors import SegmendError, UsageError
from segmend.formats import offset_index, time_index
from segmend.formats.names import RENAMED_KINDS, DirName
from segmend.frozen import frozen
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release
from segmend.logdir.tree import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.planning.expected import ExpectedReplica, wished_id
from segmend.surgery.request import Request


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
        return self.partition.partition

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.number}"

    @property
    def target(self) -> str:
        """Where it goes: beside where it is."""
        return f"{self.partition.log_dir.path}/{self.name}"

    @property
    def key(self) -> tuple[str, int]:
        return self.topic, self.number

    @property
    def _replica(self) -> ExpectedReplica:
        return ExpectedReplica(
            broker=self.broker, topic=self.topic, number=self.number, topic_id=self.topic_id, path=self.target
        )

    @property
    def replicas(self) -> Sequence[int]:
        """The nodes that are to hold it, as far as the metadata here tells."""
        return self._replica.nodes

    @property
    def sole(self) -> bool:
        """Whether this node holds the only replica."""
        return tuple(self.replicas) == (self.broker.node_id,)

    def unexpected(self) -> str | None:
        """Why a start would not serve it, in Kafka's words and what then happens; None if it would."""
        return self._replica.unexpected(renames="renames it to -stray again")

    def load(self) -> LoadedLog:
        """As the next start will load it; the log end offset is in `after`. Raises `SegmendError`."""
        parsed = DirName(self.name, "current", self.topic, self.number)
        partition = PartitionDir(self.partition.log_dir, self.partition.name, parsed)
        clean = partition.log_dir.is_clean
        last = max(partition.layout.logs, default=0)
        # Under the clean marker at most the active segment is recovered, if its index is set aside.
        loaded = load(
            partition, Settings(release=self.broker.release, clean=False, recovery_point=last if clean else 0)
        )
        if loaded.failure is not None:
            raise SegmendError(
                f"{self.partition.path}: no broker can load it: {loaded.failure} (segmend check tells more)"
            )
        return loaded


def adoption(request: Request[object], name: str, wish: str | None) -> Adoption:
    """What `--directory` names; `wish` is `--topic-id`. Raises `UsageError`, `SegmendError`."""
    partition = _named(request, name)
    metadata = request.broker.metadata
    partition.partition_metadata.readable()
    old_id = partition.topic_id
    topic_id = old_id if wish is None else wished_id(wish, partition.topic, request.broker)
    known = "" if metadata is None or topic_id is None else metadata.names.get(topic_id, "")
    return Adoption(
        partition=partition, topic=known if known.startswith(partition.topic) else partition.topic,
        old_id=old_id, topic_id=topic_id, broker=request.broker,
    )  # fmt: skip


def _named(request: Request[object], name: str) -> PartitionDir:
    plain = name.rstrip("/").rpartition("/")[2]
    matching = [p for d in request.dirs for p in d.partitions if p.name == plain]
    if "/" in name.rstrip("/"):
        matching = [
            p
            for p in matching
            if request.dir_called(name.rstrip("/").rpartition("/")[0], "--directory") is p.log_dir
        ]
    if not matching:
        raise UsageError(f"--directory {name}: no such directory of a partition ({', '.join(request.given)})")
    if len(matching) > 1:
        raise UsageError(f"--directory {name}: in {len(matching)} log dirs; give its path")
    if matching[0].kind not in RENAMED_KINDS:
        raise UsageError(f"--directory {name}: is no -stray, -delete or -future directory")
    if matching[0].is_link:
        raise UsageError(f"--directory {name}: is a symbolic link; adopt what it points to by hand")
    if matching[0].unreadable is not None:
        raise matching[0].unreadable
    return matching[0]


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
