"""Replicas of a partition carry different topic ids."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.checks import remedies
from segmend.checks.manual import ERROR, NONE, Code, Page
from segmend.findings import Finding, Severity, Where
from segmend.fleet.cross.replica import Group

CODES = (Code("R04", ERROR, "the topic id in partition.metadata differs from the reference's", NONE),)
PAGE = Page(
    meaning="""
        The topic was deleted and created again under the same name while this broker was away, or a directory
        of another cluster was copied in: these are not replicas of each other.""",
    broker="""
        KRaft: a log whose topic id is not the one in the metadata is a stray, renamed to `-stray` at the
        start and deleted later (3.7+).""",
    more="ZooKeeper: the replica goes offline with an InconsistentTopicIdException.",
    advice="If the records of the odd one matter, set it aside before the broker starts.",
    kafka="UnifiedLog.assignTopicId, LogManager.isStrayReplica, KIP-516.",
)


def run(group: Group) -> Iterator[Finding]:
    """One finding for each replica whose id is not the one that most have."""
    ids = [replica.topic_id for replica in group.replicas if replica.topic_id]
    if len(set(ids)) < 2:
        return
    usual = max(ids, key=ids.count)
    for replica in group.replicas:
        if replica.topic_id and replica.topic_id != usual:
            yield replica.finding(
                "R04",
                Severity.ERROR,
                f"{group.name} on broker {replica.broker} has the topic id {replica.topic_id}, "
                f"others {usual}",
                Where(f"{replica.dir_name}/partition.metadata"),
                remedy=remedies.show(replica.dir, replica.dir_name),
                topic_id=replica.topic_id,
                others=usual,
            )
