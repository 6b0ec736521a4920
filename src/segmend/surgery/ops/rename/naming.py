"""The new name of each partition, by Kafka's rules for names, and the id of its new topic."""

from __future__ import annotations

from collections.abc import Sequence

from segmend.broker.checkpoints import TOPIC_IDS
from segmend.errors import UsageError
from segmend.formats.names import CLUSTER_METADATA_TOPIC, MAX_TOPIC_LENGTH, is_legal_topic, topics_collide
from segmend.frozen import frozen
from segmend.logdir.tree import PartitionDir
from segmend.surgery.planning.expected import CURRENT, ExpectedReplica, wished_id
from segmend.surgery.request import Request

_OLD = "{topic}"


@frozen
class NewName:
    """A partition, and the replica that it is to be."""

    partition: PartitionDir
    replica: ExpectedReplica

    @property
    def topic(self) -> str:
        return self.replica.topic

    @property
    def key(self) -> tuple[str, int]:
        """New topic, and number."""
        return self.topic, self.partition.partition

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition.partition}"


def new_names(
    request: Request[object], chosen: Sequence[PartitionDir], to: str, topic_id: str, *, stays: bool
) -> list[NewName]:
    """Each partition with its new name; raises `UsageError` for one that cannot be."""
    topics = {p.topic: to.replace(_OLD, p.topic) for p in chosen}
    for old, new in topics.items():
        _refuse_name(old, new)
    if len(set(topics.values())) < len(topics):
        raise UsageError(f"--to {to}: gives {len(topics)} topics one name; put {_OLD} into it")
    if topic_id != CURRENT and len(topics) > 1:
        raise UsageError(f"--topic-id {topic_id}: one id, and {len(topics)} topics")
    gone = set() if stays else set(topics)
    # `CreateTopics` refuses such names; a directory would bring one in behind its back.
    wanted = sorted(set(topics.values()))
    for name in wanted:
        for other in (*sorted(_known(request) - gone), *wanted):
            if other != name and topics_collide(name, other):
                raise UsageError(f"--to {name}: collides with topic {other}: '.' and '_' count as the same")
    return [NewName(partition=p, replica=_replica(request, p, topics[p.topic], topic_id)) for p in chosen]


def _refuse_name(old: str, new: str) -> None:
    if new == old:
        raise UsageError(f"--to {new}: is its name already")
    if not is_legal_topic(new):
        raise UsageError(
            f"--to {new}: no topic can be called so; letters, digits, '.', '_' and '-' are allowed"
        )
    if len(new) > MAX_TOPIC_LENGTH:
        raise UsageError(f"--to {new}: has {len(new)} characters; Kafka allows {MAX_TOPIC_LENGTH}")
    if CLUSTER_METADATA_TOPIC in (old, new):
        raise UsageError(f"--to {new}: the cluster's metadata is no topic of clients")


def _known(request: Request[object]) -> set[str]:
    image = request.broker.metadata
    return {p.topic for log_dir in request.dirs for p in log_dir.current} | set(
        () if image is None else image.ids
    )


def _replica(request: Request[object], partition: PartitionDir, topic: str, topic_id: str) -> ExpectedReplica:
    path = f"{partition.log_dir.path}/{topic}-{partition.partition}"
    wanted = _id(request, topic, topic_id)
    return ExpectedReplica(
        broker=request.broker, topic=topic, number=partition.partition, topic_id=wanted, path=path
    )


def _id(request: Request[object], topic: str, wish: str) -> str | None:
    """The id to write; None where the broker finds it out by itself, as with ZooKeeper, or knows none."""
    if not TOPIC_IDS.of(request.release):
        if wish != CURRENT:
            raise UsageError(
                f"--topic-id {wish}: Kafka {request.release} knows no topic ids; they came with 2.8"
            )
        return None
    if wish == CURRENT and not request.broker.kraft:
        return None
    if wish == CURRENT and (request.broker.metadata is None or topic not in request.broker.metadata.ids):
        raise UsageError(
            f"--to {topic}: the metadata on these disks knows no such topic; make it first (kafka-topics.sh "
            f"--create --topic {topic} --partitions N), stop the broker and plan again; or --topic-id ID"
        )
    return wished_id(wish, topic, request.broker)
