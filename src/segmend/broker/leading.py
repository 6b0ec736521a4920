"""In which order a KRaft broker becomes the leader of its partitions, and what ends it halfway.

Follows `TopicsDelta.localChanges` and `ReplicaManager.applyLocalLeadersDelta`: a log with another topic id
throws an InconsistentTopicIdException there, and all partitions that come after it in the hash map are not
led either ("Error applying topics delta"). The order is that of `java.util.HashMap` over `TopicPartition`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from segmend.broker.rule import new_in
from segmend.formats.java_number import wrap_int
from segmend.formats.kafka_uuid import parse_uuid

K = TypeVar("K", bound=Hashable)

OTHER_ID = (
    "InconsistentTopicIdException: Tried to assign topic ID {} to log for topic partition {},"
    "but log already contained topic ID {}"
)
"""`UnifiedLog.assignTopicId`, out of `Partition.makeLeader` or `makeFollower`."""
NO_SUCH_TOPIC = "nothing of the name {} is in the metadata: the log is loaded, and nobody asks for it"
NOBODY_IN_SYNC = (
    "nobody leads {}: by the metadata no replica is in sync, and unclean.leader.election.enable is not true"
)
"""`PartitionChangeBuilder.electAnyLeader`: no ISR, no ELR, and nobody who was known to lead last."""
NOT_APPLIED = "Error applying topics delta: the broker does not get to {} after {}, whose topic id is wrong"
NO_BROKER = "process.roles has no broker: a controller opens no log but that of the metadata"
"""`KafkaRaftServer.broker` is None."""
NO_MARK = "Error applying topics delta: {} ({})"
"""Of a partition, and the file that has its high watermark: what is thrown out of `Partition.createLog`."""
NOT_APPLIED_WITHOUT_MARK = "{}: the broker does not get to {}"
NOT_AVAILABLE = (
    "NotLeaderOrFollowerException: Log for partition {} is not available: the broker does not get to {}, "
    "which comes after it"
)
"""`Partition.makeLeader`, where no log was made because its dir is offline."""
MADE_ASIDE = (
    "Expected partition {} to exist, but it was missing. Creating... (an empty log in {}, led by nobody)"
)
"""`ReplicaManager.getOrCreatePartition`; the start after this one finds two logs, if the dir is back."""
ENDS_AT_OFFLINE: Final = new_in(
    "ReplicaManager.applyLocalLeadersDelta, over a partition for which no log is made; KIP-858", (3, 7)
)
_FIRST_CAPACITY = 16


def leading_order(partitions: Mapping[str, Sequence[int]], ids: Mapping[str, str]) -> list[tuple[str, int]]:
    """The partitions of each topic, in the order in which the broker goes through them."""
    topics = _hashed([(topic, _uuid_hash(ids[topic])) for topic in sorted(partitions)])
    inserted = [
        key
        for topic in topics
        for key in _hashed([((topic, number), _hash(topic, number)) for number in sorted(partitions[topic])])
    ]
    return _hashed([(key, _hash(*key)) for key in inserted])


def _hashed(keys: Iterable[tuple[K, int]]) -> list[K]:
    """The order of a `java.util.HashMap`: by bucket, in a bucket as they came."""
    ordered = list(keys)
    capacity = _FIRST_CAPACITY
    while len(ordered) > capacity * 3 // 4:
        capacity *= 2
    mask = capacity - 1
    return [key for key, number in sorted(ordered, key=lambda item: _spread(item[1]) & mask)]


def _spread(number: int) -> int:
    number &= 0xFFFFFFFF
    return number ^ (number >> 16)


def _hash(topic: str, partition: int) -> int:
    return wrap_int(31 * (31 + partition) + _text_hash(topic))


def _text_hash(text: str) -> int:
    units, code = text.encode("utf-16-be", "surrogatepass"), 0
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return code


def _uuid_hash(text: str) -> int:
    data = parse_uuid(text)
    high, low = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:], "big")
    mixed = high ^ low
    return (mixed >> 32) ^ (mixed & 0xFFFFFFFF)
