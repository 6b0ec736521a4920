"""`__cluster_metadata`: what KRaft controllers write down about the cluster.

Follows `MetadataRecordSerde`. Tables are those of 4.3, which hold the older versions of each record.
Values have the shapes of `kafka-dump-log --cluster-metadata-decoder`.
"""

from __future__ import annotations

from segmend.formats.envelope import DecodedRecord, framed
from segmend.formats.names import CLUSTER_METADATA_TOPIC


def decode(key: bytes | None, value: bytes | None) -> DecodedRecord:
    """A record of `__cluster_metadata`; see `framed`."""
    return framed(key, value, RECORDS)


RECORDS = """
0 REGISTER_BROKER_RECORD 0-4 flexible 0+
    brokerId:i32 isMigratingZkBroker:bool@2+ incarnationId:uuid brokerEpoch:i64 endPoints:[]{name:string
    host:string port:u16 securityProtocol:i16} features:[]{name:string minSupportedVersion:i16
    maxSupportedVersion:i16} rack:string? fenced:bool inControlledShutdown:bool@1+ logDirs:[]uuid@3+#0
    cordonedLogDirs:[]uuid@4+?4+#1
1 UNREGISTER_BROKER_RECORD 0 flexible 0+
    brokerId:i32 brokerEpoch:i64
2 TOPIC_RECORD 0 flexible 0+
    name:string topicId:uuid
3 PARTITION_RECORD 0-2 flexible 0+
    partitionId:i32 topicId:uuid replicas:[]i32 isr:[]i32 removingReplicas:[]i32 addingReplicas:[]i32
    leader:i32 leaderRecoveryState:i8#0 leaderEpoch:i32 partitionEpoch:i32 directories:[]uuid@1+
    eligibleLeaderReplicas:[]i32@2+?2+#1 lastKnownElr:[]i32@2+?2+#2
4 CONFIG_RECORD 0 flexible 0+
    resourceType:i8 resourceName:string name:string value:string?
5 PARTITION_CHANGE_RECORD 0-2 flexible 0+
    partitionId:i32 topicId:uuid isr:[]i32?#0 leader:i32#1 replicas:[]i32?#2 removingReplicas:[]i32?#3
    addingReplicas:[]i32?#4 leaderRecoveryState:i8#5 directories:[]uuid@1+?1+#8
    eligibleLeaderReplicas:[]i32@2+?2+#6 lastKnownElr:[]i32@2+?2+#7
7 FENCE_BROKER_RECORD 0 flexible 0+
    id:i32 epoch:i64
8 UNFENCE_BROKER_RECORD 0 flexible 0+
    id:i32 epoch:i64
9 REMOVE_TOPIC_RECORD 0 flexible 0+
    topicId:uuid
10 DELEGATION_TOKEN_RECORD 0 flexible 0+
    owner:string requester:string renewers:[]string issueTimestamp:i64 maxTimestamp:i64
    expirationTimestamp:i64 tokenId:string
11 USER_SCRAM_CREDENTIAL_RECORD 0 flexible 0+
    name:string mechanism:i8 salt:bytes storedKey:bytes serverKey:bytes iterations:i32
12 FEATURE_LEVEL_RECORD 0 flexible 0+
    name:string featureLevel:i16
14 CLIENT_QUOTA_RECORD 0 flexible 0+
    entity:[]{entityType:string entityName:string?} key:string value:f64 remove:bool
15 PRODUCER_IDS_RECORD 0 flexible 0+
    brokerId:i32 brokerEpoch:i64 nextProducerId:i64
17 BROKER_REGISTRATION_CHANGE_RECORD 0-3 flexible 0+
    brokerId:i32 brokerEpoch:i64 fenced:i8#0 inControlledShutdown:i8@1+#1 logDirs:[]uuid@2+#2
    cordonedLogDirs:[]uuid@3+?3+#3
18 ACCESS_CONTROL_ENTRY_RECORD 0 flexible 0+
    id:uuid resourceType:i8 resourceName:string patternType:i8 principal:string host:string operation:i8
    permissionType:i8
19 REMOVE_ACCESS_CONTROL_ENTRY_RECORD 0 flexible 0+
    id:uuid
20 NO_OP_RECORD 0 flexible 0+
21 ZK_MIGRATION_STATE_RECORD 0 flexible 0+
    zkMigrationState:i8
22 REMOVE_USER_SCRAM_CREDENTIAL_RECORD 0 flexible 0+
    name:string mechanism:i8
23 BEGIN_TRANSACTION_RECORD 0 flexible 0+
    name:string?#0
24 END_TRANSACTION_RECORD 0 flexible 0+
25 ABORT_TRANSACTION_RECORD 0 flexible 0+
    reason:string?#0
26 REMOVE_DELEGATION_TOKEN_RECORD 0 flexible 0+
    tokenId:string
27 REGISTER_CONTROLLER_RECORD 0 flexible 0+
    controllerId:i32 incarnationId:uuid zkMigrationReady:bool endPoints:[]{name:string host:string
    port:u16 securityProtocol:i16} features:[]{name:string minSupportedVersion:i16
    maxSupportedVersion:i16}
28 CLEAR_ELR_RECORD 0 flexible 0+
    topicName:string
"""

DECODERS = {CLUSTER_METADATA_TOPIC: decode, "@metadata": decode}
