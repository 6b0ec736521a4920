"""What goes when `.log.swap` files take the place of segments: records that no swap file has.

A compaction or a split (KAFKA-6264) writes a swap file out of the batches that it replaces, so that each of
its batches is one of theirs, whole or with fewer records. Where it is not, or bytes are damaged or missing,
nobody can tell that what lay there was dropped rightly: those records are lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from segmend.formats.batch import RecordBatch
from segmend.kernel.scan import iter_batches
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again

_NEVER = 2**63
_Gap = tuple[int, int]
"""Offsets that a swap file should have and has not: the first of them, and the one behind them."""


class Log(NamedTuple):
    """A log of that number in its name, or the first bytes of it; None: an empty one that is made."""

    base_offset: int
    file: FileEntry | None
    size: int


def not_in_swaps(
    swaps: Sequence[Log], originals: Sequence[Log], replaced: Iterable[Log]
) -> Iterator[tuple[Log, RecordBatch]]:
    """The batches of the `replaced` originals that are in none of the swap files.

    All are in the order of their base offsets.
    """
    gaps = [*_gaps(swaps, originals)]
    for original, batch in _batches(replaced) if gaps else ():
        while gaps and gaps[0][1] <= batch.base_offset:
            gaps.pop(0)
        if gaps and gaps[0][0] <= batch.last_offset:
            yield original, batch


def records_of(batch: RecordBatch) -> int:
    """How many records go with a batch, as far as its header tells."""
    return 0 if batch.is_control else max(batch.records_held if batch.magic >= 2 else 1, 1)


def _gaps(swaps: Sequence[Log], originals: Sequence[Log]) -> Iterator[_Gap]:
    ends = [*(swap.base_offset for swap in swaps[1:]), _NEVER]
    for swap, end in zip(swaps, ends, strict=True):
        theirs, next_offset, position = _Theirs(originals, swap.base_offset), swap.base_offset, 0
        for batch in _sound(swap):
            if batch.base_offset >= swap.base_offset and theirs.has(batch):
                if batch.position != position:
                    yield next_offset, batch.base_offset
                next_offset, position = batch.last_offset + 1, batch.end
        # Several at once are of a split, which keeps all.
        if not swap.size or position != swap.size or end != _NEVER:
            yield next_offset, end


def _sound(swap: Log) -> Iterator[RecordBatch]:
    """Its batches, also those behind damage."""
    if swap.file is not None:
        with look_again(swap.file) as reader:
            yield from iter_batches(reader, crc=True, resync=True, base_offset=swap.base_offset)


def _batches(segments: Iterable[Log]) -> Iterator[tuple[Log, RecordBatch]]:
    for each in segments:
        if each.file is not None:
            with look_again(each.file) as reader:
                for batch in iter_batches(reader, stop=each.size, resync=True, base_offset=each.base_offset):
                    yield each, batch


class _Theirs:
    """The batches of the originals from an offset on, as one goes along them."""

    def __init__(self, originals: Sequence[Log], start: int) -> None:
        first = max((each.base_offset for each in originals if each.base_offset <= start), default=start)
        self._left = _batches(each for each in originals if each.base_offset >= first)
        self._at = next(self._left, None)

    def has(self, batch: RecordBatch) -> bool:
        """Whether one of a swap file may have been made of one of these, or of an original that is gone."""
        while self._at is not None and self._at[1].last_offset < batch.base_offset:
            self._at = next(self._left, None)
        if self._at is None:
            return False
        original, its = self._at
        if its.base_offset > batch.last_offset and not its.codec:
            return original.base_offset > batch.last_offset
        return batch.last_offset <= its.last_offset and _made_of(its, batch)


def _made_of(its: RecordBatch, batch: RecordBatch) -> bool:
    """Whether a cleaner makes `batch` of `its`: it takes records out, and sets when markers go."""
    if max(batch.magic, its.magic) < 2:  # compressed ones are written anew, those of magic 0 as 1
        return its.codec > 0 or batch.magic != its.magic or batch.crc == its.crc
    if batch.magic != its.magic or batch.base_offset < its.base_offset:
        return False
    fewer = batch.records_count < its.records_count or batch.has_delete_horizon
    return batch.crc == its.crc or (fewer and _of_whom(batch) == _of_whom(its))


def _of_whom(batch: RecordBatch) -> tuple[int, ...]:
    return batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch, batch.base_sequence
