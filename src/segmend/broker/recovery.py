"""Clean and unclean starts: what is recovered, and what may be deleted for it.

Follows `LogManager.loadLogs`, `LogLoader.load` (`Log.loadSegments` up to 2.8) and
`LogSegment.recover`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import StrEnum

from segmend.broker.rule import Rule


class SwapHandling(StrEnum):
    """How a finished compaction whose files are still called `.swap` is completed."""

    RECOVER = "recover"
    """The swap segment is scanned, then replaces the segments it covers."""
    RENAME = "rename"
    """Everything in the range of offsets of the swap logs is deleted, then they are renamed."""


SWAP: Rule[SwapHandling] = Rule(
    "LogLoader.load; KAFKA-12520, 3.0", (((0, 8), SwapHandling.RECOVER), ((3, 0), SwapHandling.RENAME))
)
DELETE_IF_START_ABOVE_END: Rule[bool] = Rule(
    "LogLoader.recoverLog, deleteSegmentsIfLogStartGreaterThanLogEnd; KAFKA-8306",
    (((0, 8), False), ((2, 3), True)),
)
IO_ERROR_EMPTIES_SEGMENT: Rule[bool] = Rule("LogLoader.recoverLog, 4.0", (((0, 8), False), ((4, 0), True)))
SPLIT_ON_OVERFLOW: Rule[bool] = Rule(
    "LogLoader.retryOnOffsetOverflow; KAFKA-6264", (((0, 8), False), ((2, 0), True))
)
PRODUCER_STATE: Rule[bool] = Rule("ProducerStateManager; KIP-98", (((0, 8), False), ((0, 11), True)))
STRAY_SNAPSHOTS: Rule[bool] = Rule(
    "ProducerStateManager.removeStraySnapshots; KAFKA-12209", (((0, 8), False), ((2, 8), True))
)
RECOVERED_OF: Rule[str] = Rule(
    "LogLoader.recoverLog; the Java LogLoader of 4.0 divides the two numbers",
    (
        ((0, 8), "Recovering unflushed segment {base} in log {log}."),
        ((1, 0), "Recovering unflushed segment {base}"),
        ((3, 0), "Recovering unflushed segment {base}. {number}/{total} recovered for {log}."),
        ((4, 0), "Recovering unflushed segment {base}. 0 recovered for {log}."),
    ),
)

SKIPPING = "Skipping recovery of {} logs from {} since clean shutdown file was found"
RECOVERING = "Recovering {} logs from {} since no clean shutdown file was found"
NO_INDEX = (
    "Could not find offset index file corresponding to log file {}, recovering segment and "
    "rebuilding index files..."
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
ORPHAN = "Found an orphaned index file {}, with no corresponding log file."
INVALID_MESSAGES = "Found invalid messages in log segment {} at byte offset {}."
CORRUPTION = "Corruption found in segment {}, truncating to offset {}"
INVALID_OFFSET = (
    "Found invalid offset during recovery. Deleting the corrupt segment and creating an empty one "
    "with starting offset {}"
)
START_ABOVE_END = (
    "Deleting all segments because logEndOffset ({}) is smaller than logStartOffset {}. "
    "This could happen if segment files were deleted from the file system."
)
COMPACTED = "Deleting segment files {} that is compacted but has not been deleted yet."
FROM_SWAP = (
    "Found log file {} from interrupted swap operation, which is recoverable from .swap files by renaming."
)
SPLIT_REFUSED = "Split operation is only permitted for segments with overflow, and the problem path is {}"
TOO_LARGE = "The size of segment {} ({}) is larger than the maximum allowed segment size of 2147483647"
TOO_SMALL = "Found record size {} smaller than minimum record overhead (14) in file {}."
MAX_FILE_BYTES = 2**31 - 1


def first_recovered(base_offsets: Sequence[int], recovery_point: int) -> int:
    """Index of the first segment that an unclean start recovers: the one that holds the recovery point.

    A point beyond the end still selects the last segment, one below the first selects all
    (`LogSegments.values(recoveryPoint, Long.MaxValue)`).
    """
    return max(bisect_right(base_offsets, recovery_point) - 1, 0)
