"""Records of `__cluster_metadata` as a controller writes them, byte by byte, and a node that follows them."""

import base64
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.checks import build_partition as build

NODE = 1
LEVEL_4_3 = 30
EPOCH = 100
"""That of leaders: above what logs here are written in."""


def uuid(text: str) -> bytes:
    """The 16 bytes of an id in Kafka's base64."""
    return base64.urlsafe_b64decode(text + "==")


def compact(items: Sequence[bytes] | bytes) -> bytes:
    """A compact array of ready items, or a compact string."""
    return bytes([len(items) + 1]) + (items if isinstance(items, bytes) else b"".join(items))


def topic(name: str, topic_id: str) -> bytes:
    """TopicRecord."""
    return b"\x01\x02\x00" + compact(name.encode()) + uuid(topic_id) + b"\0"


def remove_topic(topic_id: str) -> bytes:
    """RemoveTopicRecord."""
    return b"\x01\x09\x00" + uuid(topic_id) + b"\0"


def partition(
    topic_id: str,
    number: int,
    replicas: Sequence[int],
    directory_ids: Sequence[str] = (),
    epoch: int = EPOCH,
) -> bytes:
    """PartitionRecord; the first replica leads. With the ids of dirs it is of version 1 (3.7)."""
    nodes = compact([struct.pack(">i", node) for node in replicas])
    fields = struct.pack(">i", number) + uuid(topic_id) + nodes * 2 + compact([]) * 2
    fields += struct.pack(">iii", replicas[0], epoch, 0)
    if directory_ids:
        return b"\x01\x03\x01" + fields + compact([uuid(each) for each in directory_ids]) + b"\0"
    return b"\x01\x03\x00" + fields + b"\0"


def register(directory_ids: Sequence[str], node: int = NODE, *, migrating: bool = False) -> bytes:
    """RegisterBrokerRecord version 3, with the node's directory ids; `migrating` from ZooKeeper."""
    fixed = struct.pack(">i?", node, migrating) + bytes(16) + struct.pack(">q", 7) + compact([]) * 2
    dirs = compact([uuid(directory_id) for directory_id in directory_ids])
    return b"\x01\x00\x03" + fixed + b"\0\0\0" + b"\x01\x00" + bytes([len(dirs)]) + dirs


def migration(state: int) -> bytes:
    """ZkMigrationStateRecord."""
    return b"\x01\x15\x00" + bytes([state]) + b"\0"


def topic_setting(topic_name: str, name: str, value: str) -> bytes:
    """ConfigRecord of a topic."""
    texts = b"".join(compact(text.encode()) for text in (topic_name, name, value))
    return b"\x01\x04\x00\x02" + texts + b"\0"


def feature(name: str, level: int) -> bytes:
    """FeatureLevelRecord."""
    return b"\x01\x0c\x00" + compact(name.encode()) + struct.pack(">h", level) + b"\0"


def producer_ids(following: int) -> bytes:
    """ProducerIdsRecord: the next id that is given out."""
    return b"\x01\x0f\x00" + struct.pack(">iqq", NODE, 7, following) + b"\0"


NO_OP = b"\x01\x14\x00\x00"
"""NoOpRecord."""
BEGIN, END, ABORT = (bytes([1, kind, 0, 0]) for kind in (23, 24, 25))
"""BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord."""


def cluster(
    topics: Sequence[str],
    *,
    ids: Mapping[str, str] | None = None,
    epochs: Mapping[str, int] | None = None,
    replicas: Sequence[int] = (NODE,),
    directory_ids: Sequence[str] = (build.DIRECTORY_ID,),
    level: int = LEVEL_4_3,
    following: int = 1_000_000,
) -> list[bytes]:
    """A cluster with one node's registration, topics of one partition, and ids given out to producers."""
    named = [(name, (ids or {}).get(name, build.topic_id(name))) for name in topics]
    made = [
        record
        for name, own in named
        for record in (topic(name, own), partition(own, 0, replicas, epoch=(epochs or {}).get(name, EPOCH)))
    ]
    return [feature("metadata.version", level), register(directory_ids), producer_ids(following), *made]


def snapshot(values: Sequence[bytes], epoch: int = 0) -> list[bytes]:
    """The batches of a snapshot with these records: its header, the records, its footer."""
    ends = {3: struct.pack(">hqb", 0, 0, 0), 4: b"\0\0"}
    header, footer = ([build.record(0, struct.pack(">hh", 0, kind), ends[kind])] for kind in ends)
    records = [build.record(number, None, value) for number, value in enumerate(values, 1)]
    return [
        build.batch(0, header, attributes=0x20, epoch=epoch), build.batch(1, records, epoch=epoch),
        build.batch(len(records) + 1, footer, attributes=0x20, epoch=epoch),
    ]  # fmt: skip


def write_metadata(log_dir: Path, records: Sequence[bytes]) -> Path:
    """`__cluster_metadata-0` with these records, one batch each."""
    log = build.PartitionWriter("__cluster_metadata", epoch=2)
    for value in records:
        data = build.batch(log.next_offset, [build.record(0, None, value)], epoch=2, base_timestamp=log.clock)
        log.write(data, 1, log.clock)
    path = log.write_to(log_dir)
    for snapshot in path.glob("*.snapshot"):
        snapshot.unlink()
    (path / "quorum-state").write_text(
        '{"leaderId":1,"leaderEpoch":2,"votedId":1,"data_version":0,'
        '"clusterId":"","appliedOffset":0,"currentVoters":[{"voterId":1}]}'
    )
    return path
