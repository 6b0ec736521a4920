"""The cluster expects no replica of this partition on this broker."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.strays import STRAYS, StrayHandling, stray_reason
from segmend.findings import Finding, Severity, Where
from segmend.logdir.partition_dir import PartitionDir

from . import remedies
from .context import BrokerContext
from .manual import LOSES, WARNING, Code, Level, Page, Scope

CODES = (
    Code(
        "M07", WARNING, "the cluster's metadata on this disk does not assign this replica to this node", LOSES
    ),
)
PAGE = Page(
    meaning="""
        The topic was deleted, or the replica moved to other brokers, while this broker was down; or the
        directory comes from another cluster or was restored from a backup.""",
    broker="""
        Since 3.7 it renames the directory to `-stray` and leaves it there; 3.0 to 3.6 delete it.""",
    more="In ZooKeeper mode nothing happens.",
    advice="""
        Nothing, if the topic or replica is gone on purpose. If the data is wanted, copy the directory away
        before the broker starts.""",
    kafka="LogManager.isStrayKraftReplica, BrokerMetadataPublisher, KAFKA-14616.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """Not while the broker runs: it may be renaming directories right now."""
    handling, image = STRAYS.of(context.release), context.broker_dirs.image
    if image is None or handling == StrayHandling.NONE:
        return
    for partition, topic_id in context.topic_ids:
        known = image.ids.get(partition.topic)
        # Another id for the same name is M05.
        if broker.of(partition.log_dir).running or (known is not None and known != topic_id):
            continue
        reason = stray_reason(
            image,
            topic_id=topic_id,
            partition=partition.partition,
            node_id=context.broker_dirs.node_id,
            path=partition.path,
        )
        if reason:
            yield _finding(broker, partition, reason, handling)


def _finding(broker: BrokerContext, partition: PartitionDir, says: str, handling: StrayHandling) -> Finding:
    deleted = handling == StrayHandling.DELETE
    what = "deletes it" if deleted else "renames it to -stray"
    return broker.of(partition.log_dir).finding(
        "M07",
        f"the cluster expects no such replica on this node: the next start {what}",
        Where(partition.name),
        of=partition.key,
        broker_says=says,
        remedy=remedies.show(partition.log_dir.path, partition.name),
        severity=Severity.ERROR if deleted else None,
    )
