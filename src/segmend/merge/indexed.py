"""What the indexes beside a log say of where its batches are; no checksum covers that.

An entry was written when its batch was appended. It has the last offset of what was appended together, up to
0.10.0 the first one.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable

from segmend.formats import offset_index, time_index
from segmend.formats.batch import RecordBatch
from segmend.logdir.file_system import or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import read_index
from segmend.logdir.log_segment import LogSegment
from segmend.merge.spans import Span
from segmend.merge.values import Run


def is_indexed(segment: LogSegment, run: Run, room: tuple[int, int | None]) -> bool:
    """Whether an index beside it has it where it says, and not as well where it would be due.

    That is at either end of `room`, the first and last offset that may be its own: of an offset in both
    places, but the last one here, nothing tells.
    """
    base, size = segment.base_offset, run.last_offset - run.first_offset + 1
    own = range(run.first_offset, run.last_offset + 1)
    begins = {room[0], *(() if room[1] is None else (room[1] - size + 1,))} - {run.first_offset}
    due = [range(first, first + size) for first in begins]

    def tells(relative_offset: int) -> bool:
        offset = base + relative_offset
        return offset == own[-1] or (offset in own and not any(offset in each for each in due))

    for entry in offset_index.parse(_bytes(segment.index, offset_index.ENTRY_SIZE))[0]:
        if entry.position == run.first_position:
            return tells(entry.relative_offset)
    times, _ = time_index.parse(_bytes(segment.timeindex, time_index.ENTRY_SIZE))
    return any(tells(entry.relative_offset) for entry in times)


def _bytes(index: FileEntry | None, size: int) -> bytes:
    read = None if index is None else or_none(read_index, index, size, exact=False)
    return b"" if read is None else read[0]


def whole_below(segment: LogSegment, place_of: Callable[[int], Span | None]) -> int:
    """The offset below which no bytes are gone from a file since its index was written; 0 where none tells.

    `place_of` gives where the sound batch that has an offset begins and ends. What comes behind a loss lies
    elsewhere, so the last entry that is true speaks for all before it.
    """
    offsets, places = _columns(segment)
    size = segment.log.known_size if segment.log else 0
    ends = [*places[1:], size]

    def is_true(at: int) -> bool:
        place = place_of(segment.base_offset + offsets[at])
        # Of several batches that were appended together it has where the first one begins.
        return place is not None and places[at] > 0 and (place[0] == places[at] or place[1] == ends[at])

    low, high = 0, len(offsets)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_true(middle) else (low, middle)
    return segment.base_offset + offsets[low - 1] if low else 0


class Denials:
    """The batches of one file that its offset index has one flipped bit beside, where they fit as well."""

    def __init__(self, segment: LogSegment | None) -> None:
        self._segment = segment
        self._places: array[int] | None = None
        self._offsets: array[int] = array("i")
        self._agreed = 0
        self._found: set[int] = set()

    def ask(self, batch: RecordBatch, first: int, room: tuple[int, int]) -> None:
        """Of a batch with a gap beside it; `room` are the offsets between its neighbours."""
        told = self._told(batch.position)
        if told is None:
            return
        if first <= told <= batch.last_offset:
            self._agreed += 1
            return
        for shift in (told - batch.last_offset, told - first):
            moved = batch.base_offset + shift
            fits = room[0] <= first + shift and batch.last_offset + shift <= room[1]
            if fits and moved >= 0 and (moved ^ batch.base_offset).bit_count() == 1:
                self._found.add(batch.position)

    @property
    def found(self) -> frozenset[int]:
        """Where they begin. Of an index that denies more than it affirms nothing is believed: it is older."""
        return frozenset(self._found if len(self._found) <= self._agreed + 1 else ())

    def _told(self, position: int) -> int | None:
        segment = self._segment
        if segment is None:
            return None
        if self._places is None:
            self._offsets, self._places = _columns(segment)
        at = bisect_left(self._places, position)
        here = at < len(self._places) and self._places[at] == position
        return segment.base_offset + self._offsets[at] if here else None


def _columns(segment: LogSegment) -> tuple[array[int], array[int]]:
    """Offsets, from the base offset on, and positions."""
    numbers = array("i", _entries(segment))
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers[::2], numbers[1::2]


def _entries(segment: LogSegment) -> bytes:
    """Whole ones, without the zeros of an index that was not cut to what it has."""
    data = _bytes(segment.index, offset_index.ENTRY_SIZE)
    used = len(data.rstrip(b"\0")) + offset_index.ENTRY_SIZE - 1
    return data[: used - used % offset_index.ENTRY_SIZE]
