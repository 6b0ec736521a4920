"""`__consumer_offsets` and `__transaction_state`: what the coordinators remember.

Tables are those of 4.3, which hold the older versions of each message. The shapes are those
of `kafka-dump-log --offsets-decoder` and `--transaction-log-decoder` of 4.x.
"""

from __future__ import annotations

import binascii

from segmend.formats.cursor import Cursor, Malformed
from segmend.formats.envelope import DecodedRecord, keyed
from segmend.formats.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from segmend.formats.schema import messages, read

_SUBSCRIPTION, _ASSIGNMENT = 0, 1


def decode_offsets(key: bytes | None, value: bytes | None) -> DecodedRecord:
    """A record of `__consumer_offsets`; see `keyed`. Members' subscriptions are read as well."""
    decoded = keyed(key, value, OFFSET_KEYS, OFFSET_VALUES)
    data = (decoded["value"] or {}).get("data")
    members = data["members"] if isinstance(data, dict) and data.get("protocolType") == "consumer" else ()
    if isinstance(members, list):
        for member in members:
            member["subscription"] = _consumer_protocol(member["subscription"], _SUBSCRIPTION)
            member["assignment"] = _consumer_protocol(member["assignment"], _ASSIGNMENT)
    return decoded


def decode_transaction(key: bytes | None, value: bytes | None) -> DecodedRecord:
    """A record of `__transaction_state`; see `keyed`."""
    return keyed(key, value, TRANSACTION_KEYS, TRANSACTION_VALUES)


def _consumer_protocol(text: str, kind: int) -> object:
    """A subscription or assignment of the consumer protocol; the base64 text itself if it is none."""
    cursor = Cursor(binascii.a2b_base64(text))
    message = messages(CONSUMER_PROTOCOL)[kind]
    try:
        version = cursor.i16()
        return read(message, cursor, min(version, message.highest))
    except Malformed:
        return text


OFFSET_KEYS = """
0 LegacyOffsetCommitKey 0
    group:string topic:string partition:i32
1 OffsetCommitKey 0
    group:string topic:string partition:i32
2 GroupMetadataKey 0
    group:string
3 ConsumerGroupMetadataKey 0
    groupId:string
4 ConsumerGroupPartitionMetadataKey 0
    groupId:string
5 ConsumerGroupMemberMetadataKey 0
    groupId:string memberId:string
6 ConsumerGroupTargetAssignmentMetadataKey 0
    groupId:string
7 ConsumerGroupTargetAssignmentMemberKey 0
    groupId:string memberId:string
8 ConsumerGroupCurrentMemberAssignmentKey 0
    groupId:string memberId:string
10 ShareGroupMemberMetadataKey 0
    groupId:string memberId:string
11 ShareGroupMetadataKey 0
    groupId:string
12 ShareGroupTargetAssignmentMetadataKey 0
    groupId:string
13 ShareGroupTargetAssignmentMemberKey 0
    groupId:string memberId:string
14 ShareGroupCurrentMemberAssignmentKey 0
    groupId:string memberId:string
15 ShareGroupStatePartitionMetadataKey 0
    groupId:string
16 ConsumerGroupRegularExpressionKey 0
    groupId:string regularExpression:string
17 StreamsGroupMetadataKey 0
    groupId:string
19 StreamsGroupMemberMetadataKey 0
    groupId:string memberId:string
20 StreamsGroupTargetAssignmentMetadataKey 0
    groupId:string
21 StreamsGroupTargetAssignmentMemberKey 0
    groupId:string memberId:string
22 StreamsGroupCurrentMemberAssignmentKey 0
    groupId:string memberId:string
23 StreamsGroupTopologyKey 0
    groupId:string
"""

OFFSET_VALUES = """
1 OffsetCommitValue 0-4 flexible 4+
    offset:i64 leaderEpoch:i32@3+ metadata:string commitTimestamp:i64 expireTimestamp:i64@1
    topicId:uuid@4+#0
2 GroupMetadataValue 0-4 flexible 4+
    protocolType:string generation:i32 protocol:string? leader:string? currentStateTimestamp:i64@2+
    members:[]{memberId:string groupInstanceId:string@3+?3+ clientId:string clientHost:string
    rebalanceTimeout:i32@1+ sessionTimeout:i32 subscription:bytes assignment:bytes}
3 ConsumerGroupMetadataValue 0 flexible 0+
    epoch:i32 metadataHash:i64#0
4 ConsumerGroupPartitionMetadataValue 0 flexible 0+
    topics:[]{topicId:uuid topicName:string numPartitions:i32 partitionMetadata:[]{partition:i32
    racks:[]string}}
5 ConsumerGroupMemberMetadataValue 0 flexible 0+
    instanceId:string? rackId:string? clientId:string clientHost:string subscribedTopicNames:[]string
    subscribedTopicRegex:string? rebalanceTimeoutMs:i32 serverAssignor:string?
    classicMemberMetadata:{sessionTimeoutMs:i32 supportedProtocols:[]{name:string metadata:bytes}}?#0
6 ConsumerGroupTargetAssignmentMetadataValue 0 flexible 0+
    assignmentEpoch:i32 assignmentTimestamp:i64#0
7 ConsumerGroupTargetAssignmentMemberValue 0 flexible 0+
    topicPartitions:[]{topicId:uuid partitions:[]i32}
8 ConsumerGroupCurrentMemberAssignmentValue 0 flexible 0+
    memberEpoch:i32 previousMemberEpoch:i32 state:i8 assignedPartitions:[]{topicId:uuid partitions:[]i32
    assignmentEpochs:[]i32?#0} partitionsPendingRevocation:[]{topicId:uuid partitions:[]i32
    assignmentEpochs:[]i32?#0}
10 ShareGroupMemberMetadataValue 0 flexible 0+
    rackId:string? clientId:string clientHost:string subscribedTopicNames:[]string
11 ShareGroupMetadataValue 0 flexible 0+
    epoch:i32 metadataHash:i64
12 ShareGroupTargetAssignmentMetadataValue 0 flexible 0+
    assignmentEpoch:i32 assignmentTimestamp:i64#0
13 ShareGroupTargetAssignmentMemberValue 0 flexible 0+
    topicPartitions:[]{topicId:uuid partitions:[]i32}
14 ShareGroupCurrentMemberAssignmentValue 0 flexible 0+
    memberEpoch:i32 previousMemberEpoch:i32 state:i8 assignedPartitions:[]{topicId:uuid partitions:[]i32}
15 ShareGroupStatePartitionMetadataValue 0 flexible 0+
    initializingTopics:[]{topicId:uuid topicName:string partitions:[]i32}
    initializedTopics:[]{topicId:uuid topicName:string partitions:[]i32} deletingTopics:[]{topicId:uuid
    topicName:string}
16 ConsumerGroupRegularExpressionValue 0 flexible 0+
    topics:[]string version:i64 timestamp:i64
17 StreamsGroupMetadataValue 0 flexible 0+
    epoch:i32 metadataHash:i64 validatedTopologyEpoch:i32#0 lastAssignmentConfigs:[]{key:string
    value:string}?#1
19 StreamsGroupMemberMetadataValue 0 flexible 0+
    instanceId:string? rackId:string? clientId:string clientHost:string rebalanceTimeoutMs:i32
    topologyEpoch:i32 processId:string userEndpoint:{host:string port:u16}? clientTags:[]{key:string
    value:string}
20 StreamsGroupTargetAssignmentMetadataValue 0 flexible 0+
    assignmentEpoch:i32 assignmentTimestamp:i64#0
21 StreamsGroupTargetAssignmentMemberValue 0 flexible 0+
    activeTasks:[]{subtopologyId:string partitions:[]i32} standbyTasks:[]{subtopologyId:string
    partitions:[]i32} warmupTasks:[]{subtopologyId:string partitions:[]i32}
22 StreamsGroupCurrentMemberAssignmentValue 0 flexible 0+
    memberEpoch:i32 previousMemberEpoch:i32 state:i8 activeTasks:[]{subtopologyId:string partitions:[]i32
    assignmentEpochs:[]i32?#0} standbyTasks:[]{subtopologyId:string partitions:[]i32
    assignmentEpochs:[]i32?#0} warmupTasks:[]{subtopologyId:string partitions:[]i32
    assignmentEpochs:[]i32?#0} activeTasksPendingRevocation:[]{subtopologyId:string partitions:[]i32
    assignmentEpochs:[]i32?#0} standbyTasksPendingRevocation:[]{subtopologyId:string partitions:[]i32
    assignmentEpochs:[]i32?#0} warmupTasksPendingRevocation:[]{subtopologyId:string partitions:[]i32
    assignmentEpochs:[]i32?#0}
23 StreamsGroupTopologyValue 0 flexible 0+
    epoch:i32 subtopologies:[]{subtopologyId:string sourceTopics:[]string sourceTopicRegex:[]string
    stateChangelogTopics:[]{name:string partitions:i32 replicationFactor:i16 topicConfigs:[]{key:string
    value:string}} repartitionSinkTopics:[]string repartitionSourceTopics:[]{name:string partitions:i32
    replicationFactor:i16 topicConfigs:[]{key:string value:string}}
    copartitionGroups:[]{sourceTopics:[]i16 sourceTopicRegex:[]i16 repartitionSourceTopics:[]i16}}
"""

TRANSACTION_KEYS = """
0 TransactionLogKey 0
    transactionalId:string
"""

TRANSACTION_VALUES = """
0 TransactionLogValue 0-1 flexible 1+
    producerId:i64 previousProducerId:i64@1+#0 nextProducerId:i64@1+#1 producerEpoch:i16
    nextProducerEpoch:i16@1+#3 transactionTimeoutMs:i32 transactionStatus:i8
    transactionPartitions:[]{topic:string partitionIds:[]i32}? transactionLastUpdateTimestampMs:i64
    transactionStartTimestampMs:i64 clientTransactionVersion:i16@1+#2
"""

CONSUMER_PROTOCOL = """
0 ConsumerProtocolSubscription 0-3
    topics:[]string userData:bytes? ownedPartitions:[]{topic:string@1+ partitions:[]i32@1+}@1+
    generationId:i32@2+ rackId:string@3+?3+
1 ConsumerProtocolAssignment 0-3
    assignedPartitions:[]{topic:string partitions:[]i32} userData:bytes?
"""

DECODERS = {CONSUMER_OFFSETS: decode_offsets, TRANSACTION_STATE: decode_transaction}
