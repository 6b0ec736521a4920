"""What a live cluster refuses, in words: why, and what to do about it. Needs confluent-kafka, as `live`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaError

from segmend.broker.election import MIN_INSYNC
from segmend.wording import plural

_RIGHTS: Final = (
    "have ACLs allow this client Describe, DescribeConfigs, Read and Write of that topic (kafka-acls.sh), or "
    "see --client-config"
)
_REMEDIES: Final = {
    KafkaError.MSG_SIZE_TOO_LARGE: "raise max.message.bytes of the topic (kafka-configs.sh --alter)",
    KafkaError.RECORD_LIST_TOO_LARGE: "raise segment.bytes of the topic (kafka-configs.sh --alter)",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: (
        "have an ACL allow this client IdempotentWrite of the cluster (kafka-acls.sh), which old brokers "
        "ask for beside Write"
    ),
    KafkaError.INVALID_RECORD: (
        "a topic whose cleanup.policy has compact takes no record without a key, and none takes a timestamp "
        "farther off than its message.timestamp.before.max.ms (before 3.6 "
        "message.timestamp.difference.max.ms) allows: change that (kafka-configs.sh --alter)"
    ),
}  # fmt: skip
"""By the code of an error, what helps."""
_REMEDIES[KafkaError.INVALID_TIMESTAMP] = _REMEDIES[KafkaError.INVALID_RECORD]
_ECHOES: Final = (
    KafkaError._INVALID_DIFFERENT_RECORD, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT,
    KafkaError._FATAL,
)  # fmt: skip


def words_of(error: BaseException | KafkaError) -> str:
    """Why, and what to do if that is known."""
    first = error.args[0] if isinstance(error, BaseException) and error.args else error
    if not isinstance(first, KafkaError):
        return str(first)
    remedy = _REMEDIES.get(first.code())
    return first.str() if remedy is None else f"{first.str().rstrip('.')}: {remedy}"


def is_echo(error: KafkaError) -> bool:
    """Whether a record is refused only because another one is."""
    return error.code() in _ECHOES


def silence(leader: int, replicas: Collection[int], in_sync: Collection[int], needed: int) -> str:
    """Why a partition may acknowledge nothing, by what its cluster says of it."""
    if leader < 0:
        return f"it has no leader: start its brokers ({', '.join(map(str, sorted(replicas)))})"
    if len(in_sync) < needed:
        return (
            f"{plural(len(replicas), 'replica')}, {len(in_sync)} in sync, and {MIN_INSYNC} of the topic is "
            f"{needed}: start the brokers that lack, add replicas (kafka-reassign-partitions.sh), or lower "
            "that (kafka-configs.sh --alter)"
        )
    return "its leader is up, and enough replicas are in sync: see the log of its broker"
