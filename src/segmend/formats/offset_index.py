"""`.index`: offsets relative to the segment's base, and the byte positions of their batches.

Follows `org.apache.kafka.storage.internals.log.OffsetIndex`. An active segment's file is
preallocated with zeros, which are not entries and not damage: `zero_tail` counts them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from segmend.formats.byte_columns import cut_entry, first_decrease, joined, split, take_column
from segmend.formats.damage import Damage
from segmend.frozen import field, frozen

SUFFIX = ".index"
ENTRY_SIZE = 8


class OffsetPosition(NamedTuple):
    """An entry: `relative_offset` + base is in the batch at byte `position`, or after it."""

    relative_offset: int
    position: int


@frozen
class OffsetIndex:
    """The entries as two columns of equal length, and what follows them in the file."""

    relative_offsets: array[int] = field(default_factory=lambda: array("i"))
    positions: array[int] = field(default_factory=lambda: array("i"))
    zero_tail: int = 0
    """All-zero entries at the end of the file."""
    trailing: bytes = b""
    """Up to 7 bytes that make no whole entry."""

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, at: int) -> OffsetPosition:
        return OffsetPosition(self.relative_offsets[at], self.positions[at])

    def __iter__(self) -> Iterator[OffsetPosition]:
        return map(OffsetPosition, self.relative_offsets, self.positions)

    def lookup(self, relative_offset: int) -> int:
        """`OffsetIndex.lookup`: where to start reading for an offset; 0 without an entry for it."""
        at = bisect_right(self.relative_offsets, relative_offset)
        return self.positions[at - 1] if at else 0


def parse(data: bytes) -> tuple[OffsetIndex, tuple[Damage, ...]]:
    """Damage kinds: `trailing-bytes`, `offsets-not-increasing`, `positions-not-increasing`,
    `negative-position`, `negative-offset`; each is given for its first place."""
    entries, zero_tail, trailing = split(data, ENTRY_SIZE)
    index = OffsetIndex(
        relative_offsets=take_column(entries, ENTRY_SIZE, 0, 4),
        positions=take_column(entries, ENTRY_SIZE, 4, 4),
        zero_tail=zero_tail,
        trailing=trailing,
    )
    return index, (*_damages(index), *cut_entry(data, ENTRY_SIZE))


def _damages(index: OffsetIndex) -> Iterator[Damage]:
    for kind, column, at in (("offset", index.relative_offsets, 0), ("position", index.positions, 4)):
        if len(column) and min(column) < 0:
            row = next(row for row, number in enumerate(column) if number < 0)
            yield Damage(f"negative-{kind}", row * ENTRY_SIZE + at, f"entry {row}: {kind} {column[row]} < 0")
        decrease = first_decrease(column, strict=True)
        if decrease is not None:
            reason = f"entry {decrease}: {kind} {column[decrease]} follows {column[decrease - 1]}"
            yield Damage(f"{kind}s-not-increasing", decrease * ENTRY_SIZE + at, reason)


def render(index: OffsetIndex) -> bytes:
    """The file's bytes, zero tail included."""
    return joined((index.relative_offsets, index.positions), index.zero_tail, index.trailing)
