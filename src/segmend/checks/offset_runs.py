"""Base offsets that the batches on both sides prove wrong, however many stand in a row. Not a check.

The base offset is outside of the CRC; how many offsets a batch takes (`lastOffsetDelta`) is inside. So each
batch says by which offset its segment would begin if nothing were missing between. That number stays or,
where the cleaner took offsets out, grows: where it comes back to what it was, what differs between is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import wrap_long
from segmend.frozen import dataclass, field, frozen
from segmend.kernel.scan import iter_batches

from .evidence import MOST_BATCHES, batch_at, is_sound
from .segment_view import SegmentView

# Batches in a row that are looked over for the next right one.
_LONGEST: Final = 16
_MAGIC: Final = 2


@frozen
class WrongOffset:
    """A batch and the base offset that is proven for it; `until` is where its run ends, in bytes."""

    batch: RecordBatch
    expected: int
    begins: int
    until: int


@dataclass(slots=True)
class Walked:
    """A walk over the headers of a segment, which remembers what a proof needs of each that it gave out."""

    view: SegmentView
    _starts: array[int] = field(default_factory=lambda: array("q"))
    _positions: array[int] = field(default_factory=lambda: array("q"))
    _taken: int = 0
    _legacy: bool = False

    def __iter__(self) -> Iterator[RecordBatch]:
        walk = iter_batches(self.view.reader, resync=True, base_offset=self.view.base_offset)
        for batch in islice(walk, MOST_BATCHES):
            self._starts.append(wrap_long(batch.base_offset - self._taken))
            self._positions.append(batch.position)
            self._legacy = self._legacy or batch.magic != _MAGIC
            self._taken += batch.last_offset - batch.base_offset + 1
            yield batch

    def wrong_offsets(self, rest: Iterator[RecordBatch]) -> list[WrongOffset]:
        """All that are proven among those given out, by position; `rest` gives out the others."""
        more = sum(1 for _ in islice(rest, _LONGEST))
        starts = array("q", [self.view.base_offset, *self._starts])
        if more < _LONGEST and self.view.next_base is not None:
            starts.append(wrap_long(self.view.next_base - self._taken))
        return [] if self._legacy else list(self._proven(starts))

    def _proven(self, starts: array[int]) -> Iterator[WrongOffset]:
        """`starts`: the number of the segment's name, those of the batches, that of the next one's name."""
        row = 1
        while row < len(starts):
            right, ahead = starts[row - 1], starts[row : row + _LONGEST]
            length = ahead.index(right) if right in ahead else 0
            run = self._sound(self._positions[row - 1 : row - 1 + length])
            for number, batch in enumerate(run):
                expected = batch.base_offset + right - starts[row + number]
                yield WrongOffset(batch=batch, expected=expected, begins=run[0].position, until=run[-1].end)
            row += length + 1

    def _sound(self, positions: array[int]) -> list[RecordBatch]:
        """The batches at these places, none if the checksum of one is wrong."""
        batches = [batch_at(self.view, position) for position in positions if is_sound(self.view, position)]
        return [batch for batch in batches if batch] if len(batches) == len(positions) else []
