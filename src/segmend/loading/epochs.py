"""The leader epoch cache while a log is loaded. Follows `LeaderEpochFileCache`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar

Entry = tuple[int, int]
"""(epoch, start offset)."""


class EpochCache:
    """The entries, ascending by epoch and by offset; as they are in the file unless `assigned`."""

    _refuses: ClassVar[bool] = False
    """Whether an entry below the newest one is not taken."""

    def __init__(self, entries: Iterable[Entry] = (), *, assigned: bool = True) -> None:
        self.entries: list[Entry] = [] if assigned else list(entries)
        self._ascending = all(a < b and x < y for (a, x), (b, y) in pairwise(self.entries))
        for epoch, start in entries if assigned else ():
            self.assign(epoch, start)

    @property
    def latest(self) -> int:
        """The newest epoch, -1 without one."""
        return self.entries[-1][0] if self.entries else -1

    def assign(self, epoch: int, start: int) -> None:
        """Add an entry; earlier ones that contradict it go ("caused truncation of conflicting entries")."""
        last_epoch, last_start = self.entries[-1] if self.entries else (epoch - 1, start - 1)
        if epoch == last_epoch and start >= last_start:
            return
        if not (self._ascending and last_epoch < epoch and last_start < start):
            self.entries = [e for e in self.entries if e[0] < epoch and e[1] < start]
        self.entries.append((epoch, start))

    def recover(self, epochs: Iterable[Entry]) -> None:
        """What `LogSegment.recover` assigns: epochs above the latest."""
        for epoch, start in epochs:
            if epoch >= 0 and epoch > self.latest:
                self.assign(epoch, start)

    def asks_each_batch(self, base: int) -> bool:
        """Whether an epoch in the segment from `base` on may begin at a later batch than its first."""
        return self._refuses and bool(self.entries) and base < self.entries[-1][1]

    def truncate_from_end(self, end: int) -> None:
        """Drop entries at or above the log end offset."""
        if end >= 0 and self.entries and self.entries[-1][1] >= end:
            self.entries = [e for e in self.entries if e[1] < end]

    def truncate_from_start(self, start: int) -> None:
        """Drop entries below the log start offset; the last of them moves up to it."""
        below = [e for e in self.entries if e[1] <= start]
        if below:
            self.entries = [(below[-1][0], start), *(e for e in self.entries if e[1] > start)]

    def clear(self) -> None:
        self.entries = []


class EarlyEpochCache(EpochCache):
    """Before 2.0.1: what contradicts a new entry stays, and only the first one tells what is old."""

    _refuses = True

    def assign(self, epoch: int, start: int) -> None:
        if epoch > self.latest and start >= (self.entries[-1][1] if self.entries else -1):
            self.entries.append((epoch, start))

    def truncate_from_start(self, start: int) -> None:
        below = [e for e in self.entries if e[1] < start]
        if not below or self.entries[0][1] >= start:
            return
        self.entries = [e for e in self.entries if e[1] >= start]
        if not self.entries or start < self.entries[0][1]:
            self.entries.insert(0, (below[-1][0], start))
