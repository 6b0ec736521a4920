"""The open transactions by their first offsets, where two of them have the same one.

Follows `ProducerStateManager.ongoingTxns`. Offsets that go backwards can begin a transaction where
another began: the end of the first takes the only entry away, and the end of the second ends the
broker. A replay of a segment takes up all beginnings before all ends; a recovery goes batch by batch.
"""

from __future__ import annotations

from segmend.broker.failures import LoadFailure, fatal
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch
from segmend.formats.codec import CodecError, decompress
from segmend.kernel.producers import ProducerFold
from segmend.kernel.records import end_txn_marker
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import DECODE_LIMIT
from segmend.loading.segment import Prefix
from segmend.loading.state import LoadState, States

NOT_STARTED = "Attempted to complete a transaction of first offset {} on partition {} which was not started"


def first_offsets(states: States) -> set[int]:
    """The first offsets of the transactions that are open by the states."""
    firsts = (each.current_txn_first_offset for each in states.values())
    return {offset for offset in firsts if offset >= 0}


def open_of(fold: ProducerFold, producer: int) -> int:
    """The first offset of the producer's open transaction, -1 without one."""
    found = fold.states.get(producer)
    return -1 if found is None else found.current_txn_first_offset


def replay(state: LoadState, reader: Prefix, states: States, start: int, stop: int, file: str) -> None:
    """`Log.loadProducersFromRecords` for `state.ongoing`; raises `LoadFailure` where it throws."""
    fold, begun, ended = ProducerFold(states.values()), set[int](), list[int]()
    for batch in iter_batches(reader, start=start, stop=stop):
        if batch.magic < 2 or batch.producer_id < 0:
            continue
        before = open_of(fold, batch.producer_id)
        fold.fold(batch, _marker(batch, reader))
        after = open_of(fold, batch.producer_id)
        begun |= {after} if before < 0 <= after else set()
        ended += [before] if after < 0 <= before else []
    ongoing = (first_offsets(states) if state.ongoing is None else state.ongoing) | begun
    for offset in ended:
        if offset not in ongoing:
            raise not_started(state, offset, file)
        ongoing.remove(offset)
    state.ongoing = None if ongoing == first_offsets(fold.states) else ongoing


def follow(state: LoadState, ongoing: set[int], before: int, after: int, file: str) -> None:
    """One batch of a recovery, after which the producer's transaction is `after` instead of `before`."""
    if before < 0 <= after:
        ongoing.add(after)
    elif after < 0 <= before:
        if before not in ongoing:
            raise not_started(state, before, file)
        ongoing.remove(before)


def not_started(state: LoadState, offset: int, file: str) -> LoadFailure:
    """The exception of `ProducerStateManager.completeTxn`."""
    return fatal("IllegalArgumentException", NOT_STARTED.format(offset, state.partition.name), file)


def _marker(batch: RecordBatch, reader: Prefix) -> tuple[int, int, int] | None:
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
