"""Offset and time index entries against the batches.

Follows `OffsetIndex` and `TimeIndex`, and what their writers of 0.8 to 4.4 mean by an
entry: an offset entry names the start of an append call (so its offset may lie beyond the
batch at its position), a time entry any offset inside the batch that has the maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final

from segmend.formats.byte_columns import nonzero_size
from segmend.frozen import dataclass
from segmend.kernel.types import MAX_MISMATCHES, IndexMatch, IndexMismatch

OFFSET_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")

Entry = tuple[int, int]
"""Offset index: (position, offset). Time index: (timestamp, offset). Offsets are absolute."""
Verdict = tuple[str, int | None]
"""(kind of an `IndexMismatch`, or "" for agreement, "?" for cannot say; what was expected)."""

AGREES: Final[Verdict] = ("", None)
UNVERIFIABLE: Final[Verdict] = ("?", None)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The entries of an index that can be matched in the order of the file.

    `faults` are the verdicts of the others, by entry number. `order` gives the entry
    numbers of those that are left, ascending by what they are matched by.
    """

    entries: list[Entry]
    order: list[int]
    faults: dict[int, Verdict]


def count_entries(data: bytes | memoryview, size: int) -> tuple[int, int, int]:
    """(entries before the zero-filled tail, zero entries, surplus bytes) for entries of `size` bytes."""
    whole = len(data) // size
    return counts_of(nonzero_size(memoryview(data)[: whole * size]), len(data), size)


def counts_of(used: int, length: int, size: int) -> tuple[int, int, int]:
    """As `count_entries`, where `used` bytes come before the zeros at the end."""
    whole, surplus = divmod(length, size)
    entries = -(-used // size)
    return entries, whole - entries, surplus


def prepare_offsets(data: bytes | memoryview, count: int, base: int) -> Prepared:
    """Read `count` entries, and set aside those that are wrong by themselves."""
    entries = [(at, base + rel) for rel, at in OFFSET_ENTRY.iter_unpack(data[: count * OFFSET_ENTRY.size])]
    return _prepare(entries, lambda n: offset_fault(entries, n, base), key=lambda n: entries[n][0])


def prepare_times(data: bytes | memoryview, count: int, base: int) -> Prepared:
    """As `prepare_offsets`, for a time index."""
    entries = [(stamp, base + rel) for stamp, rel in TIME_ENTRY.iter_unpack(data[: count * TIME_ENTRY.size])]
    return _prepare(entries, lambda n: time_fault(entries, n, base), key=lambda n: entries[n][1])


def _prepare(
    entries: list[Entry], fault_of: Callable[[int], Verdict | None], key: Callable[[int], int]
) -> Prepared:
    faults = {n: fault for n in range(len(entries)) if (fault := fault_of(n)) is not None}
    order = sorted((n for n in range(len(entries)) if n not in faults), key=key)
    return Prepared(entries, order, faults)


def offset_fault(entries: Sequence[Entry], n: int, base: int) -> Verdict | None:
    position, offset = entries[n]
    before = entries[n - 1] if n else None
    if position < 0:
        return "position-negative", None
    if before is not None and position <= before[0]:
        return "position-order", before[0]
    if offset < base:
        return "offset-before-base", base
    if before is not None and offset <= before[1]:
        return "offset-order", before[1]
    return None


def time_fault(entries: Sequence[Entry], n: int, base: int) -> Verdict | None:
    timestamp, offset = entries[n]
    before = entries[n - 1] if n else None
    if before is not None and timestamp <= before[0]:
        return "timestamp-order", before[0]
    if offset < base:
        return "offset-before-base", base
    if before is not None and offset < before[1]:
        return "offset-order", before[1]
    return None


@dataclass(frozen=True, slots=True)
class Walked:
    """One sound batch as the matching needs it.

    `before` is the last offset known before it, `largest` the largest maxTimestamp before
    it, `after_hole` whether bytes that nobody could read lie directly before it.
    """

    position: int
    base: int
    last: int
    max_timestamp: int
    before: int
    largest: int
    after_hole: bool
    in_order: bool


class PlainIndexes:
    """The matching of the reference engine: remembers every batch, judges at the end."""

    def __init__(
        self, base: int, offset_index: bytes | memoryview | None, time_index: bytes | memoryview | None
    ) -> None:
        self._base = base
        self._offset_data = offset_index
        self._time_data = time_index
        self.batches: list[Walked] = []
        self.holes: list[tuple[int, int]] = []

    def match_offsets(self, last: int, end: int) -> IndexMatch | None:
        """The offset index against everything walked; `last` is the segment's last offset."""
        if self._offset_data is None:
            return None
        counts = count_entries(self._offset_data, OFFSET_ENTRY.size)
        prepared = prepare_offsets(self._offset_data, counts[0], self._base)
        starts = {batch.position: batch for batch in self.batches}
        verdicts = dict(prepared.faults)
        for n in prepared.order:
            verdicts[n] = self._judge_offset(prepared.entries[n], starts, last, end)
        return summarize(counts, prepared.entries, verdicts, positions=True)

    def _judge_offset(self, entry: Entry, starts: dict[int, Walked], last: int, end: int) -> Verdict:
        position, offset = entry
        if position >= end:
            return "position-past-end", end
        if any(start <= position < stop for start, stop in self.holes):
            return UNVERIFIABLE
        batch = starts.get(position)
        if batch is None:
            return "not-a-boundary", None
        if offset <= batch.before:
            return "offset-behind", batch.before
        return ("offset-past-end", last) if offset > last else AGREES

    def match_times(self, last: int, *, whole: bool) -> IndexMatch | None:
        """The time index against everything walked; `whole` if nothing after the last batch is unknown."""
        if self._time_data is None:
            return None
        counts = count_entries(self._time_data, TIME_ENTRY.size)
        prepared = prepare_times(self._time_data, counts[0], self._base)
        verdicts = dict(prepared.faults)
        waiting = list(reversed(prepared.order))
        for batch in self.batches:
            while batch.in_order and waiting and prepared.entries[waiting[-1]][1] <= batch.last:
                n = waiting.pop()
                verdicts[n] = _judge_time(prepared.entries[n], batch)
        verdicts.update({n: ("offset-past-end", last) if whole else UNVERIFIABLE for n in waiting})
        return summarize(counts, prepared.entries, verdicts, positions=False)


def _judge_time(entry: Entry, batch: Walked) -> Verdict:
    timestamp, offset = entry
    if offset < batch.base:
        return UNVERIFIABLE if batch.after_hole else ("no-batch", batch.base)
    if batch.max_timestamp < 0:
        # 0.10 brokers index what a producer sent before they write it as magic 0, without its timestamp.
        return UNVERIFIABLE
    if timestamp != batch.max_timestamp:
        return "timestamp-differs", batch.max_timestamp
    return ("timestamp-exceeded", batch.largest) if batch.largest > timestamp else AGREES


def summarize(
    counts: tuple[int, int, int],
    entries: Sequence[Entry],
    verdicts: dict[int, Verdict],
    *,
    positions: bool,
    unlisted: int = 0,
) -> IndexMatch:
    """The verdicts as an `IndexMatch`; `positions` tells an offset index from a time index.

    `unlisted` counts more that are wrong, none of them among the first `MAX_MISMATCHES`.
    """
    if not verdicts:
        return IndexMatch(
            entries=counts[0], padding=counts[1], surplus_bytes=counts[2],
            mismatches=(), mismatched=0, unverifiable=0,
        )  # fmt: skip
    wrong = sorted(n for n, verdict in verdicts.items() if verdict[0] not in ("", "?"))
    mismatches = tuple(
        IndexMismatch(
            kind=verdicts[n][0], entry=n, offset=entries[n][1], expected=verdicts[n][1],
            position=entries[n][0] if positions else None, timestamp=None if positions else entries[n][0],
        )
        for n in wrong[:MAX_MISMATCHES]
    )  # fmt: skip
    return IndexMatch(
        entries=counts[0], padding=counts[1], surplus_bytes=counts[2],
        mismatches=mismatches, mismatched=len(wrong) + unlisted,
        unverifiable=sum(verdict[0] == "?" for verdict in verdicts.values()),
    )  # fmt: skip
