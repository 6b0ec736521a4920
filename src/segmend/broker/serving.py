"""What brokers and their clients say of bytes and indexes that they come upon once the log is served.

Follows `DefaultRecordBatch`, `LogCleaner`, `TimeIndex`, `TransactionIndex` and `UnifiedLog`.
"""

from __future__ import annotations

from segmend.broker.rule import Words

BAD_CRC = "Record is corrupt (stored crc = {}, computed crc = {})"
"""`DefaultRecordBatch.ensureValid`, and of every message before."""
UNKNOWN_CODEC = "Unknown compression type id: {}"
RECORD_STRUCTURE = "Found invalid record structure"
WRONG_COUNT = "Incorrect declared batch size, records still remaining in file"
MAP_FAILED = "java.io.IOException: Map failed"
UNKNOWN_MAGIC = Words(
    "ByteBufferLogInputStream.nextBatch, FileLogInputStream.nextBatch; KIP-98",
    (((0, 8), None), ((0, 11), "Invalid magic found in record: {}")),
)
NULL_KEYS = Words(
    "LogCleaner.recordStats; 0.9", (((0, 8), None), ((0, 9), "Found {} invalid messages during compaction."))
)
READ_FAILED = Words(
    "UnifiedLog.read, maybeHandleIOException; KIP-112",
    (((0, 8), None), ((1, 0), "Exception while reading from {} in dir ... (Is a directory)")),
)
EPOCHS_CUT = Words(
    "LeaderEpochFileCache.assign; KIP-279",
    (((0, 8), None), ((1, 1), "New epoch entry ... caused truncation of conflicting entries ...")),
)
TIME_BACKWARDS = Words(
    "TimeIndex.maybeAppend; KIP-33",
    (
        ((0, 8), None),
        (
            (0, 10, 1),
            "Attempt to append an offset (...) to slot ... no larger than the last offset appended (...)",
        ),
    ),
)
ABORTS_BACKWARDS = Words(
    "TransactionIndex.append; KIP-98",
    (((0, 8), None), ((0, 11), "The last offset of appended transactions must increase sequentially")),
)
REMOTE_INDEX_CORRUPT = "CorruptIndexException: {}"
"""`RemoteIndexCache.init`; KIP-405."""
