"""The aborted transactions of a segment as its log tells them, against the rows of its `.txnindex`.

Follows `ProducerAppendInfo.appendEndTxnMarker`, `TransactionIndex.collectAbortedTxns` and what a consumer
makes of that list (`CompletedFetch.consumeAbortedTransactionsUpTo`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.formats.txn_index import AbortedTxn
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import SegmentScan
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again

States = Mapping[int, ProducerStateEntry]
Key = tuple[int, int]


def composed(before: ProducerStateEntry | None, segment: ProducerStateEntry) -> ProducerStateEntry:
    """The state after a segment, from that before it and the segment's own fold.

    A marker in the segment shows in its coordinator epoch: only then may a transaction
    begun earlier have ended.
    """
    if before is None:
        return segment
    ended = segment.coordinator_epoch >= 0
    first = segment.current_txn_first_offset
    if not ended and before.current_txn_first_offset >= 0:
        first = before.current_txn_first_offset
    state = segment._replace(
        current_txn_first_offset=first,
        coordinator_epoch=segment.coordinator_epoch if ended else before.coordinator_epoch,
    )
    if segment.last_offset >= 0 or segment.producer_epoch != before.producer_epoch:
        return state
    kept = {
        "last_sequence": before.last_sequence,
        "last_offset": before.last_offset,
        "offset_delta": before.offset_delta,
    }
    return state._replace(**kept)


def aborted_rows(
    log: FileEntry, base_offset: int, scan: SegmentScan, states: States
) -> dict[Key, AbortedTxn]:
    """The rows a broker would write, by producer and last offset; `states` are those before the segment."""
    return {(row.producer_id, row.last_offset): row for row in _rows(log, base_offset, scan, states)}


def _rows(log: FileEntry, base_offset: int, scan: SegmentScan, states: States) -> tuple[AbortedTxn, ...]:
    begun = {pid for pid, state in states.items() if state.current_txn_first_offset >= 0}
    # One that goes on here looks, from this segment alone, as if it began here.
    goes_on = any(row.producer_id in begun for row in scan.aborted)
    if not begun or not (scan.control.unmatched_aborts or goes_on):
        return scan.aborted
    task = ScanTask(base_offset=base_offset, crc=False, records=False, producers=tuple(states.values()))
    with look_again(log) as reader:
        return scan_log(reader, task).aborted


def surplus_rows(
    rows: Sequence[AbortedTxn], known: Mapping[Key, AbortedTxn], base_offset: int, start: int
) -> Iterator[tuple[int, AbortedTxn]]:
    """Rows without an ABORT marker, or that begin elsewhere; a beginning no longer there is believed."""
    for number, row in enumerate(rows):
        expected = known.get((row.producer_id, row.last_offset))
        right = expected is not None and expected.first_offset == row.first_offset
        believed = row.first_offset < start and base_offset <= row.last_offset
        if row.version == 0 and not right and not believed:
            yield number, row


def screened_rows(rows: Sequence[AbortedTxn], told: int = 0) -> Iterator[tuple[int, AbortedTxn]]:
    """Rows that a broker may not come to: one before says that what begins below its own last stable offset
    is all told (`TxnIndexSearchResult.isComplete`). `told` is what rows of earlier segments say."""
    for number, row in enumerate(rows):
        if row.first_offset < told:
            yield number, row
        told = max(told, row.last_stable_offset)
