"""The tables of a fleet, as pyarrow schemas: the one source of every column name and type.

Two uses of the same tables:

* The data source `kafka-log` gives `TABLES[name]` for `option("table", name)`.
* `segmend fleet audit PATHS... --out OUT` stores `STORED[name]`, the same columns with
  `run_id` in front, in a Delta table each. What lies on disk afterwards:

      OUT/<table>/        a Delta table for each name in STORED (see `AUDIT_TABLES`)
      OUT/report.html     the HTML report of the newest run
      OUT/summary.json    one object, the keys of `SUMMARY_KEYS`, of the newest run

Conventions. Every row says `broker`, `log_dir_id`, `topic`, `partition`; the path of a log
dir is in `log_dirs` only (join on `run_id, log_dir_id`). Integers are Kafka's raw ones with
their unit in the name: a `_ms` column holds -1 where Kafka wrote -1. Null means that the
disk does not say. Types are the ones that Spark and Arrow share: no unsigned integers,
list children are called `element`, instants are `timestamp[us, UTC]`.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from segmend.formats import names
from segmend.kernel.arrow import BATCH_SCHEMA

_INSTANT = pa.timestamp("us", tz="UTC")


def _list_of(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind))


_HEADERS = _list_of(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_EPOCHS = _list_of(pa.struct([pa.field("epoch", pa.int32()), pa.field("start_offset", pa.int64())]))

_DIR: Final = [
    ("cluster_id", pa.string()),  # of meta.properties, else of what else tells; null: nothing does
    ("broker", pa.int32()),  # node id; negative: nothing on the disk or in its path names one
    ("log_dir_id", pa.int32()),  # numbers the log dirs of one read
]
_PARTITION: Final = [*_DIR, ("topic", pa.string()), ("partition", pa.int32())]
_SEGMENT: Final = [
    *_PARTITION,
    ("segment", pa.int64()),  # its base offset
]

LOG_DIRS: Final = pa.schema(
    [
        *_DIR,
        ("path", pa.string()),
        ("directory_id", pa.string()),  # meta.properties v1, KIP-858
        ("meta_version", pa.int32()),  # 0 = ZooKeeper, 1 = KRaft, null = no meta.properties
        ("release", pa.string()),  # the Kafka release the broker's disks look like, "3.9"
        ("clean_shutdown", pa.bool_()),
        ("partitions", pa.int32()),
        ("bytes", pa.int64()),  # of the logs in it
        ("disk_total_bytes", pa.int64()),  # null for object stores
        ("disk_free_bytes", pa.int64()),
    ]
)

PARTITIONS: Final = pa.schema(
    [
        *_PARTITION,
        ("dir_name", pa.string()),
        ("kind", pa.string()),  # current | future | delete | stray | cluster-metadata
        ("topic_id", pa.string()),  # partition.metadata, Kafka's base64 form
        ("log_start_offset", pa.int64()),  # as a broker would compute it: checkpoint or first segment
        ("high_watermark", pa.int64()),  # replication-offset-checkpoint
        ("recovery_point", pa.int64()),  # recovery-point-offset-checkpoint
        ("cleaned_offset", pa.int64()),  # cleaner-offset-checkpoint: compacted up to here
        ("log_end_offset", pa.int64()),
        ("last_epoch", pa.int32()),  # of the last batch; -1 for magic 0 and 1
        ("leader_epochs", _EPOCHS),  # leader-epoch-checkpoint
        ("compacted", pa.bool_()),  # the cleaner has been here: checkpoint, or holes inside batches
        ("segments", pa.int32()),
        ("first_segment", pa.int64()),
        ("active_segment", pa.int64()),
        ("files", pa.int32()),
        ("bytes", pa.int64()),  # of every file in it
        ("log_bytes", pa.int64()),
        ("batches", pa.int64()),  # as far as the segments could be read
        ("records", pa.int64()),  # the same
        ("min_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
    ]
)

SEGMENTS: Final = pa.schema(
    [
        *_SEGMENT,
        ("file", pa.string()),  # relative to the log dir: t-0/00000000000000000000.log
        ("is_active", pa.bool_()),
        ("log_bytes", pa.int64()),
        ("valid_bytes", pa.int64()),  # up to the end of the last whole batch
        ("index_bytes", pa.int64()),  # null: the file is not there
        ("timeindex_bytes", pa.int64()),
        ("txnindex_bytes", pa.int64()),
        ("mtime_ms", pa.int64()),
        ("batches", pa.int64()),
        ("records", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("next_offset", pa.int64()),
        ("min_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
        ("offset_of_max_timestamp", pa.int64()),
        ("first_epoch", pa.int32()),
        ("last_epoch", pa.int32()),
        ("magics", _list_of(pa.int32())),
        ("codecs", _list_of(pa.string())),  # none gzip snappy lz4 zstd
        ("crc_checked", pa.bool_()),
        ("problems", pa.int32()),  # defects of the .log itself; their story is in `findings`
    ]
)

BATCHES: Final = pa.schema([*_SEGMENT, *BATCH_SCHEMA])

KAFKA_RECORD: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", _INSTANT),
        ("timestampType", pa.int32()),  # 0 create time, 1 append time, -1 none (magic 0)
    ]
)
"""The columns of Spark's own Kafka source (`KafkaRecordToRowConverter.kafkaSchema`), in its order."""

KAFKA_RECORD_WITH_HEADERS: Final = KAFKA_RECORD.append(pa.field("headers", _HEADERS))
"""The same with `includeHeaders`."""

RECORDS: Final = pa.schema(
    [
        *KAFKA_RECORD_WITH_HEADERS,
        ("broker", pa.int32()),
        ("log_dir_id", pa.int32()),
        ("segment", pa.int64()),
        ("key_size", pa.int32()),  # -1: null
        ("value_size", pa.int32()),  # -1: null
        ("cluster_id", pa.string()),
        ("dir", pa.string()),  # the log dir
        ("file", pa.string()),  # the log, relative to dir
        ("position", pa.int64()),  # of the record's batch in the file
        ("leader_epoch", pa.int32()),  # -1 for magic 0 and 1
        ("producer_id", pa.int64()),  # -1: not idempotent
        ("producer_epoch", pa.int32()),
        ("sequence", pa.int32()),  # -1: not idempotent
        ("transactional", pa.bool_()),
        ("_damage", pa.string()),  # what is wrong in the place of the record; null: nothing
    ]
)
"""Everything `records` can give by `option("columns", ...)`; its default is `KAFKA_RECORD`."""

INDEX_ENTRIES: Final = pa.schema(
    [
        *_SEGMENT,
        ("kind", pa.string()),  # offset | time | txn
        ("entry", pa.int32()),  # its number in the file, from 0
        ("offset", pa.int64()),
        ("position", pa.int64()),  # offset index: byte position in the .log
        ("timestamp_ms", pa.int64()),  # time index
        ("producer_id", pa.int64()),  # transaction index: an aborted transaction
        ("first_offset", pa.int64()),
        ("last_stable_offset", pa.int64()),
    ]
)

DAMAGE: Final = pa.schema(
    [
        *_SEGMENT,
        ("dir", pa.string()),  # the log dir
        ("file", pa.string()),  # the log, relative to dir
        ("kind", pa.string()),  # see `segmend.kernel.types.KINDS`; or unreadable, vanished, missing
        ("position", pa.int64()),
        ("end", pa.int64()),  # where reading goes on
        ("first_offset", pa.int64()),  # the first that may be lost; null: nothing tells
        ("last_offset", pa.int64()),  # the last; null: nothing tells
        ("reason", pa.string()),
    ]
)
"""The damaged places that cost a reader records."""

_OF_RECORD: Final = [
    *_PARTITION,  # of the internal topic itself
    ("offset", pa.int64()),  # of the record in it
    ("timestamp", _INSTANT),
    ("record_type", pa.string()),  # as kafka-dump-log prints it; null: cannot be read
    ("deleted", pa.bool_()),  # a tombstone: what was said by this key before holds no more
]
_AS_JSON: Final = [
    ("key_json", pa.string()),  # all of it, in the shapes of kafka-dump-log
    ("value_json", pa.string()),
]

CONSUMER_OFFSETS: Final = pa.schema(
    [
        *_OF_RECORD,
        ("group_id", pa.string()),
        ("committed_topic", pa.string()),  # null: the record is no committed offset, but of the group
        ("committed_partition", pa.int32()),
        ("committed_offset", pa.int64()),
        ("committed_epoch", pa.int32()),  # -1: the client told none
        ("metadata", pa.string()),
        ("commit_timestamp_ms", pa.int64()),
        *_AS_JSON,
    ]
)

TRANSACTIONS: Final = pa.schema(
    [
        *_OF_RECORD,
        ("transactional_id", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("status", pa.int32()),  # of `TransactionState`: 0 empty, 1 ongoing, 4 committed, 5 aborted, ...
        ("timeout_ms", pa.int32()),
        ("last_update_ms", pa.int64()),
        ("start_ms", pa.int64()),
        ("partitions", _list_of(pa.string())),  # t-0: those in the transaction
        *_AS_JSON,
    ]
)

CLUSTER_METADATA: Final = pa.schema([*_OF_RECORD, ("version", pa.int32()), *_AS_JSON])

CHECKPOINTS: Final = pa.schema(
    [
        *_DIR,
        ("file", pa.string()),  # relative to the log dir; t-0/leader-epoch-checkpoint too
        ("version", pa.int32()),
        ("line", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("epoch", pa.int32()),  # leader-epoch-checkpoint
        ("offset", pa.int64()),
    ]
)

_BROKER_EFFECT: Final = pa.struct(
    [
        ("effect", pa.string()),  # the worst of it, see `segmend.findings.BrokerEffect`
        ("offset", pa.int64()),
        ("records_lost", pa.int64()),
        ("bytes_lost", pa.int64()),
        ("text", pa.string()),
        ("basis", pa.string()),  # forecast | manual
    ]
)

FINDINGS: Final = pa.schema(
    [
        ("code", pa.string()),
        ("severity", pa.string()),  # error | warning | info
        *_PARTITION,  # null where the finding is of a directory or broker
        ("segment", pa.int64()),
        ("dir", pa.string()),
        ("file", pa.string()),  # relative to dir
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("message", pa.string()),
        ("broker_says", pa.string()),
        ("broker_effect", _BROKER_EFFECT),  # null where replicas were compared
        ("remedy_command", pa.string()),
        ("remedy_safety", pa.string()),  # safe | lossy | advice
        ("detail", pa.map_(pa.string(), pa.string())),
        ("source", pa.string()),  # scan: seen on one disk; join: seen by comparing replicas
        ("fingerprint", pa.string()),  # the same fault has the same one in every run
    ]
)

DIGESTS: Final = pa.schema(
    [
        *_PARTITION,
        ("bucket", pa.int64()),  # base_offset // DIGEST_OFFSETS
        ("batches", pa.int32()),
        ("first_offset", pa.int64()),
        ("end_offset", pa.int64()),  # the last batch's last offset + 1
        ("digest", pa.int64()),  # sum of the batches' hashes of (offsets, epoch, crc), modulo 2**64
    ]
)
"""What a replica holds, `DIGEST_OFFSETS` offsets a row: replicas that agree have equal rows."""

DIGEST_OFFSETS: Final = 4096

REPLICAS: Final = pa.schema(
    [
        *_PARTITION,
        ("topic_id", pa.string()),
        ("replicas", pa.int32()),  # brokers that hold the partition
        ("expected_replicas", pa.int32()),  # what the topic's other partitions have
        ("log_start_offset", pa.int64()),
        ("high_watermark", pa.int64()),
        ("log_end_offset", pa.int64()),
        ("last_epoch", pa.int32()),
        ("max_high_watermark", pa.int64()),  # over all replicas
        ("max_log_end_offset", pa.int64()),
        ("behind", pa.int64()),  # max_log_end_offset - log_end_offset
        ("diverged_at", pa.int64()),  # first offset that differs from the most advanced replica
        (
            "status",
            pa.string(),
        ),  # in-step | unread: of it or the reference not all could be | behind | diverged
        ("bytes", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
    ]
)
"""What the SQL joins make of `partitions` and `digests`: one row a current replica."""

SCANS: Final = pa.schema(
    [
        *_SEGMENT,
        ("dir", pa.string()),  # the log dir, absolute
        ("dir_name", pa.string()),
        ("level", pa.string()),  # how deep it was read
        ("mark", pa.string()),  # inode, size, times of the log and its indexes as they were read
        ("read_by", pa.string()),  # the run that read it
        ("scan", pa.string()),  # `kernel.types.SegmentScan` as JSON
        ("has_holes", pa.bool_()),
        ("buckets", _list_of(_list_of(pa.int64()))),  # its part of `digests`
    ]
)
"""What the reading of a sealed segment gave, for an audit that finds it unchanged (`fleet/carried.py`)."""

RUNS: Final = pa.schema(
    [
        ("started", _INSTANT),
        ("seconds", pa.float64()),
        ("version", pa.string()),  # of segmend
        ("driver", pa.string()),  # spark | local
        ("level", pa.string()),  # startup | default | deep
        ("paths", _list_of(pa.string())),
        ("brokers", pa.int32()),
        ("log_dirs", pa.int32()),
        ("partitions", pa.int32()),
        ("segments", pa.int64()),
        ("batches", pa.int64()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("errors", pa.int32()),
        ("warnings", pa.int32()),
        ("infos", pa.int32()),
        ("new_findings", pa.int32()),  # against the run before, null in the first
        ("gone_findings", pa.int32()),
        ("since_run", pa.string()),  # --since-run; null: every log was read
        ("carried_segments", pa.int64()),  # of segments, those whose log was not read again
        ("carried_bytes", pa.int64()),  # of bytes, those in them
        ("skipped", _list_of(pa.string())),  # what was not looked at, in words
        ("exit_code", pa.int32()),
    ]
)

ABOUT: Final = {
    "partitions": "a replica of a partition",
    "segments": "a segment of a replica",
    "batches": "a record batch, by its header",
    "records": "a record, as a consumer gets it; the first seven columns, those of Spark's own Kafka source, "
    "are the default",
    "index_entries": "an entry of a `.index`, `.timeindex` or `.txnindex`",
    "checkpoints": "a line of a checkpoint file",
    "findings": "what `segmend check` finds",
    "damage": "a damaged place that costs a reader records",
    "consumer_offsets": "a record of `__consumer_offsets`: an offset that a group committed, or a state of "
    "the group; of each key (group, topic, partition) the newest counts",
    "transactions": "a record of `__transaction_state`; of each transactional id the newest counts",
    "cluster_metadata": "a record of `__cluster_metadata`, which a KRaft controller wrote",
}
"""What one row of each table is."""

TABLES: Final[dict[str, pa.Schema]] = {
    "partitions": PARTITIONS,
    "segments": SEGMENTS,
    "batches": BATCHES,
    "records": RECORDS,
    "index_entries": INDEX_ENTRIES,
    "checkpoints": CHECKPOINTS,
    "findings": FINDINGS,
    "damage": DAMAGE,
    "consumer_offsets": CONSUMER_OFFSETS,
    "transactions": TRANSACTIONS,
    "cluster_metadata": CLUSTER_METADATA,
}
"""What `kafka-log` reads."""

DECODED: Final = {
    "consumer_offsets": names.CONSUMER_OFFSETS,
    "transactions": names.TRANSACTION_STATE,
    "cluster_metadata": names.CLUSTER_METADATA_TOPIC,
}
"""Tables of what the records of one internal topic say."""

_CARRIED: Final = [("carried_from", pa.string())]  # the run that read the log; null: this one
_STORED_MORE: Final = {"segments": _CARRIED, "findings": _CARRIED}

STORED: Final[dict[str, pa.Schema]] = {
    name: pa.schema([("run_id", pa.string()), *schema, *_STORED_MORE.get(name, ())])
    for name, schema in {
        **TABLES,
        "log_dirs": LOG_DIRS,
        "digests": DIGESTS,
        "replicas": REPLICAS,
        "scans": SCANS,
        "runs": RUNS,
    }.items()
    if name != "records" and name not in DECODED
}
"""What an audit writes."""

ABOUT_AUDIT: Final = {
    "log_dirs": "a log dir",
    "digests": f"{DIGEST_OFFSETS:,} offsets of a replica; replicas that agree have equal rows",
    "replicas": "a current replica, beside the others of its partition",
    "scans": "what the reading of a sealed segment gave, for an audit with `--since-run`",
    "runs": "an audit",
}
AUDIT_TABLES: Final = (
    "runs",
    "log_dirs",
    "partitions",
    "segments",
    "checkpoints",
    "findings",
    "digests",
    "replicas",
)
"""The tables every audit has; `batches` and `index_entries` are there when asked for."""

SUMMARY_KEYS: Final = ("type", "run_id", *RUNS.names, "codes", "out", "report", "tables")
"""Of OUT/summary.json: the `runs` row, findings by code, and where things are."""
