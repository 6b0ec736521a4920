"""What brokers say of producer snapshots, and of batches that contradict the state of their producer.

Follows `ProducerStateManager`, `ProducerAppendInfo` and `UnifiedLog.rebuildProducerState`.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.rule import Words, gone_in, new_in

FAILED_SNAPSHOT = Words.since(
    "ProducerStateManager.loadFromSnapshot; KIP-98",
    ((0, 11), "Failed to load producer snapshot from '{}': {}"),
)
NO_ARRAY = "Requested array size exceeds VM limit"
"""`ProducerStateManager.readSnapshot` reads all of it by `Files.readAllBytes`: an OutOfMemoryError, which
nothing that loads logs catches, over `recovery.MAX_FILE_BYTES` bytes and more (played on 4.1.1)."""
UNREAD_SNAPSHOT = (
    "the newest snapshot is {:,} bytes long and was not read: the broker reads all of it at once, and "
    "ends with an OutOfMemoryError where its heap is too small"
)
LOADING_STATE = Words.since(
    "Log.loadProducerState, UnifiedLog.rebuildProducerState; the word changed in 2.0",
    ((0, 11), "Loading producer state from offset {}"),
    ((2, 0), "Loading producer state till offset {}"),
)
OUT_OF_TRANSACTION = Words.since(
    "ProducerAppendInfo.appendDataBatch; names the offset since 2.0",
    ((0, 11), "Expected transactional write from producer {}"),
    ((2, 0), "Expected transactional write from producer {} at offset {}"),
)
UNKNOWN_MARKER = Words.since(
    "EndTransactionMarker.ensureTransactionMarkerControlType, which forgets a blank",
    ((0, 11), "Invalid control record type for end transaction markerUNKNOWN"),
)
OLD_EPOCH = Words(
    "ProducerAppendInfo.checkProducerEpoch; an error of the producer up to 2.1, then a warning",
    (
        ((0, 8), None),
        ((0, 11), "Producer's epoch is no longer valid."),
        ((2, 0), "Producer's epoch at offset {offset} is no longer valid in partition {partition}"),
        ((2, 2), "Producer's epoch at offset {offset} in {partition} is {epoch}, which is smaller than the "
                 "last seen epoch {last}"),
        ((2, 8), "Epoch of producer {producer} at offset {offset} in {partition} is {epoch}, which is "
                 "smaller than the last seen epoch {last}"),
    ),
)  # fmt: skip
EMPTY_TRANSACTIONS_END: Final = gone_in(
    "ProducerAppendInfo.appendEndTxnMarker: a marker without a transaction began one at its own offset and "
    "ended it; 2.8",
    (2, 8),
)
FENCES_OLD_MARKERS: Final = gone_in(
    "ProducerAppendInfo.checkProducerEpoch, checkCoordinatorEpoch: a marker of an older epoch threw in a "
    "replay as well; 2.4 looks where the batch comes from",
    (2, 4),
)
FENCED = "Producer's epoch is no longer valid."
ZOMBIE_COORDINATOR = "Invalid coordinator epoch (zombie)"
REPLAYS_TO_A_POSITION: Final = new_in(
    "Log.rebuildProducerState: the place of the last offset by the index, where up to 2.3 it was sought "
    "behind the place of the first",
    (2, 4),
)
FORGETS_OPEN_TRANSACTIONS: Final = gone_in(
    "Log.loadProducersFromLog of 1.1 takes a marker whose transaction began in a segment before for one "
    "without a transaction (seen on 1.1.0, and not on 2.5.1)",
    (2, 0),
)
READS_EMPTY_MARKERS: Final = gone_in(
    "ProducerAppendInfo.append: the iterator of a control batch without a record, as cleaners leave one, is "
    "asked for its next; KAFKA-7467, 2.0.1 (seen on 1.1.0: the start ends)",
    (2, 0, 1),
)
