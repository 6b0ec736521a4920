"""`__share_group_state`: how far share groups (KIP-932) have come in each partition.

A snapshot holds the whole state of one group's share-partition, an update what changed since.
Tables and shapes are those of `kafka-dump-log --share-group-state-decoder` of 4.3.
"""

from __future__ import annotations

from segmend.formats.envelope import DecodedRecord, keyed
from segmend.formats.names import SHARE_GROUP_STATE


def decode(key: bytes | None, value: bytes | None) -> DecodedRecord:
    """A record of `__share_group_state`; see `keyed`."""
    return keyed(key, value, KEYS, VALUES)


KEYS = """
0 ShareSnapshotKey 0
    groupId:string topicId:uuid partition:i32
1 ShareUpdateKey 0
    groupId:string topicId:uuid partition:i32
"""

VALUES = """
0 ShareSnapshotValue 0 flexible 0+
    snapshotEpoch:i32 stateEpoch:i32 leaderEpoch:i32 startOffset:i64 deliveryCompleteCount:i32#0
    createTimestamp:i64 writeTimestamp:i64 stateBatches:[]{firstOffset:i64 lastOffset:i64 deliveryState:i8
    deliveryCount:i16}
1 ShareUpdateValue 0 flexible 0+
    snapshotEpoch:i32 leaderEpoch:i32 startOffset:i64 deliveryCompleteCount:i32#0
    stateBatches:[]{firstOffset:i64 lastOffset:i64 deliveryState:i8 deliveryCount:i16}
"""

DECODERS = {SHARE_GROUP_STATE: decode}
