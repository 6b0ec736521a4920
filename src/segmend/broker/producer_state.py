"""What brokers say of producer snapshots, and of batches that contradict the state of their producer.

Follows `ProducerStateManager`, `ProducerAppendInfo` and `UnifiedLog.rebuildProducerState`.
"""

from __future__ import annotations

from segmend.broker.rule import Words

FAILED_SNAPSHOT = Words(
    "ProducerStateManager.loadFromSnapshot; KIP-98",
    (((0, 8), None), ((0, 11), "Failed to load producer snapshot from '{}': {}")),
)
LOADING_STATE = Words(
    "Log.loadProducerState, UnifiedLog.rebuildProducerState; the word changed in 2.0",
    (
        ((0, 8), None),
        ((0, 11), "Loading producer state from offset {}"),
        ((2, 0), "Loading producer state till offset {}"),
    ),
)
OUT_OF_TRANSACTION = Words(
    "ProducerAppendInfo.appendDataBatch; names the offset since 2.0",
    (
        ((0, 8), None),
        ((0, 11), "Expected transactional write from producer {}"),
        ((2, 0), "Expected transactional write from producer {} at offset {}"),
    ),
)
UNKNOWN_MARKER = Words(
    "EndTransactionMarker.ensureTransactionMarkerControlType, which forgets a blank",
    (((0, 8), None), ((0, 11), "Invalid control record type for end transaction markerUNKNOWN")),
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
