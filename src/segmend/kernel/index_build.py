"""The offset and the time index of a segment made anew, plainly.

Follows `LogSegment.recover` and `TimeIndex.maybeAppend`; `LogSegment.append` of 4.3 walks the
batches in the same way. Only batches whose offsets are in order get entries.
"""

from __future__ import annotations

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import INT_MAX
from segmend.kernel.indexes import OFFSET_ENTRY, TIME_ENTRY
from segmend.kernel.types import MAX_INDEX_ENTRIES, BuiltIndexes, IndexRule


class IndexBuilder:
    """Takes the batches of a segment in order; does nothing without a rule."""

    def __init__(self, rule: IndexRule | None, base_offset: int) -> None:
        self._rule = rule
        self._base = base_offset
        self._offsets = bytearray()
        self._times = bytearray()
        self._last_position = 0
        self._last_offset = base_offset - 1
        self._newest = (-1, base_offset)
        self._last_timestamp = -1
        self.bounded: set[str] = set()

    def add(self, batch: RecordBatch) -> None:
        rule = self._rule
        if rule is None:
            return
        if batch.max_timestamp > self._newest[0]:
            self._newest = batch.max_timestamp, batch.last_offset
        hidden = batch.magic < 2 and batch.codec
        offset = batch.base_offset if rule.first_offsets and not hidden else batch.last_offset
        if batch.position - self._last_position <= rule.interval or batch.position > INT_MAX:
            return
        if offset <= self._last_offset:
            return
        if len(self._offsets) >= MAX_INDEX_ENTRIES * OFFSET_ENTRY.size:
            self.bounded.add("index")
            return
        self._offsets += OFFSET_ENTRY.pack(offset - self._base, batch.position)
        self._last_position, self._last_offset = batch.position, offset
        self._add_time()

    def _add_time(self) -> None:
        timestamp, offset = self._newest
        if timestamp > self._last_timestamp:
            self._times += TIME_ENTRY.pack(timestamp, offset - self._base)
            self._last_timestamp = timestamp

    def built(self) -> BuiltIndexes | None:
        """The end of the segment: the largest timestamp is the time index's last entry."""
        if self._rule is None:
            return None
        self._add_time()
        return BuiltIndexes(offset_index=bytes(self._offsets), time_index=bytes(self._times))
