"""Producer state folded over batches, plainly: what the broker keeps and what it would index.

Follows `ProducerStateManager`, `ProducerAppendInfo` (AppendOrigin.REPLICATION, as in a
replay) and `LogSegment.updateProducerState`, except that where the broker would throw,
a problem is noted and the fold goes on.
"""

from __future__ import annotations

from collections.abc import Iterable

from segmend.formats.batch import RecordBatch
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.formats.txn_index import VERSION, AbortedTxn
from segmend.frozen import replace
from segmend.kernel.records import problem_of
from segmend.kernel.types import MAX_ABORTED, MAX_PRODUCERS, ControlFacts, Problem

ABORT = 0


class ProducerFold:
    """The state of all producers seen so far, and the transactions that were aborted."""

    def __init__(self, states: Iterable[ProducerStateEntry]) -> None:
        self.states = {state.producer_id: state for state in states}
        self.aborted: list[AbortedTxn] = []
        self.problems: list[Problem] = []
        self.facts = ControlFacts()
        self.bounded: set[str] = set()

    def fold(self, batch: RecordBatch, marker: tuple[int, int, int] | None) -> None:
        """Take one sound batch; `marker` is (type, coordinator epoch, timestamp) if it ends a transaction."""
        if batch.is_control:
            self._count(control_batches=1)
        if batch.is_transactional:
            self._count(transactional_batches=1)
        if batch.producer_id < 0:
            self._count(other=int(batch.is_control))
            return
        if batch.is_control:
            self._fold_marker(batch, marker)
        else:
            self._fold_data(batch)

    def _count(self, **more: int) -> None:
        changes = {name: getattr(self.facts, name) + number for name, number in more.items()}
        self.facts = replace(self.facts, **changes)

    def _state(self, batch: RecordBatch) -> ProducerStateEntry | None:
        state = self.states.get(batch.producer_id)
        if state is None and len(self.states) >= MAX_PRODUCERS:
            self.bounded.add("producers")
            return None
        state = state or ProducerStateEntry(producer_id=batch.producer_id)
        if batch.producer_epoch < state.producer_epoch:
            epochs = (("epoch", batch.producer_epoch), ("last", state.producer_epoch))
            detail = (("producer_id", batch.producer_id), *epochs)
            self.problems.append(problem_of(batch, "producer-epoch-backwards", detail))
        if batch.producer_epoch != state.producer_epoch:
            fresh = {"last_sequence": -1, "last_offset": -1, "offset_delta": 0}
            state = state._replace(producer_epoch=batch.producer_epoch, **fresh)
        return state

    def _fold_data(self, batch: RecordBatch) -> None:
        state = self._state(batch)
        if state is None:
            return
        first = state.current_txn_first_offset
        if first >= 0 and not batch.is_transactional:
            detail = (("producer_id", batch.producer_id), ("first_offset", first))
            self.problems.append(problem_of(batch, "transaction-state", detail))
        elif first < 0 and batch.is_transactional:
            first = batch.base_offset
        self.states[batch.producer_id] = state._replace(
            last_sequence=batch.last_sequence, last_offset=batch.last_offset,
            offset_delta=batch.last_offset_delta, timestamp=batch.max_timestamp,
            current_txn_first_offset=first,
        )  # fmt: skip

    def _fold_marker(self, batch: RecordBatch, marker: tuple[int, int, int] | None) -> None:
        if marker is None:
            if batch.records_count != 0:
                self.problems.append(problem_of(batch, "control-record"))
            return
        kind, coordinator_epoch, timestamp = marker
        self._count(**{"aborts" if kind == ABORT else "commits": 1})
        state = self._state(batch)
        if state is None:
            return
        if state.current_txn_first_offset < 0:
            self._count(unmatched_markers=1, unmatched_aborts=int(kind == ABORT))
        elif kind == ABORT:
            self._abort(batch, state.current_txn_first_offset)
        self.states[batch.producer_id] = state._replace(
            coordinator_epoch=coordinator_epoch, timestamp=timestamp, current_txn_first_offset=-1
        )

    def _abort(self, batch: RecordBatch, first: int) -> None:
        if len(self.aborted) >= MAX_ABORTED:
            self.bounded.add("aborted")
            return
        still_open = (
            state.current_txn_first_offset
            for state in self.states.values()
            if state.current_txn_first_offset >= 0 and state.producer_id != batch.producer_id
        )
        stable = min(still_open, default=batch.base_offset + 1)
        self.aborted.append(
            AbortedTxn(VERSION, batch.producer_id, first, batch.base_offset, last_stable_offset=stable)
        )
