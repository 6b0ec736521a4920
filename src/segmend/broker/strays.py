"""Replicas that the cluster's metadata does not expect on this broker.

Follows `LogManager.isStrayKraftReplica` and `BrokerMetadataPublisher`. Only KRaft brokers
know strays; the name of the topic is never compared, only id, partition and node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol

from segmend.broker.rule import Rule, Words, new_in
from segmend.logdir.release import Release


class StrayHandling(StrEnum):
    NONE = "none"
    DELETE = "delete"
    RENAME = "rename"


class MissingTopicId(StrEnum):
    """What a KRaft broker does about a partition without partition.metadata."""

    KEPT = "kept"
    """It gets its id if the metadata knows it. If not, the search for strays dies of it: none is deleted."""
    FATAL = "fatal"
    STRAY = "stray"


SUFFIXES: Rule[frozenset[str]] = Rule(
    "Log.parseTopicPartitionName; KAFKA-1911 (0.10.2), KIP-113 (1.1), KAFKA-14616 (3.6.1)",
    (
        ((0, 8), frozenset()),
        ((0, 10, 2), frozenset({"delete"})),
        ((1, 1), frozenset({"delete", "future"})),
        ((3, 6, 1), frozenset({"delete", "future", "stray"})),
    ),
)
"""What a directory may be called besides topic and partition: `-delete`, `-future`, `-stray`."""
KNOWN_KINDS = frozenset({"current", "cluster-metadata"})
STRAYS: Rule[StrayHandling] = Rule(
    "BrokerMetadataPublisher.deleteStrayReplicas; LogManager.isStrayKraftReplica, KAFKA-14616, 3.7",
    (((0, 8), StrayHandling.NONE), ((3, 0), StrayHandling.DELETE), ((3, 7), StrayHandling.RENAME)),
)
MISSING_TOPIC_ID: Rule[MissingTopicId] = Rule(
    "BrokerMetadataPublisher.findStrayPartitions; LogManager.isStrayKraftReplica (3.7); KAFKA-16814, 3.7.1",
    (((0, 8), MissingTopicId.KEPT), ((3, 7), MissingTopicId.FATAL), ((3, 7, 1), MissingTopicId.STRAY)),
)

COMPARES_IDS: Final = new_in(
    "ReplicaManager.becomeLeaderOrFollower: INCONSISTENT_TOPIC_ID for another id; KIP-516, 2.8",
    (2, 8),
)
PROMOTES_FUTURE: Final = new_in("LogManager.recoverAbandonedFutureLogs; KAFKA-16082, 3.8", (3, 8))

NO_DIR_IDS = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"})
"""`DirectoryId`: ids that name no dir."""
_UNLED = (
    "the log dir {} is none of this broker's any more: an empty log is made in another one, nobody leads it, "
    "and the start after this one serves it, empty"
)
OR_LED = "; or it is led at once, if the controller hears of it before it lets the broker in"
MADE_ANEW = _UNLED + OR_LED
"""Of a cluster, whose controller may be another node: whether its word elects is a race in each release."""
UNLED: Rule[str | None] = Rule(
    "ReplicationControlManager elects no replica whose dir its broker has not (KIP-858, 3.7). That says "
    "500 ms later where it lies now, since KAFKA-17190 (3.9) at once, while it is let in; since 4.2 its word "
    "elects",
    (((0, 8), None), ((3, 7), _UNLED), ((3, 9), _UNLED + OR_LED), ((4, 2), None)),
)
"""Why nobody leads a replica whose log dir is gone; None where it is led."""
UNLED_HERE: Words = Words.since(
    "The same of a replica that lies where it lay; of a node that was killed, too, though more rarely",
    (
        (3, 7),
        "the metadata has it in the log dir {}, which is none of this broker's: its log dir has another "
        "directory.id now, nobody leads it, and the start after this one serves it" + OR_LED,
    ),
)

ABANDONED_FUTURE = Words.since(
    "LogManager.recoverAbandonedFutureLogs; KAFKA-16082, 3.8",
    ((3, 8), "Attempting to recover abandoned future log for {}"),
)
LOADED_STRAY = Words.since("LogManager.loadLog; KAFKA-14616", ((3, 6), "Loaded stray log: {}"))
TREATED_AS_STRAY = "The topicId does not exist in {}, treat it as a stray log"
NO_TOPIC_ID = Words.since(
    "LogManager.isStrayKraftReplica; BrokerMetadataPublisher up to 3.7.0",
    ((3, 0), "The log dir {} does not have a topic ID, which is not allowed when running in KRaft mode."),
    ((3, 7, 1), TREATED_AS_STRAY),
)
NOT_EXPECTED = (
    "Found stray log dir {}: the current replica assignment {} does not contain the local brokerId {}."
)
NOT_KNOWN = "Found stray log dir {}: the topicId {} does not exist in the metadata image."
SET_ASIDE = "NoSuchFileException: {}"
"""Of a log dir that was set aside itself: the log cleaner, as it starts (seen on 3.9.2 and 4.3.1)."""
RENAMED = "Log in {} marked stray and renamed to {}"


def knows(kind: str, release: Release) -> bool:
    """Whether a partition directory of that kind has a name that the release can read."""
    return kind in KNOWN_KINDS or kind in SUFFIXES.of(release)


class TopicsImage(Protocol):
    @property
    def replicas(self) -> Mapping[tuple[str, int], Sequence[int]]: ...

    @property
    def names(self) -> Mapping[str, str]: ...


def stray_reason(
    image: TopicsImage | None, *, topic_id: str | None, partition: int, node_id: int | None, path: str
) -> str | None:
    """Kafka's words if the replica in `path` is a stray, None if it is expected or nobody can say."""
    if topic_id is None:
        return TREATED_AS_STRAY.format(path)
    if image is None or node_id is None:
        return None
    if topic_id not in image.names or (topic_id, partition) not in image.replicas:
        return NOT_KNOWN.format(path, topic_id)
    replicas = image.replicas[topic_id, partition]
    if node_id not in replicas:
        return NOT_EXPECTED.format(path, ", ".join(map(str, replicas)), node_id)
    return None
