// Records of __share_group_state and __remote_log_metadata as Kafka's own classes write and read them:
// one JSON object a line with topic, key and value in hex, and what Kafka's JSON converters say of them.
import java.nio.ByteBuffer;
import java.util.*;
import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.*;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.generated.*;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.serialization.BytesApiMessageSerde;
import org.apache.kafka.server.log.remote.metadata.storage.generated.MetadataJsonConverters;
import org.apache.kafka.server.log.remote.metadata.storage.generated.MetadataRecordType;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.*;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;

public class Vectors {
    static final Uuid TOPIC = new Uuid(0x0123456789abcdefL, 0x1122334455667788L);
    static final Uuid SEGMENT = new Uuid(7, -9);

    public static void main(String[] args) {
        var snapshot = new ShareSnapshotKey().setGroupId("göup").setTopicId(TOPIC).setPartition(3);
        var update = new ShareUpdateKey().setGroupId("g").setTopicId(TOPIC).setPartition(0);
        share(snapshot, new ShareSnapshotValue().setSnapshotEpoch(4).setStateEpoch(5).setLeaderEpoch(6)
            .setStartOffset(1L << 40).setDeliveryCompleteCount(11).setCreateTimestamp(1761955200000L)
            .setWriteTimestamp(1761955200001L).setStateBatches(List.of(
                new ShareSnapshotValue.StateBatch().setFirstOffset(100).setLastOffset(109)
                    .setDeliveryState((byte) 2).setDeliveryCount((short) 300),
                new ShareSnapshotValue.StateBatch().setFirstOffset(110).setLastOffset(110)
                    .setDeliveryState((byte) 4).setDeliveryCount((short) 1))));
        share(snapshot, new ShareSnapshotValue().setStateBatches(List.of()));
        share(update, new ShareUpdateValue().setSnapshotEpoch(1).setLeaderEpoch(2).setStartOffset(-1)
            .setDeliveryCompleteCount(0).setStateBatches(List.of(
                new ShareUpdateValue.StateBatch().setFirstOffset(0).setLastOffset(9)
                    .setDeliveryState((byte) 0).setDeliveryCount((short) 2))));
        share(update, new ShareUpdateValue().setStateBatches(List.of()));
        share(snapshot, null);
        var partition = new TopicIdPartition(TOPIC, new TopicPartition("orders", 2));
        var id = new RemoteLogSegmentId(partition, SEGMENT);
        var epochs = new TreeMap<Integer, Long>(Map.of(0, 0L, 4, 77L));
        var custom = Optional.of(new CustomMetadata(new byte[] {0, 1, -1}));
        remote(new RemoteLogSegmentMetadata(id, 0, 99, 1761955200000L, 1, 1761955200500L, 1048576, custom,
            RemoteLogSegmentState.COPY_SEGMENT_STARTED, epochs, true));
        remote(new RemoteLogSegmentMetadata(id, 100, 199, -1, 1, 5, 1, Map.of(0, 100L)));
        remote(new RemoteLogSegmentMetadataUpdate(id, 1761955201000L, custom,
            RemoteLogSegmentState.COPY_SEGMENT_FINISHED, 1));
        remote(new RemoteLogSegmentMetadataUpdate(id, 1761955201000L, Optional.empty(),
            RemoteLogSegmentState.DELETE_SEGMENT_STARTED, 2));
        remote(new RemotePartitionDeleteMetadata(partition, RemotePartitionDeleteState.DELETE_PARTITION_MARKED,
            1761955202000L, 3));
    }

    static void share(ApiMessage key, ApiMessage value) {
        var serde = new ShareCoordinatorRecordSerde();
        var record = value == null ? CoordinatorRecord.tombstone(key)
            : CoordinatorRecord.record(key, new ApiMessageAndVersion(value, (short) 0));
        print("__share_group_state", serde.serializeKey(record), serde.serializeValue(record),
            CoordinatorRecordJsonConverters.writeRecordKeyAsJson(key),
            value == null ? null : CoordinatorRecordJsonConverters.writeRecordValueAsJson(value, (short) 0));
    }

    static void remote(RemoteLogMetadata metadata) {
        byte[] bytes = new RemoteLogMetadataSerde().serialize(metadata);
        var read = new BytesApiMessageSerde() {
            public ApiMessage apiMessageFor(short kind) {
                return MetadataRecordType.fromId(kind).newMetadataRecord();
            }
        }.deserialize(bytes);
        print("__remote_log_metadata", null, bytes, null,
            MetadataJsonConverters.writeJson(read.message(), read.version()));
    }

    static void print(String topic, byte[] key, byte[] value, JsonNode keySays, JsonNode valueSays) {
        System.out.printf("{\"topic\": \"%s\", \"key\": %s, \"value\": %s, \"key_says\": %s, \"value_says\": %s}%n",
            topic, hex(key), hex(value), keySays, valueSays);
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "null" : "\"" + HexFormat.of().formatHex(bytes) + "\"";
    }
}
