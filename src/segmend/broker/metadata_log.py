"""What a KRaft node asks of its copy of `__cluster_metadata` before it goes on.

Follows `KafkaMetadataLog.apply` (`KafkaRaftLog` since 4.2), `FileQuorumStateStore` and
`Snapshots`.
"""

from __future__ import annotations

INCONSISTENT = (
    "Inconsistent snapshot state: there must be a snapshot at an offset larger then the current "
    "log start offset {}"
)
QUORUM_STATE = "Error while reading the Quorum status from the file {}: {}"
