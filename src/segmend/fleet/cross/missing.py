"""A partition is on fewer brokers than its topic's other partitions."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.checks import remedies
from segmend.checks.manual import NONE, WARNING, Code, Page
from segmend.findings import Finding, Severity
from segmend.fleet.cross.replica import Group, numbers
from segmend.formats.names import CLUSTER_METADATA_TOPIC

CODES = (Code("R03", WARNING, "a replica is missing: the topic's other partitions have more", NONE),)
PAGE = Page(
    meaning="""
        Most partitions of the topic are on more brokers than this one. Where all brokers of the cluster were
        audited, the finding names the broker that lacks it: its log dir was lost, renamed, or is not among
        the given paths. Where a log dir of such a broker could not be read, the replica may lie in that.""",
    broker="""
        It creates an empty log and fetches everything from the leader. If the others are lost too, the
        partition starts again at offset 0.""",
    advice="""
        Look for `-stray` or `-delete` directories of the partition on that broker, and for a log dir that was
        not given. A topic of one partition cannot be judged this way.""",
    kafka="LogManager.getOrCreateLog; a ZooKeeper or KRaft assignment is not read here.",
)


def run(group: Group) -> Iterator[Finding]:
    """At most one finding for each partition."""
    held = sorted(replica.broker for replica in group.replicas)
    if len(held) >= group.expected_replicas or group.topic == CLUSTER_METADATA_TOPIC:
        return
    lacking = sorted(set(group.cluster.brokers) - set(held))
    cluster = group.cluster
    unread = [path for each in lacking for path in cluster.brokers[each] if path in cluster.unreadable]
    # Only when the topic should be on every broker is it certain which one lacks it.
    certain = group.expected_replicas == len(cluster.brokers) and not unread
    known = group.reference
    where = f"not on {numbers(lacking)}" if certain else f"one of {numbers(lacking)} may lack it"
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        where = f"it may lie in {unread[0]}{more}, which could not be read"
    lacking_dir = cluster.brokers[lacking[0]][0] if lacking else known.dir
    yield Finding(
        code="R03",
        severity=Severity.WARNING,
        message=f"{group.name} is on {numbers(held)} only, the topic's other partitions are on "
        f"{group.expected_replicas} brokers; {where}",
        dir=lacking_dir if certain else known.dir,
        topic=group.topic,
        partition=group.partition,
        file=None if certain else known.dir_name,
        remedy=remedies.graft(lacking_dir, known.dir_name, f"{known.dir}/{known.dir_name}")
        if certain
        else remedies.show(known.dir, known.dir_name),
        detail={"held_by": held, "lacking": lacking, "expected_replicas": group.expected_replicas},
    )
