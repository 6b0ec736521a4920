"""How a broker finds the batch of an offset when it walks a log from a position of the index.

Follows `FileRecords.searchForOffsetFromPosition`. The two ways differ only where offsets go
backwards: since 4.1 the base offsets decide, and a stale batch at the end hides all before it; those of
magic 0 and 1 are decompressed for it, where only headers were read before.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from segmend.broker.rule import Rule
from segmend.formats.batch import RecordBatch


class Search(StrEnum):
    """By which offset of each batch."""

    LAST_OFFSET = "last-offset"
    BASE_OFFSET = "base-offset"


SEARCH: Rule[Search] = Rule(
    "FileRecords.searchForOffsetFromPosition; KAFKA-18989, 4.1",
    (((0, 8), Search.LAST_OFFSET), ((4, 1), Search.BASE_OFFSET)),
)


def search(batches: Iterable[RecordBatch], target: int, how: Search) -> RecordBatch | None:
    """The batch at which a read of offset `target` begins; None if the walk finds none."""
    if how == Search.LAST_OFFSET:
        return next((batch for batch in batches if batch.last_offset >= target), None)
    before: RecordBatch | None = None
    for batch in batches:
        if batch.base_offset == target:
            return batch
        if batch.base_offset > target:
            return before if before is not None and before.last_offset >= target else batch
        before = batch
    return before if before is not None and before.last_offset >= target else None
