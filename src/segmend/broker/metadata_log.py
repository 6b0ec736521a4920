"""What a KRaft node asks of its copy of `__cluster_metadata` before it goes on.

Follows `KafkaMetadataLog.apply` (`KafkaRaftLog` since 4.2), `FileQuorumStateStore`, `QuorumState`,
`MetadataLoader` and `Snapshots`.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.failures import NOT_A_NUMBER
from segmend.broker.rule import Words, gone_in, new_in
from segmend.formats.java_number import parse_int, parse_long

INCONSISTENT = (
    "Inconsistent snapshot state: there must be a snapshot at an offset larger then the current "
    "log start offset {}"
)
QUORUM_STATE = "Error while reading the Quorum status from the file {}: {}"
UNWRITTEN_QUORUM = "UncheckedIOException: Error while writing the Quorum status from the file {} ({})"
CLEARS_QUORUM_STATE: Final = gone_in(
    "QuorumState.initialize took a file that it could not read for a lost one; not since 3.8", (3, 8)
)
MOVES_VOTERS: Final = new_in(
    "KRaftVersionUpgrade, KafkaRaftClient.upgradeKRaftVersion; 3.9 and 4.0 say that they did, and only note "
    "a feature level: the voters stay in controller.quorum.voters",
    (4, 1),
)
CANNOT_DELETE = "Error while deleting file {}"
"""`FileQuorumStateStore.deleteFileIfExists`, over a directory that is not empty."""
NO_EPOCH_LEFT = (
    "Received invalid partition leader epoch entry: no epoch comes after {}, and who is elected begins "
    "one that is negative"
)
"""`EpochEntry`, over the overflow in `QuorumState.transitionToCandidate` (`UnattachedState.epoch + 1`)."""
UNREAD_KINDS = frozenset({"empty", "malformed"})
"""Damages of quorum-state that are an IOException."""
QUORUM_BEHIND = Words.since(
    "QuorumState.initialize; names the file since 3.8",
    (
        (2, 8),
        "Epoch from quorum-state file is {epoch}, which is smaller than last written epoch {last} in the log",
    ),
    (
        (3, 8),
        "Epoch from quorum store file ({file}) is {epoch}, which is smaller than last written epoch "
        "{last} in the log",
    ),
)
BAD_SNAPSHOT = Words.since(
    "MetadataLoader.handleLoadSnapshot",
    ((3, 4), "Unhandled fault in MetadataLoader#handleSnapshot. Snapshot offset was {}"),
    ((3, 6), "Unhandled fault in MetadataLoader#handleLoadSnapshot. Snapshot offset was {}"),
)
UNKNOWN_LEVEL = Words.since(
    "MetadataVersion.fromFeatureLevel",
    ((3, 3), "No MetadataVersion with metadata version {}"),
    ((3, 8), "No MetadataVersion with feature level {}"),
    (
        (4, 0),
        "Unsupported metadata version - if you are currently upgrading your cluster, please ensure the "
        "metadata version is set to 3.3-IV3 (or higher) before updating the software version. The "
        "metadata version can be updated via the `kafka-features` command-line tool.",
    ),
)
METADATA_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
FOREIGN_ID = (
    "InconsistentTopicIdException: Tried to assign topic ID {} to log for topic partition "
    "__cluster_metadata-0,but log already contained topic ID {}"
)
"""`UnifiedLog.initializeTopicId`."""
ALREADY_A_FILE = "java.nio.file.FileAlreadyExistsException: {}"
"""`KafkaRaftManager.createDataDir`."""
NO_FEATURE_LEVEL = (
    "No FeatureLevelRecord for metadata.version was found in the bootstrap metadata from the binary "
    "bootstrap metadata file: {}"
)
"""`BootstrapMetadata.fromRecords`."""
UNREADABLE_RECORD = "RuntimeException: unable to deserialize record at offset {} (bootstrap.checkpoint)"
"""`BatchFileReader.nextDataBatch`, `nextControlBatch`: of any record, whatever it is about."""
UNREADABLE_SNAPSHOT = "the newest snapshot of the metadata, up to offset {}, cannot be read: {}"
BROKEN_RECORD = "Error loading metadata log record from offset {}: {}"
"""`MetadataBatchLoader.loadBatch`; of a snapshot `MetadataLoader.loadSnapshot`."""
ENDS_UNREAD: Final = new_in(
    "MetadataLoader; up to 3.3 BrokerMetadataListener and a standby controller log it and go on", (3, 4)
)
PASSED_OVER: Final = (
    "what the node goes by: it logs a fault, and goes on without what else that batch of its metadata "
    "says ({})"
)
BROKEN_TRANSACTION = "Error loading metadata log record from offset {}: Encountered {} {}"
"""`MetadataBatchLoader.replay`; KIP-868."""
NO_BEGIN = "without having seen a BeginTransactionRecord"
BEGUN_ALREADY = "while already in a transaction"
WAITS_FOR_RECORDS = (
    "the process lives and never comes up: the metadata log ends at offset {}, and there is no record "
    "after {}, for which it waits (KRaftControlRecordStateMachine)"
)
READS_BOOTSTRAP: Final = new_in("BootstrapDirectory.read; KIP-778", (3, 3))
SNAPSHOT_FIRST: Final = new_in(
    "KafkaRaftClient.updateListenersProgress: up to 3.5 a snapshot is read only if the log begins after 0",
    (3, 6),
)
READS_ITSELF: Final = new_in(
    "KRaftControlRecordStateMachine.updateState: the Raft client reads snapshot and log; KIP-853", (3, 8)
)
OTHER_VOTERS = (
    "Configured voter set: {} is different from the voter set read from the state file: {}. Check if the "
    "quorum configuration is up to date, or wipe out the local state file if necessary"
)
"""`QuorumState.initialize`, while quorum-state has the voters."""
_SNAPSHOT_SUFFIXES = (".checkpoint", ".checkpoint.part", ".checkpoint.deleted")
_OFFSET_WIDTH, _EPOCH_WIDTH = 20, 10


def snapshot_name_failure(name: str) -> str | None:
    """The exception over a name that only ends like that of a snapshot, or None (`Snapshots.parse`)."""
    if not name.endswith(_SNAPSHOT_SUFFIXES):
        return None
    end = _OFFSET_WIDTH + 1 + _EPOCH_WIDTH
    for start, stop, parse in ((0, _OFFSET_WIDTH, parse_long), (_OFFSET_WIDTH + 1, end, parse_int)):
        if len(name) < stop:
            return f"StringIndexOutOfBoundsException: begin {start}, end {stop}, length {len(name)}: {name}"
        if parse(name[start:stop]) is None:
            return f"NumberFormatException: {NOT_A_NUMBER.format(name[start:stop])}: {name}"
    return None


def is_ahead(snapshot: tuple[int, int], *, end: int, epoch: int) -> bool:
    """Whether the newest snapshot, (end offset, epoch), takes the place of the whole log.

    Follows `KafkaMetadataLog.truncateToLatestSnapshot`.
    """
    return snapshot[1] > epoch or (snapshot[1] == epoch and snapshot[0] > end)
