"""`__remote_log_metadata`: which segments tiered storage (KIP-405) holds, and in which state.

Follows `RemoteLogMetadataSerde`; the tables are those of 4.3. Kafka's dump prints its objects'
`toString`; here a record has the fields of its message, as for `__cluster_metadata`, and
besides the number of a state its name, as `state`.
"""

from __future__ import annotations

from segmend.formats.envelope import DecodedRecord, framed


def decode(key: bytes | None, value: bytes | None) -> DecodedRecord:
    """A record of `__remote_log_metadata`; see `framed`."""
    decoded = framed(key, value, RECORDS)
    data = (decoded["value"] or {}).get("data")
    if isinstance(data, dict):
        for field, names in _STATES.items():
            number = data.get(field)
            if isinstance(number, int) and 0 <= number < len(names):
                data["state"] = names[number]
    return decoded


# The constants of the enums `RemoteLogSegmentState` and `RemotePartitionDeleteState`, by number.
_STATES = {
    "remoteLogSegmentState": [
        "COPY_SEGMENT_STARTED",
        "COPY_SEGMENT_FINISHED",
        "DELETE_SEGMENT_STARTED",
        "DELETE_SEGMENT_FINISHED",
    ],
    "remotePartitionDeleteState": [
        "DELETE_PARTITION_MARKED",
        "DELETE_PARTITION_STARTED",
        "DELETE_PARTITION_FINISHED",
    ],
}


RECORDS = """
0 RemoteLogSegmentMetadataRecord 0 flexible 0+
    remoteLogSegmentId:{topicIdPartition:{name:string id:uuid partition:i32} id:uuid} startOffset:i64
    endOffset:i64 brokerId:i32 maxTimestampMs:i64 eventTimestampMs:i64
    segmentLeaderEpochs:[]{leaderEpoch:i32 offset:i64} segmentSizeInBytes:i32 customMetadata:bytes?
    remoteLogSegmentState:i8 txnIndexEmpty:bool#0
1 RemoteLogSegmentMetadataUpdateRecord 0 flexible 0+
    remoteLogSegmentId:{topicIdPartition:{name:string id:uuid partition:i32} id:uuid} brokerId:i32
    eventTimestampMs:i64 customMetadata:bytes? remoteLogSegmentState:i8
2 RemotePartitionDeleteMetadataRecord 0 flexible 0+
    topicIdPartition:{name:string id:uuid partition:i32} brokerId:i32 eventTimestampMs:i64
    remotePartitionDeleteState:i8
3 RemoteLogSegmentMetadataSnapshotRecord 0 flexible 0+
    segmentId:uuid startOffset:i64 endOffset:i64 brokerId:i32 maxTimestampMs:i64 eventTimestampMs:i64
    segmentLeaderEpochs:[]{leaderEpoch:i32 offset:i64} segmentSizeInBytes:i32 customMetadata:bytes?
    remoteLogSegmentState:i8 txnIndexEmpty:bool#0
"""

DECODERS = {"__remote_log_metadata": decode}
