"""What a KRaft node says of metadata records that do not fit what was before them, and ends over.

A controller and the loader of the image replay the same records: `ClusterControlManager`,
`ReplicationControlManager` and the other managers of `QuorumController`, and `ClusterDelta`, `TopicsDelta`,
`AclsDelta`.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.rule import Rule, new_in

ALWAYS: Final[Rule[bool]] = Rule("MetadataDelta.replay", (((0, 8), True),))
UNREADABLE: Final = "MetadataParseException: {}"
"""`MetadataRecordSerde.read`."""
NOT_REGISTERED: Final = "Tried to {} broker {}, but that broker was not registered."
OTHER_EPOCH: Final = (
    "Tried to {} broker {}, but the given epoch, {}, did not match the current broker epoch, {}"
)
UNKNOWN_VALUE: Final = "Unable to replay {}: unknown value for {} field: {}"
UNNAMED: Final = "Broker listeners must be named."
NO_TOPIC: Final = "Tried to create partition {}:{}, but no topic with that ID was found."
NO_PARTITION: Final = "Tried to create partition {}:{}, but no partition with that id was found."
NO_SUCH_TOPIC: Final = "Can't find topic with ID {} to remove."
SAME_TOPIC: Final = "Found duplicate TopicRecord for {} with topic ID {}"
OTHER_TOPIC: Final = (
    "Found duplicate TopicRecord for {} with a different ID than before. Previous ID was {} and new ID is {}"
)
TOPICS_ONCE: Final = new_in("ReplicationControlManager.replay(TopicRecord)", (3, 6))
OTHER_LENGTHS: Final = "The lengths for replicas and directories do not match."
HAS_DIRECTORIES: Final = new_in("PartitionRegistration; KIP-858", (3, 7))
NO_RECOVERY_STATE: Final = "Value {} is not a valid leader recovery state"
IDS_GO_BACK: Final = (
    "Next Producer ID from replayed record ({}) is not greater than current next Producer ID in block ({})"
)
NO_ACL: Final = "Unable to replay RemoveAccessControlEntryRecord: no acl with that ID found ({})"
NO_CREDENTIAL: Final = "Unable to find credential to delete: {}"
HAS_CREDENTIALS: Final = new_in("ScramControlManager; KIP-900", (3, 5))
NO_PRINCIPAL: Final = "expected a string in format principalType:principalName but got {}"
HAS_TOKENS: Final = new_in("DelegationTokenControlManager; KIP-900", (3, 6))
NO_ELR: Final = "Unable to find a topic named {} in order to clear its ELRs."
NO_MIGRATION: Final = "Value {} is not a valid Zk migration state"
MIGRATES: Final[Rule[bool]] = Rule(
    "ZkMigrationState.of; KIP-866", (((0, 8), False), ((3, 4), True), ((4, 0), False))
)
IN_SNAPSHOT: Final = "{} cannot appear within a snapshot."
HAS_TRANSACTIONS: Final = new_in("OffsetControlManager; KIP-868", (3, 6))
BEGINS_BEHIND: Final = (
    "Can't create a new in-memory snapshot at epoch {} because there is already a snapshot with epoch {}. "
    "Snapshot epochs are {}"
)
"""`SnapshotRegistry`: a snapshot has one at its end offset, a begin makes one before its own."""
