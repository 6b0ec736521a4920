"""What a KRaft node asks of its copy of `__cluster_metadata` before it goes on.

Follows `KafkaMetadataLog.apply` (`KafkaRaftLog` since 4.2), `FileQuorumStateStore`, `QuorumState`,
`MetadataLoader` and `Snapshots`.
"""

from __future__ import annotations

from segmend.broker.rule import Rule, Words

INCONSISTENT = (
    "Inconsistent snapshot state: there must be a snapshot at an offset larger then the current "
    "log start offset {}"
)
QUORUM_STATE = "Error while reading the Quorum status from the file {}: {}"
CLEARS_QUORUM_STATE: Rule[bool] = Rule(
    "QuorumState.initialize took a file that it could not read for a lost one; not since 3.8",
    (((0, 8), True), ((3, 8), False)),
)
UNREAD_KINDS = frozenset({"empty", "malformed"})
"""Damages of quorum-state that are an IOException."""
QUORUM_BEHIND = Words(
    "QuorumState.initialize; names the file since 3.8",
    (
        ((0, 8), None),
        (
            (2, 8),
            "Epoch from quorum-state file is {epoch}, which is smaller than last written epoch {last} "
            "in the log",
        ),
        (
            (3, 8),
            "Epoch from quorum store file ({file}) is {epoch}, which is smaller than last written epoch "
            "{last} in the log",
        ),
    ),
)
BAD_SNAPSHOT = Words(
    "MetadataLoader.handleLoadSnapshot",
    (
        ((0, 8), None),
        ((3, 4), "Unhandled fault in MetadataLoader#handleSnapshot. Snapshot offset was {}"),
        ((3, 6), "Unhandled fault in MetadataLoader#handleLoadSnapshot. Snapshot offset was {}"),
    ),
)
UNKNOWN_LEVEL = Words(
    "MetadataVersion.fromFeatureLevel",
    (
        ((0, 8), None),
        ((3, 3), "No MetadataVersion with metadata version {}"),
        ((3, 8), "No MetadataVersion with feature level {}"),
        (
            (4, 0),
            "Unsupported metadata version - if you are currently upgrading your cluster, please ensure the "
            "metadata version is set to 3.3-IV3 (or higher) before updating the software version. The "
            "metadata version can be updated via the `kafka-features` command-line tool.",
        ),
    ),
)


def is_ahead(snapshot: tuple[int, int], *, end: int, epoch: int) -> bool:
    """Whether the newest snapshot, (end offset, epoch), takes the place of the whole log.

    Follows `KafkaMetadataLog.truncateToLatestSnapshot`.
    """
    return snapshot[1] > epoch or (snapshot[1] == epoch and snapshot[0] > end)
