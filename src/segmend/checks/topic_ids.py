"""Topic ids and topic names do not go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from segmend.broker.leading import OTHER_ID
from segmend.broker.strays import NOT_KNOWN, STRAYS, StrayHandling
from segmend.findings import Finding, Remedy, Safety, Where
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.topic_identity import of_no_topic, twin_of, why_not_the_file

from . import remedies
from .context import BrokerContext
from .manual import ERROR, LOSES, WRONG, Code, Level, Page, Scope

CODES = (
    Code("M05", ERROR, "a partition's topic id is not the one that the topic has in this cluster", LOSES),
    Code("M06", ERROR, "two directories have the same topic id and partition but different names", WRONG),
)
PAGE = Page(
    meaning="""
        M05: the directory comes from a topic that was deleted and created again under the same name, or from
        another cluster. The topic's id is read from `__cluster_metadata` if one of the dirs holds it, else
        most of the topic's partitions have it. M06: a directory was renamed or copied.""",
    broker="""
        An id that no topic has makes the partition a stray: the broker renames it and creates an empty
        replica. With the id of another topic it is not served (InconsistentTopicIdException), nor is any
        partition that the broker would have come to after it.""",
    more="Before 3.0 it refuses requests for it. The name is never compared.",
    advice="""
        Make sure that the data belongs to the topic as it is now; only then put the right id into
        partition.metadata: `segmend plan repair` does where the file alone is wrong, `segmend plan restamp`
        where you say so. Two directories under each other's names get their names back instead
        (`segmend plan rename`). Otherwise set the directory aside: `segmend plan delete`.""",
    kafka="LogManager.isStrayKraftReplica, InconsistentTopicIdException, KIP-516.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP

Identified = tuple[PartitionDir, str]


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """The metadata log is right, else the majority; two that differ both are told of."""
    by_topic: dict[str, list[Identified]] = {}
    by_id: dict[tuple[str, int], list[PartitionDir]] = {}
    for partition, topic_id in context.topic_ids:
        by_topic.setdefault(partition.topic, []).append((partition, topic_id))
        by_id.setdefault((topic_id, partition.partition), []).append(partition)
    same_id = [group for group in by_id.values() if len({p.topic for p in group}) > 1]
    metadata = context.broker_dirs.metadata
    truth = metadata.ids if metadata else {}
    # Of a topic that the metadata knows it is clear whose id is wrong, and of no other.
    renamed = {id(p) for group in same_id for p in group if p.topic not in truth}
    for topic, identified in by_topic.items():
        left = [item for item in identified if id(item[0]) not in renamed]
        known = truth.get(topic)
        yield from _other_than(broker, known, left, truth) if known else _differing(broker, left)
    for group in same_id:
        strangers = [partition for partition in group if partition.topic not in truth]
        first = next((partition for partition in group if partition.topic in truth), group[0])
        for other in strangers:
            if other is not first:
                yield _renamed(broker, first, other)


def _other_than(
    broker: BrokerContext, known: str, identified: list[Identified], truth: Mapping[str, str]
) -> Iterator[Finding]:
    owners = {topic_id: topic for topic, topic_id in truth.items()}
    for partition, topic_id in identified:
        if topic_id != known:
            message = f"topic id {topic_id}, but in the cluster's metadata the topic has {known}"
            if topic_id in owners:
                message += f"; it is that of {owners[topic_id]}"
            yield _finding(broker, "M05", partition, message, _says(broker, partition, topic_id, known))


def _says(broker: BrokerContext, partition: PartitionDir, topic_id: str, known: str) -> str | None:
    image, name = broker.broker_dirs.image, f"{partition.topic}-{partition.partition}"
    if image is not None and (topic_id, partition.partition) in image.replicas:
        return OTHER_ID.format(known, name, topic_id)
    return _stray(broker, partition, topic_id)


def _stray(broker: BrokerContext, partition: PartitionDir, topic_id: str) -> str | None:
    stray = broker.broker_dirs.kraft and STRAYS.of(broker.release) != StrayHandling.NONE
    return NOT_KNOWN.format(partition.path, topic_id) if stray else None


def _differing(broker: BrokerContext, identified: list[Identified]) -> Iterator[Finding]:
    counts = Counter(topic_id for _, topic_id in identified)
    if len(counts) < 2:
        return
    (right, most), *_ = counts.most_common(1)
    tie = sum(count == most for count in counts.values()) > 1
    for partition, topic_id in identified:
        if tie or topic_id != right:
            other = "others" if tie else right
            message = f"topic id {topic_id}, but other partitions of the topic have {other}"
            yield _finding(broker, "M05", partition, message, _stray(broker, partition, topic_id))


def _renamed(broker: BrokerContext, first: PartitionDir, other: PartitionDir) -> Finding:
    return _finding(broker, "M06", other, f"has the topic id and partition number of {first.path} too")


def _remedy(broker: BrokerContext, code: str, partition: PartitionDir) -> Remedy:
    dirs = [each.path for each in broker.broker_dirs.dirs]
    if code == "M05" and twin_of(broker.broker_dirs, partition) is not None:
        return remedies.set_aside(partition.log_dir.path, partition.name, safety=Safety.LOSSY)
    if code == "M05" and why_not_the_file(broker.broker_dirs, partition) is None:
        return remedies.repair_together(*dirs)
    if code == "M05" and of_no_topic(broker.broker_dirs, partition):
        return remedies.restamp(partition.topic, *dirs)
    return remedies.show(partition.log_dir.path, partition.name)


def _finding(
    broker: BrokerContext, code: str, partition: PartitionDir, message: str, says: str | None = None
) -> Finding:
    return broker.of(partition.log_dir).finding(
        code,
        message,
        Where(f"{partition.name}/partition.metadata"),
        of=partition.key,
        broker_says=says,
        remedy=_remedy(broker, code, partition),
    )
