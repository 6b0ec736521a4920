"""What brokers and their clients say of bytes and indexes that they come upon once the log is served.

Follows `DefaultRecordBatch`, `LogCleaner`, `TimeIndex`, `TransactionIndex` and `UnifiedLog`.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.rule import Rule, Words, gone_in

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
GROUP_VALUES: Rule[tuple[int, int] | None] = Rule(
    "GroupMetadataManager.readOffsetMessageValue, readGroupMessageValue; KIP-211, KIP-345",
    (((0, 8), (1, 1)), ((2, 1), (3, 2)), ((2, 3), None)),
)
"""The newest versions of a commit's and of a group's value that are read; None: of all that were written."""
GROUPS_NOT_LOADED = "Error loading offsets from {}"
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
