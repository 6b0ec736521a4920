"""Whether a start serves a replica, by the cluster's metadata on these disks; and the id by which it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.strays import MISSING_TOPIC_ID, STRAYS, MissingTopicId, StrayHandling, stray_reason
from segmend.errors import SegmendError, UsageError
from segmend.formats.kafka_uuid import ZERO, parse_uuid, uuid_text
from segmend.formats.partition_metadata import FILE_NAME, PartitionMetadata, render
from segmend.frozen import frozen
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage
from segmend.node.topic_identity import others_that_may_lead
from segmend.surgery.fingerprint import Fingerprint, hash_bytes, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.plan import Loss
from segmend.surgery.steps.replace_file import ReplaceFile, refuse_other_kind

CURRENT = "current"


NO_METADATA = "no metadata on these disks: whether the cluster has this id for the topic cannot be told here"
NO_TOPIC_IDS = "Kafka {} knows no topic ids; they came with 2.8"
EVEN_STRAY = "also if the metadata on these disks does not expect such a replica"


@frozen
class ExpectedReplica:
    """A replica as it is to be served: topic and number, and the topic id in its partition.metadata."""

    broker: BrokerDirs
    topic: str
    number: int
    topic_id: str | None
    path: str

    @property
    def nodes(self) -> Sequence[int]:
        """The nodes that are to hold it, as far as the metadata here tells."""
        image = self.broker.metadata
        return (
            ()
            if image is None or self.topic_id is None
            else image.replicas.get((self.topic_id, self.number), ())
        )

    @property
    def others_that_may_lead(self) -> set[int]:
        return others_that_may_lead(self.broker, self.topic_id, self.number)

    def cut_off(self, partition: PartitionDir) -> Iterator[Loss]:
        """Of records that were another topic's, what a leader elsewhere does not have: nobody looked."""
        nodes = self.others_that_may_lead
        if nodes and partition.size:
            first = min(partition.layout.logs)
            yield Loss.of_unknown_size(
                partition.log_dir.path, self.topic, self.number, first, who_cuts(sorted(nodes))
            )

    def unexpected(self, *, renames: str = "renames it to -stray") -> str | None:
        """Why a start would not serve it, in Kafka's words and what then happens; None if it would."""
        broker = self.broker
        handling, image = STRAYS.of(broker.release), broker.image
        if not broker.kraft or handling is StrayHandling.NONE:
            return None
        named = self.topic if image is None else image.names.get(self.topic_id or "", self.topic)
        if named != self.topic:
            return f"its topic id {self.topic_id} is that of topic {named}"
        reason = stray_reason(
            image, topic_id=self.topic_id, partition=self.number, node_id=broker.node_id, path=self.path
        )
        if reason is None:
            return None
        if self.topic_id is None and MISSING_TOPIC_ID.of(broker.release) is MissingTopicId.FATAL:
            return f"{reason} Kafka {broker.release} would not start"
        return f"{reason} The next start {'deletes it' if handling is StrayHandling.DELETE else renames}"

    def newer_epochs(self, partition: PartitionDir) -> Iterator[str]:
        """What it means that a log knows leader epochs that its topic, being new, has not come to."""
        image, epochs = self.broker.metadata, partition.leader_epochs.value
        leader = None if image is None else image.leaders.get((self.topic_id or "", self.number))
        last = epochs.entries[-1].epoch if epochs is not None and epochs.entries else None
        if leader is not None and last is not None and leader.epoch < last:
            yield (
                f"{self.path}: its log has leader epochs up to {last}, and the topic is at {leader.epoch}: "
                "as its leader a broker forgets the higher ones, and says so; a consumer that goes on where "
                "it was may be sent back (OffsetsForLeaderEpoch knows its epoch no more)"
            )
            if len(self.nodes) > 1:  # as on 4.3.1: nothing was lost, the leader was alone in the ISR
                yield (
                    f"{self.path}: the replicas on nodes {', '.join(map(str, self.nodes))} that know these "
                    f"epochs do not come into sync before the topic is past epoch {last}: each election of "
                    "its leader (a restart of that node) raises it; until then the leader is alone; or, once "
                    "it leads, stop each of them and graft it from the leader's files (segmend plan graft "
                    "--live-source)"
                )


def who_cuts(nodes: Sequence[int]) -> str:
    """What it means that a replica has records which these nodes may lead without."""
    return (
        f"node{'s' * (len(nodes) > 1)} {', '.join(map(str, nodes))} may lead by the metadata here: what that "
        "log does not have is cut off here, and no undo brings it back"
    )


def refuse_other_topic(source: PartitionDir, image: MetadataImage | None) -> None:
    """The id that counts is the one that the cluster has now; a replica of another one becomes a stray.

    Raises `SegmendError`.
    """
    wanted = None if image is None else image.ids.get(source.topic)
    if wanted is not None and source.topic_id is not None and wanted != source.topic_id:
        raise SegmendError(
            f"{source.path}: is of a topic with the id {source.topic_id}; "
            f"in this cluster {source.topic} has {wanted}"
        )


def wished_id(wish: str, topic: str, broker: BrokerDirs) -> str:
    """What `--topic-id` means: an id, or `current`, the one that the topic has now. `UsageError`.

    Raises `SegmendError` for that of another topic: however old the metadata is, no topic changes its name.
    """
    if wish == CURRENT:
        current = None if broker.metadata is None else broker.metadata.ids.get(topic)
        if current is None:
            raise UsageError(f"--topic-id {CURRENT}: the metadata on these disks knows no topic '{topic}'")
        return current
    try:
        raw = parse_uuid(wish)
    except ValueError as error:
        raise UsageError(f"--topic-id {wish}: {error}; give {CURRENT}, or an id") from None
    if raw == ZERO:
        raise UsageError(f"--topic-id {wish}: no topic has this id")
    owner = topic if broker.metadata is None else broker.metadata.names.get(uuid_text(raw), topic)
    if owner != topic:
        raise SegmendError(f"--topic-id {wish}: is that of topic {owner}, and {topic} would not be served")
    return uuid_text(raw)


def topic_id_step(
    partition: PartitionDir,
    path: str,
    topic_id: str | None,
    reason: str,
    *,
    before: Fingerprint | None = None,
) -> ReplaceFile:
    """`path` is what the directory is called by then, `before` the file in it by then: as now, if not given.

    A new file is dressed as the old one, else as its directory. `SegmendError` for what is no file.
    """
    data = render(PartitionMetadata(topic_id=topic_id))
    own = look(f"{partition.path}/{FILE_NAME}")
    refuse_other_kind(f"{partition.path}/{FILE_NAME}", own)
    home = look(partition.path, content=False)
    like = own if own.kind == "file" else home.but(kind="file", mode=0o644, xattrs=None)
    return ReplaceFile(
        path=f"{path}/{FILE_NAME}", before=before or own,
        after=like.but(size=len(data), sha256=hash_bytes(data)), content=NewBytes.inline(data), reason=reason,
    )  # fmt: skip
