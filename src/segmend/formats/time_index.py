"""`.timeindex`: timestamps (milliseconds) and the offsets up to which they are the largest.

Follows `org.apache.kafka.storage.internals.log.TimeIndex`. Preallocated as `.index` is;
the zeros at the end are counted in `zero_tail`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from segmend.formats.byte_columns import cut_entry, first_decrease, joined, split, take_column
from segmend.formats.damage import Damage
from segmend.frozen import field, frozen

SUFFIX = ".timeindex"
ENTRY_SIZE = 12


class TimestampOffset(NamedTuple):
    """An entry: no record up to `relative_offset` + base is younger than `timestamp`."""

    timestamp: int
    relative_offset: int


@frozen
class TimeIndex:
    """The entries as two columns of equal length, and what follows them in the file."""

    timestamps: array[int] = field(default_factory=lambda: array("q"))
    relative_offsets: array[int] = field(default_factory=lambda: array("i"))
    zero_tail: int = 0
    """All-zero entries at the end of the file."""
    trailing: bytes = b""
    """Up to 11 bytes that make no whole entry."""

    def __len__(self) -> int:
        return len(self.timestamps)

    def __getitem__(self, at: int) -> TimestampOffset:
        return TimestampOffset(self.timestamps[at], self.relative_offsets[at])

    def __iter__(self) -> Iterator[TimestampOffset]:
        return map(TimestampOffset, self.timestamps, self.relative_offsets)


def parse(data: bytes) -> tuple[TimeIndex, tuple[Damage, ...]]:
    """Damage kinds: `trailing-bytes`, `timestamps-not-increasing`, `offsets-decreasing`,
    `negative-offset`; each is given for its first place."""
    entries, zero_tail, trailing = split(data, ENTRY_SIZE)
    index = TimeIndex(
        timestamps=take_column(entries, ENTRY_SIZE, 0, 8),
        relative_offsets=take_column(entries, ENTRY_SIZE, 8, 4),
        zero_tail=zero_tail,
        trailing=trailing,
    )
    return index, (*_damages(index), *cut_entry(data, ENTRY_SIZE))


def _damages(index: TimeIndex) -> Iterator[Damage]:
    times, offsets = index.timestamps, index.relative_offsets
    row = first_decrease(times, strict=True)
    if row is not None:
        reason = f"entry {row}: timestamp {times[row]} follows {times[row - 1]}"
        yield Damage("timestamps-not-increasing", row * ENTRY_SIZE, reason)
    row = first_decrease(offsets, strict=False)
    if row is not None:
        reason = f"entry {row}: offset {offsets[row]} follows {offsets[row - 1]}"
        yield Damage("offsets-decreasing", row * ENTRY_SIZE + 8, reason)
    if len(offsets) and min(offsets) < 0:
        row = next(row for row, number in enumerate(offsets) if number < 0)
        yield Damage(
            "negative-offset", row * ENTRY_SIZE + 8, f"entry {row}: offset {offsets[row]} is negative"
        )


def render(index: TimeIndex) -> bytes:
    """The file's bytes, zero tail included."""
    return joined((index.timestamps, index.relative_offsets), index.zero_tail, index.trailing)
