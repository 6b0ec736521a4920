"""Clean and unclean starts: what is recovered, and what may be deleted for it.

Follows `LogManager.loadLogs`, `LogLoader.load` (`Log.loadSegments` up to 2.8) and
`LogSegment.recover`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from segmend.broker.rule import Rule, Words, gone_in, new_in
from segmend.formats.batch import LOG_OVERHEAD
from segmend.logdir.release import Release


class SwapHandling(StrEnum):
    """How a finished compaction whose files are still called `.swap` is completed."""

    RECOVER = "recover"
    """The swap segment is scanned, then replaces the segments it covers."""
    RENAME = "rename"
    """Everything in the range of offsets of the swap logs is deleted, then they are renamed."""


SWAP: Rule[SwapHandling] = Rule(
    "LogLoader.load; KAFKA-12520, 3.0", (((0, 8), SwapHandling.RECOVER), ((3, 0), SwapHandling.RENAME))
)
CLEANED_CONDEMNS_SWAP: Final = new_in("Log.removeTempFilesAndCollectSwapFiles; KAFKA-6264, 2.0", (2, 0))
SWAP_INDEX_CONDEMNS_INDEXES: Final = new_in(
    "Log.removeTempFilesAndCollectSwapFiles; up to 1.0 the .swap of an index went, since 1.1 the indexes "
    "of its segment",
    (1, 1),
)
SWAP_REPLACES_LOWER_NEIGHBOUR: Final = gone_in(
    "Log.completeSwapOperations: logSegments() begins with the segment below, which is deleted too; 2.0",
    (2, 0),
)
EMPTY_RANGE_HAS_NONE: Final = new_in("Log.logSegments of a range without an offset; KAFKA-9826", (2, 5, 1))
DELETE_IF_START_ABOVE_END: Final = new_in(
    "LogLoader.recoverLog, deleteSegmentsIfLogStartGreaterThanLogEnd; KAFKA-8306", (2, 3)
)
IO_ERROR_EMPTIES_SEGMENT: Final = new_in(
    "LogLoader.recoverLog catches each IOException beside InvalidOffsetException; 4.0", (4, 0)
)
UNWRITTEN: Final = (
    "the first write that fails takes the log dir offline, at the start or after it, or ends the broker"
)
EMPTIED_UNWRITTEN: Final = "since 4.0 a write that fails while a segment is recovered empties that segment"
"""What `IO_ERROR_EMPTIES_SEGMENT` comes to where nothing can be written."""
SPLIT_ON_OVERFLOW: Final = new_in("LogLoader.retryOnOffsetOverflow; KAFKA-6264", (2, 0))
PRODUCER_STATE: Final = new_in("ProducerStateManager; KIP-98", (0, 11))
LISTED_BY_PATH: Final = new_in("ProducerStateManager.listSnapshotFiles (KAFKA-14480)", (3, 5))
"""Whether it finds snapshots whose names are no UTF-8: it lists paths, where others list `File`s."""
SNAPSHOT_MAP: Final = new_in("ProducerStateManager.loadSnapshots; KAFKA-9393, 2.8", (2, 8))
"""Of several snapshots of one offset it keeps the last that is listed; before, the first listed counts."""
BY_LISTING: Final = "{}: which of them the broker takes depends on the order in which it lists the directory"
SWAP_ORDER: Final = (
    "{}: by the order in which the broker completes them (Log.completeSwapOperations) more or less is lost; "
    "this is the worst. It goes by the listing of the directory (1.1 to 2.5, of four and fewer) or by a hash "
    "of their paths"
)
REBUILDS_ALIKE: Final = new_in(
    "Log.rebuildProducerState, 2.0; before, recoverSegment took a snapshot at its end and none on the way, "
    "and read what is before it to the end; loadProducerState one at each segment and none at its end",
    (2, 0),
)
STRAY_SNAPSHOTS: Final = new_in("ProducerStateManager.removeStraySnapshots; KAFKA-12209", (2, 8))
SIZES_WRAP: Final = gone_in(
    "FileLogInputStream.nextBatch adds position and size in 32 bits; KAFKA-6292, 1.1.1", (1, 1, 1)
)
ENTRIES_NAME_FIRST_OFFSETS: Final = gone_in(
    "LogSegment.recover: an entry of a rebuilt index has the first offset of its batch, later the last; 2.0",
    (2, 0),
)
REPLAYS_UNGUARDED: Rule[bool] = Rule(
    "Log.recoverSegment asks for the segments from the log start offset to its own, in whatever order "
    "these are; 2.0 goes through rebuildProducerState",
    (((0, 8), False), ((0, 11), True), ((2, 0), False)),
)
RECOVERED_OF = Words(
    "LogLoader.recoverLog; the Java LogLoader of 4.0 divides the two numbers",
    (
        ((0, 8), "Recovering unflushed segment {base} in log {log}."),
        ((1, 0), "Recovering unflushed segment {base}"),
        ((3, 0), "Recovering unflushed segment {base}. {number}/{total} recovered for {log}."),
        ((4, 0), "Recovering unflushed segment {base}. 0 recovered for {log}."),
    ),
)

SKIPPING_RECOVERY = Words.since(
    "LogManager.loadLogs; at level debug before KAFKA-10471 (2.6), by number since 3.5",
    ((2, 6), "Skipping recovery for all logs in {dir} since clean shutdown file was found"),
    ((3, 5), "Skipping recovery of {number} logs from {dir} since clean shutdown file was found"),
)
RECOVERING_LOGS = Words.since(
    "LogManager.loadLogs",
    ((2, 6), "Attempting recovery for all logs in {dir} since no clean shutdown file was found"),
    ((3, 5), "Recovering {number} logs from {dir} since no clean shutdown file was found"),
)
NO_INDEX = Words(
    "LogLoader.loadSegmentFiles; a time index beside it since 0.10.1, recovery at once since 1.1",
    (
        ((0, 8), "Could not find index file corresponding to log file {}, rebuilding index..."),
        ((0, 11), "Could not find offset index file corresponding to log file {}, rebuilding index..."),
        (
            (1, 1),
            "Could not find offset index file corresponding to log file {}, recovering segment and "
            "rebuilding index files...",
        ),
    ),
)
CORRUPT_INDEX: Rule[str] = Rule(
    "LogLoader.loadSegmentFiles; Log.loadSegmentFiles up to 1.0 deleted the indexes first (KAFKA-6324)",
    (
        (
            (0, 8),
            "Found a corrupted index file due to requirement failed: {why}}}. deleting {files} "
            "and rebuilding index...",
        ),
        (
            (1, 1),
            "Found a corrupted index file corresponding to log file {log} due to {why}}}, recovering segment "
            "and rebuilding index files...",
        ),
    ),
)
ORPHAN = Words(
    "LogLoader.loadSegmentFiles",
    (
        ((0, 8), "Found an orphaned index file, {}, with no corresponding log file."),
        ((1, 1), "Found an orphaned index file {}, with no corresponding log file."),
    ),
)
INVALID_MESSAGES = "Found invalid messages in log segment {} at byte offset {}."
CORRUPTION = "Corruption found in segment {}, truncating to offset {}"
INVALID_OFFSET = (
    "Found invalid offset during recovery. Deleting the corrupt segment and creating an empty one "
    "with starting offset {}"
)
START_ABOVE_END = Words.since(
    "LogLoader.recoverLog; KAFKA-8306",
    (
        (2, 3),
        "Deleting all segments because logEndOffset ({}) is smaller than logStartOffset {}. This could "
        "happen if segment files were deleted from the file system.",
    ),
)
DIRTY_OFFSET_ABOVE_END = Words.since(
    "LogCleanerManager.cleanableOffsets; KAFKA-8172, 2.3",
    (
        (2, 3),
        "The last checkpoint dirty offset for partition {} is {}, which is larger than the log end "
        "offset {}. Resetting to the log start offset.",
    ),
)
COMPACTED = Words.since(
    "LogLoader.load; KAFKA-12520",
    ((3, 0), "Deleting segment files {} that is compacted but has not been deleted yet."),
)
CONDEMNED_SWAP = Words.since(
    "LogLoader.removeTempFilesAndCollectSwapFiles; KAFKA-6264",
    ((2, 0), "Deleting invalid swap file {} minCleanedFileOffset: {}"),
)
FROM_SWAP = Words(
    "LogLoader.load; KAFKA-12520",
    (
        ((0, 8), "Found log file {} from interrupted swap operation, repairing."),
        (
            (3, 0),
            "Found log file {} from interrupted swap operation, which is recoverable from .swap files by "
            "renaming.",
        ),
    ),
)
SWAP_FILE_RENAMED = Words.since(
    "LogLoader.load; KAFKA-12520", ((3, 0), "Recovering file {} by renaming from .swap files.")
)
OVERFLOW = Words.since(
    "LogLoader.retryOnOffsetOverflow; KAFKA-6264",
    ((2, 0), "Caught segment overflow error: ... Split segment and retry."),
)
SPLIT_REFUSED = Words.since(
    "UnifiedLog.splitOverflowedSegment; names the file since 3.0",
    ((2, 0), "Split operation is only permitted for segments with overflow"),
    ((3, 0), "Split operation is only permitted for segments with overflow, and the problem path is {}"),
)
TOO_LARGE = Words.since(
    "FileRecords; 2.1. Before, the size of a file was cut to 32 bits, and a negative one is no position",
    ((2, 1), "The size of segment {} ({}) is larger than the maximum allowed segment size of 2147483647"),
)
SIZE_IS_CUT: Final = gone_in("FileRecords: `(int) channel.size()`; 2.1", (2, 1))
TOO_SMALL: Rule[str] = Rule(
    "FileLogInputStream.nextBatch; its words name the size since 2.0",
    (
        ((0, 8), "Record size is smaller than minimum record overhead (14)."),
        ((2, 0), "Found record size {size} smaller than minimum record overhead (14) in file {file}."),
    ),
)
MAX_FILE_BYTES = 2**31 - 1


def size_wraps(release: Release, position: int, size: int) -> bool:
    """Whether the end of a batch of `size` bytes at `position` is negative to that release."""
    return size > MAX_FILE_BYTES - LOG_OVERHEAD - position and SIZES_WRAP.of(release)


def first_recovered(base_offsets: Sequence[int], recovery_point: int) -> int:
    """Index of the first segment that an unclean start recovers: the one that holds the recovery point.

    A point beyond the end still selects the last segment, one below the first selects all
    (`LogSegments.values(recoveryPoint, Long.MaxValue)`).
    """
    return max(bisect_right(base_offsets, recovery_point) - 1, 0)
