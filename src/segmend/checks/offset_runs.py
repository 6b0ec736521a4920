"""Base offsets that what stands around them proves wrong, however many stand in a row. Not a check.

The base offset is outside of the CRC; how many offsets a batch takes (`lastOffsetDelta`) is inside. So each
batch says by which offset its segment would begin if nothing were missing between. That number stays or,
where the cleaner took offsets out, grows: where it comes back to what it was, what differs between is wrong.
Besides batches, the name of the next segment says such a number, so does an index entry of the place where
it was made, and at the end of the log the recovery point of a clean stop.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from segmend.formats import offset_index
from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import wrap_long
from segmend.formats.offset_checkpoint import RECOVERY_POINT
from segmend.frozen import dataclass, field, frozen
from segmend.kernel.indexes import OFFSET_ENTRY
from segmend.kernel.scan import iter_batches

from .evidence import MOST_BATCHES, batch_at, compacted, healed_at_start, in_flight, is_sound
from .segment_view import SegmentView

# Batches in a row that are looked over for the next right one.
_LONGEST: Final = 1024
# Batches of one append of a follower, whose index entry names the last one's offset; and those before it.
_APPENDED: Final = 64
_MAGIC: Final = 2
# Bytes of one read of the walk: of large batches little more than their headers.
_NEAR: Final = 16 << 10


@frozen
class WrongOffset:
    """A batch and the base offset that is proven for it; `until` is where its run ends, in bytes."""

    batch: RecordBatch
    expected: int
    begins: int
    until: int


def stop_told(view: SegmentView) -> int | None:
    """The offset at which the segment ends, as its next one is called or a clean stop has left it."""
    if view.next_base is not None:
        return view.next_base
    trusted = not healed_at_start(view) and not in_flight(view)
    return view.context.checkpointed(RECOVERY_POINT) if trusted else None


def goes_too_far(view: SegmentView) -> bool:
    """Whether something on the disk tells that the segment ends at a lower offset than its batches say."""
    told = stop_told(view)
    if told is not None and view.scan.next_offset > told:
        return True
    last = view.last_index_entry() if view.is_active else None
    if last is None or in_flight(view):
        return False
    relative, position = OFFSET_ENTRY.unpack(last.data)
    batch = batch_at(view, position) if 0 <= position < view.size else None
    return batch is not None and view.base_offset + relative < batch.base_offset


@dataclass(slots=True)
class HeaderWalk:
    """A walk over the headers of a segment, which remembers what a proof needs of each that it gave out."""

    view: SegmentView
    _starts: array[int] = field(default_factory=lambda: array("q"))
    _positions: array[int] = field(default_factory=lambda: array("q"))
    _ends: array[int] = field(default_factory=lambda: array("q", [0]))
    """Offsets that all batches before one take."""
    _wrapped: bool = False

    def __iter__(self) -> Iterator[RecordBatch]:
        base = self.view.base_offset
        walk = iter_batches(self.view.reader, resync=True, base_offset=base, window=_NEAR)
        for batch in islice(walk, MOST_BATCHES):
            self._starts.append(wrap_long(batch.base_offset - self._ends[-1]))
            self._positions.append(batch.position)
            # Of a compressed message of old only its last offset is known, and not how many it takes.
            self._wrapped = self._wrapped or (batch.magic < _MAGIC and bool(batch.codec))
            self._ends.append(self._ends[-1] + batch.last_offset - batch.base_offset + 1)
            yield batch

    def may_be(self, batch: RecordBatch, expected: int | None) -> bool:
        """Whether more than the two batches beside it stand for an offset: they may be wrong by the same.

        Two in a row before it do; where the log was cleaned those behind it, too, or that theirs is in order
        with those around them; and no two before say a higher.
        """
        row = bisect_left(self._positions, batch.position)
        if expected is None or self._wrapped or row == len(self._positions):
            return False
        number, starts = expected - self._ends[row], array("q", [self.view.base_offset, *self._starts])
        agreed = [(at, two) for at, (one, two) in enumerate(pairwise(starts)) if one == two]
        near = starts[max(row - 1, 0) : row + 1] + starts[row + 2 : row + 4]  # without its own
        in_order = len(near) == 4 and near[0] <= near[1] == number == near[2] <= near[3]
        sure = max((two for at, two in agreed if at < row), default=self.view.base_offset)
        gaps = compacted(self.view.context) and (in_order or number in {two for _, two in agreed})
        return number == sure or (number > sure and gaps)

    def wrong_offsets(self, rest: Iterator[RecordBatch]) -> list[WrongOffset]:
        """All that are proven among those given out, by position; `rest` gives out the others."""
        more = sum(1 for _ in islice(rest, _LONGEST))
        if self._wrapped:
            return []
        numbers, rows = array("q", [self.view.base_offset]), array("q", [-1])
        told = self._told_by_index()
        for row, start in enumerate(self._starts):
            numbers.append(start)
            rows.append(row)
            if row in told:
                numbers.append(told[row])
                rows.append(-1)
        stop = stop_told(self.view)
        if more < _LONGEST and stop is not None:
            numbers.append(wrap_long(stop - self._ends[-1]))
            rows.append(-1)
        return list(self._proven(numbers, rows))

    def _proven(self, numbers: array[int], rows: array[int]) -> Iterator[WrongOffset]:
        """`numbers`: of the segment's name, the batches in `rows`, and of what else tells one (-1)."""
        at, until, trusted, gaps = 1, 1, numbers[0], compacted(self.view.context)
        ahead = Counter[int]()
        while at < len(numbers):
            right, length = numbers[at - 1], 0
            while until < min(at + _LONGEST, len(numbers)):
                ahead[numbers[until]] += 1
                until += 1
            # Where nothing was cleaned, offsets are missing before a batch only if something else tells so.
            known = rows[at - 1] < 0 or (gaps and numbers[at] == right)
            if right == trusted or (right > trusted and known):
                trusted = right
                length = numbers[at:until].index(right) if ahead[right] > 0 else 0
            run = self._sound([row for row in rows[at : at + length] if row >= 0])
            for row, batch in run:
                begins, expected = run[0][1].position, right + self._ends[row]
                if expected != batch.base_offset:
                    yield WrongOffset(batch=batch, expected=expected, begins=begins, until=run[-1][1].end)
            for passed in numbers[at : at + length + 1]:
                ahead[passed] -= 1
            at += length + 1

    def _sound(self, rows: list[int]) -> list[tuple[int, RecordBatch]]:
        """These batches, none if the checksum of one is wrong."""
        sound = [row for row in rows if is_sound(self.view, self._positions[row])]
        batches = [(row, batch_at(self.view, self._positions[row])) for row in sound]
        return [(row, batch) for row, batch in batches if batch] if len(sound) == len(rows) else []

    def _told_by_index(self) -> dict[int, int]:
        """By batch the number that is right behind it, where the entry made for it tells another offset."""
        index = offset_index.parse(self.view.readable_offset_index or b"")[0]
        by_last, by_first, doubtful = 0, 0, []
        for relative, position in index:
            row = bisect_left(self._positions, position)
            if row == len(self._positions) or self._positions[row] != position:
                continue
            offset, first = self.view.base_offset + relative, self._starts[row] + self._ends[row]
            last = self._starts[row] + self._ends[row + 1] - 1
            by_last += first < last == offset
            by_first += first == offset < last
            if offset not in (first, last):
                doubtful.append((row, offset))
        told = {}
        for row, offset in doubtful:
            alone = self._ends[row + 1] - self._ends[row] == 1
            if not by_first and (by_last or alone):
                told.update(self._behind_its_append(row, offset))
            elif not by_last and (by_first or alone):
                told[row] = offset - self._ends[row]
        return told

    def _behind_its_append(self, row: int, offset: int) -> dict[int, int]:
        """The same of an entry that names the last offset of an append, which begins with this batch."""
        known = {self.view.base_offset, *self._starts[max(row - _APPENDED, 0) : row]}
        for behind in range(row, min(row + _APPENDED, len(self._starts))):
            number = offset + 1 - self._ends[behind + 1]
            if number == self._starts[behind]:
                return {}
            if number in known:
                return {behind: number}
        return {}
