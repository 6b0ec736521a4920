"""What brokers and their clients say of bytes and indexes that they come upon once the log is served.

Follows `DefaultRecordBatch`, `LogCleaner`, `TimeIndex`, `TransactionIndex` and `UnifiedLog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.formats.names import CONSUMER_OFFSETS, TRANSACTION_STATE

BAD_CRC = "Record is corrupt (stored crc = {}, computed crc = {})"
"""`DefaultRecordBatch.ensureValid`, and of every message before."""
UNKNOWN_CODEC = "Unknown compression type id: {}"
RECORD_STRUCTURE = "Found invalid record structure"
WRONG_COUNT = "Incorrect declared batch size, records still remaining in file"
MAP_FAILED = "java.io.IOException: Map failed"
UNKNOWN_MAGIC = Words.since(
    "ByteBufferLogInputStream.nextBatch, FileLogInputStream.nextBatch; KIP-98",
    ((0, 11), "Invalid magic found in record: {}"),
)
MAGIC_SINCE: Final = {1: (0, 10), 2: (0, 11)}
"""`RecordBatch`: the release that brought a magic; KIP-32, KIP-98."""
CODEC_SINCE: Final = {4: (2, 1)}
"""`CompressionType`, by id; KIP-110. Brokers before hand such batches out, their clients refuse them."""
_TRANSACTIONS: Final = {0: 0}


def _state(commit: int, group: int) -> Mapping[str, Mapping[int, int]]:
    return {CONSUMER_OFFSETS: {0: commit, 1: commit, 2: group}, TRANSACTION_STATE: _TRANSACTIONS}


READ_STATE: Rule[Mapping[str, Mapping[int, int]] | None] = Rule(
    "GroupMetadataManager.readMessageKey, readOffsetMessageValue, readGroupMessageValue, TransactionLog; "
    "KIP-211, KIP-345, KIP-915",
    (((0, 8), _state(1, 1)), ((2, 1), _state(3, 2)), ((2, 3), _state(3, 3)), ((3, 4, 1), None)),
)
"""Of each coordinator's topic the keys that are read, and the newest version of the value of each; None: all
that were written."""
WRITTEN_WITH_ZOOKEEPER: Final = new_in(
    "GroupMetadataManager; KIP-345: nothing newer came before KRaft", (2, 3)
)
"""Whether all is read that brokers with ZooKeeper write, whichever release they are of."""
NOT_LOADED: Final = {
    CONSUMER_OFFSETS: "Error loading offsets from {}",
    TRANSACTION_STATE: "Error loading transactions from transaction log {}",
}
NULL_KEYS = Words.since(
    "LogCleaner.recordStats; 0.9", ((0, 9), "Found {} invalid messages during compaction.")
)
READ_FAILED = Words.since(
    "UnifiedLog.read, maybeHandleIOException; KIP-112",
    ((1, 0), "Exception while reading from {} in dir ... (Is a directory)"),
)
EPOCHS_CUT = Words.since(
    "LeaderEpochFileCache.assign; KIP-279",
    ((1, 1), "New epoch entry ... caused truncation of conflicting entries ..."),
)
TIME_BACKWARDS = Words.since(
    "TimeIndex.maybeAppend; KIP-33",
    (
        (0, 10, 1),
        "Attempt to append an offset (...) to slot ... no larger than the last offset appended (...)",
    ),
)
ABORTS_BACKWARDS = Words.since(
    "TransactionIndex.append; KIP-98",
    ((0, 11), "The last offset of appended transactions must increase sequentially"),
)
STOPS_BEFORE_THE_MARK: Final = gone_in("LogSegment.read, maxOffset; KAFKA-8717", (2, 4))
"""Whether what is read of any segment ends before the batch that has the high watermark."""
REMOTE_INDEX_CORRUPT = "CorruptIndexException: {}"
"""`RemoteIndexCache.init`; KIP-405."""
