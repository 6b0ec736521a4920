"""What brokers say of producer snapshots, and of batches that contradict the state of their producer.

Follows `ProducerStateManager`, `ProducerAppendInfo` and `UnifiedLog.rebuildProducerState`.
"""

from __future__ import annotations

from segmend.broker.rule import Rule, Words

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
EMPTY_TRANSACTIONS_END: Rule[bool] = Rule(
    "ProducerAppendInfo.appendEndTxnMarker: a marker without a transaction began one at its own offset and "
    "ended it; 2.8",
    (((0, 8), True), ((2, 8), False)),
)
FENCES_OLD_MARKERS: Rule[bool] = Rule(
    "ProducerAppendInfo.checkProducerEpoch, checkCoordinatorEpoch: a marker of an older epoch threw in a "
    "replay as well; 2.4 looks where the batch comes from",
    (((0, 8), True), ((2, 4), False)),
)
FENCED = "Producer's epoch is no longer valid."
ZOMBIE_COORDINATOR = "Invalid coordinator epoch (zombie)"
REPLAYS_TO_A_POSITION: Rule[bool] = Rule(
    "Log.rebuildProducerState: the place of the last offset by the index, where up to 2.3 it was sought "
    "behind the place of the first",
    (((0, 8), False), ((2, 4), True)),
)
FORGETS_OPEN_TRANSACTIONS: Rule[bool] = Rule(
    "Log.loadProducersFromLog of 1.1 takes a marker whose transaction began in a segment before for one "
    "without a transaction (seen on 1.1.0, and not on 2.5.1)",
    (((0, 8), True), ((2, 0), False)),
)
