"""Producers and their transactions batch by batch, where a quick scan does not say enough.

Follows `ProducerStateManager` and `ProducerAppendInfo`. Open transactions are kept by their first offsets.
Offsets that go backwards can begin a transaction where another began: the end of the first takes the only
entry away, and the end of the second ends the broker. A replay of a segment takes up all beginnings before
all ends; a recovery goes batch by batch. Neither minds a magic byte above 2.
"""

from __future__ import annotations

from collections.abc import Iterable

from segmend.broker.failures import fatal
from segmend.broker.producer_state import (
    EMPTY_TRANSACTIONS_END,
    FENCED,
    FENCES_OLD_MARKERS,
    FORGETS_OPEN_TRANSACTIONS,
    OUT_OF_TRANSACTION,
    READS_EMPTY_MARKERS,
    UNKNOWN_MARKER,
    ZOMBIE_COORDINATOR,
)
from segmend.broker.serving import ABORTS_BACKWARDS
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch
from segmend.formats.codec import CodecError, decompress
from segmend.kernel.producers import ABORT, ProducerFold
from segmend.kernel.records import end_txn_marker
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import DECODE_LIMIT, Problem, SegmentScan
from segmend.loading.segment import Prefix, Segment, check_end
from segmend.loading.state import LoadState, States

NOT_STARTED = "Attempted to complete a transaction of first offset {} on partition {} which was not started"
Marker = tuple[int, int, int]
"""(type, coordinator epoch, timestamp) of the end of a transaction."""
_SUSPECT = frozenset(
    {"bad-magic", "offset-before-base", "offset-backwards", "offset-overflow", "control-record",
     "transaction-state", "producer-epoch-backwards"}
)  # fmt: skip
"""Problems of a scan behind which the states and transactions of a broker may be others."""
_REFUSED = {
    "transaction-state": ("InvalidTxnStateException", OUT_OF_TRANSACTION),
    "control-record": ("IllegalArgumentException", UNKNOWN_MARKER),
}


def is_plain(state: LoadState, states: States, scan: SegmentScan) -> bool:
    """Whether the scan says all there is to say of producers and transactions."""
    firsts = [each.current_txn_first_offset for each in states.values()]
    opened = [offset for offset in firsts if offset >= 0]
    alone = state.ongoing is None and len(opened) == len({*opened})
    counts = scan.control
    empty = counts.control_batches > counts.aborts + counts.commits + counts.other
    if empty and READS_EMPTY_MARKERS.of(state.settings.release):
        return False
    return alone and _SUSPECT.isdisjoint(kind for kind, _ in scan.problem_counts)


def first_offsets(states: States) -> set[int]:
    """The first offsets of the transactions that are open by the states."""
    firsts = (each.current_txn_first_offset for each in states.values())
    return {offset for offset in firsts if offset >= 0}


class Transactions:
    """The producers while batches are read, and the first offsets of open transactions."""

    def __init__(self, state: LoadState, states: States, file: str) -> None:
        self._state = state
        self._file = file
        self._last_abort = -1
        self.fold = ProducerFold(states.values())
        self.open = first_offsets(states) if state.ongoing is None else {*state.ongoing}

    def take(self, batch: RecordBatch, marker: Marker | None) -> tuple[int, int]:
        """The first offsets of the transactions that a batch begins and that it ends; -1 for none."""
        before = self._first(batch)
        empty = batch.is_control and not batch.records_count
        if empty and READS_EMPTY_MARKERS.of(self._state.settings.release):
            words = f"null (the control batch at offset {batch.base_offset} has no record any more)"
            raise fatal("NoSuchElementException", words, self._file)
        if marker is not None:
            self._check_epochs(batch, marker)
        self.fold.fold(batch, marker)
        _check_problems(self._state, self.fold.problems, self._file)
        self.fold.problems.clear()
        if marker is None:
            return (self._first(batch) if before < 0 else -1), -1
        if before < 0 and EMPTY_TRANSACTIONS_END.of(self._state.settings.release):
            return batch.base_offset, batch.base_offset  # what began twice is one entry
        return -1, before

    def recover(self, batch: RecordBatch, marker: Marker | None) -> None:
        """`LogSegment.updateProducerState`."""
        begun, ended = self.take(batch, marker)
        self.begin((begun,))
        if ended >= 0 and marker is not None and marker[0] == ABORT:
            if batch.base_offset <= self._last_abort:
                says = ABORTS_BACKWARDS.say(self._state.settings.release)
                raise fatal("IllegalArgumentException", says, self._file)
            self._last_abort = batch.base_offset
        self.end((ended,))

    def begin(self, offsets: Iterable[int]) -> None:
        """`ProducerStateManager.update`."""
        self.open |= {offset for offset in offsets if offset >= 0}

    def end(self, offsets: Iterable[int]) -> None:
        """`ProducerStateManager.completeTxn`, which throws for one that is not open."""
        for offset in offsets:
            if offset >= 0 and offset not in self.open:
                words = NOT_STARTED.format(offset, self._state.partition.name)
                raise fatal("IllegalArgumentException", words, self._file)
            self.open.discard(offset)

    def _first(self, batch: RecordBatch) -> int:
        producer = self.fold.states.get(batch.producer_id)
        return -1 if producer is None else producer.current_txn_first_offset

    def _check_epochs(self, batch: RecordBatch, marker: Marker) -> None:
        """`appendEndTxnMarker`, which in old releases throws in a replay as well."""
        release, known = self._state.settings.release, self.fold.states.get(batch.producer_id)
        if known is None or not FENCES_OLD_MARKERS.of(release):
            return
        if batch.producer_epoch < known.producer_epoch:
            raise fatal("ProducerFencedException", FENCED, self._file)
        if marker[1] < known.coordinator_epoch:
            raise fatal("TransactionCoordinatorFencedException", ZOMBIE_COORDINATOR, self._file)


def replay(
    state: LoadState, segment: Segment, reader: Prefix, states: States, start: int, stop: int
) -> States:
    """`loadProducersFromRecords` of a segment; changes `state.ongoing`, may raise `LoadFailure`."""
    known = Transactions(state, states, state.path(segment.name))
    if FORGETS_OPEN_TRANSACTIONS.of(state.settings.release):
        known.fold = ProducerFold(each._replace(current_txn_first_offset=-1) for each in states.values())
    begun, ended, end = list[int](), list[int](), start
    for batch in iter_batches(reader, start=start, stop=stop):
        end = batch.end
        state.replayed_batches += 1
        if batch.producer_id >= 0:
            first, last = known.take(batch, marker_of(batch, reader))
            begun.append(first)
            ended.append(last)
    if end < stop:
        check_end(segment, reader, end, state.settings.release)
    known.begin(begun)
    known.end(ended)
    state.ongoing = None if known.open == first_offsets(known.fold.states) else known.open
    return known.fold.states


def _check_problems(state: LoadState, problems: Iterable[Problem], file: str) -> None:
    """Raise what a broker throws over a batch that contradicts the state of its producer."""
    for problem in problems:
        if problem.kind in _REFUSED:
            kind, words = _REFUSED[problem.kind]
            says = words.say(state.settings.release, problem.facts.get("producer_id"), problem.offset)
            raise fatal(kind, says, file)


def marker_of(batch: RecordBatch, reader: Prefix) -> Marker | None:
    """What a control batch says of the end of a transaction, if that can be read."""
    if not batch.is_control:
        return None
    data = bytearray(batch.size)
    reader.read_into(memoryview(data), batch.position)
    try:
        plain = bytes(data[HEADER_SIZE_V2:])
        return end_txn_marker(
            batch, decompress(batch.codec, plain, limit=DECODE_LIMIT) if batch.codec else plain
        )
    except CodecError:
        return None
