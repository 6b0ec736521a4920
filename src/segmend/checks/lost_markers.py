"""Where an end-of-transaction marker must have stood and is gone. Not a check.

In a log that was never compacted every offset is there. An offset missing in the middle of
a segment while a transaction is open, whose producer goes on writing as if it had ended
(or of which the transaction index says so), is the offset of a marker. So is one at the begin or the end of a
segment of which the index says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.formats.txn_index import parse
from segmend.frozen import frozen
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import SegmentScan
from segmend.logdir.second_looks import look_again

from .evidence import MOST_BATCHES
from .segment_view import SegmentView

# With more offsets missing than that it was no marker that went.
_FEW: Final = 1000


@frozen
class LostMarker:
    """A marker that is gone: `offset` is where it stood, `position` the batch now following it."""

    view: SegmentView
    offset: int
    position: int
    producer_ids: tuple[int, ...]
    was_abort: bool


def lost_markers(
    view: SegmentView, scan: SegmentScan, states: Mapping[int, ProducerStateEntry]
) -> Iterator[LostMarker]:
    """The lost markers of one sound segment of a partition that was never compacted."""
    if scan.first_offset is None or scan.last_offset is None or not scan.records_exact:
        return
    absent = scan.last_offset - view.base_offset + 1 - scan.records
    aborted = _aborted(view)
    if not (scan.control.transactional_batches or aborted) or not 0 < absent <= _FEW:
        return
    still_open = {state.producer_id for state in states.values() if state.current_txn_first_offset >= 0}
    expected = view.base_offset
    with look_again(view.log) as reader:
        for batch in islice(iter_batches(reader), MOST_BATCHES):
            owner = aborted.get(expected)
            begins = expected == view.base_offset
            if batch.base_offset == expected + 1 and still_open and (owner is not None or not begins):
                yield LostMarker(
                    view=view,
                    offset=expected,
                    position=batch.position,
                    producer_ids=tuple(sorted(still_open)) if owner is None else (owner,),
                    was_abort=owner is not None,
                )
            if batch.is_control:
                still_open.discard(batch.producer_id)
            elif batch.is_transactional:
                still_open.add(batch.producer_id)
            expected = batch.last_offset + 1


def lost_between(
    before: SegmentView, scan: SegmentScan, view: SegmentView, states: Mapping[int, ProducerStateEntry]
) -> LostMarker | None:
    """The marker that stood between the last batch of `before` and the next segment, if its index has it."""
    owner = _aborted(before).get(scan.next_offset)
    state = None if owner is None else states.get(owner)
    if view.base_offset != scan.next_offset + 1 or state is None or state.current_txn_first_offset < 0:
        return None
    return LostMarker(
        view=before,
        offset=scan.next_offset,
        position=before.size,
        producer_ids=(state.producer_id,),
        was_abort=True,
    )


def _aborted(view: SegmentView) -> dict[int, int]:
    """By the offset of its marker, whose transaction was aborted."""
    index, _ = parse(view.txn_index or b"")
    return {row.last_offset: row.producer_id for row in index.entries}
