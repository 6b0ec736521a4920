"""Two replicas side by side: what they share from their beginning on, and what each has after that.

Followers append a leader's batches verbatim (`UnifiedLog.appendAsFollower`), so equal history is
equal headers with equal checksums, whatever the segments. Both logs are streamed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from segmend.formats.batch import RecordBatch
from segmend.frozen import dataclass, field
from segmend.surgery.replicas.replica_log import BatchOrDamage, DamagedBytes, ReplicaLog, SoundBatch


class Position(NamedTuple):
    """A byte of a segment: its base offset, and the position in its log."""

    segment: int
    position: int


@dataclass(slots=True)
class BatchTally:
    """Batches counted; `first` and `last` are offsets (inclusive), None without a batch.

    `last_epoch` is the leader epoch of the last one, -1 without one and before 0.11.
    """

    batches: int = 0
    records: int = 0
    bytes: int = 0
    first: int | None = None
    last: int | None = None
    epochs: set[int] = field(default_factory=set)
    last_epoch: int = -1

    def add(self, batch: RecordBatch) -> None:
        """Count one; of a compressed message set before Kafka 0.11 as one record."""
        self.batches += 1
        self.records += batch.records_held if batch.magic >= 2 else 1
        self.bytes += batch.size
        self.first = batch.base_offset if self.first is None else self.first
        self.last = batch.last_offset
        self.last_epoch = batch.partition_leader_epoch
        self.epochs.add(self.last_epoch)

    @property
    def end(self) -> int | None:
        """One after the last offset."""
        return None if self.last is None else self.last + 1


@dataclass(slots=True, kw_only=True)
class Comparison:
    """`target` and `source` count all that was read of each, `shared` the proven beginning.

    `kept` and `copied_from` are where the shared batches end in either; `target_next` and
    `source_next` what comes there. `lost` are the batches of the target after that which the source
    has nowhere, `copied` those of the source, which end at `source_end`. `source_hurt` is the
    first damage met in the source.
    """

    target: BatchTally = field(default_factory=BatchTally)
    source: BatchTally = field(default_factory=BatchTally)
    shared: BatchTally = field(default_factory=BatchTally)
    lost: BatchTally = field(default_factory=BatchTally)
    copied: BatchTally = field(default_factory=BatchTally)
    kept: Position | None = None
    copied_from: Position | None = None
    source_end: Position | None = None
    target_next: BatchOrDamage | None = None
    source_next: SoundBatch | None = None
    source_hurt: DamagedBytes | None = None

    @property
    def diverged(self) -> bool:
        """Whether the target goes on in another way than the source."""
        return isinstance(self.target_next, SoundBatch) and self.source_next is not None


def compare(
    target: ReplicaLog, source: ReplicaLog, *, low: int = 0, high: int | None = None,
    compacted: Callable[[RecordBatch], bool] = lambda _: False,
) -> Comparison:  # fmt: skip
    """Compare from offset `low` on, below which both may have been compacted; the source up to `high`.

    What the source had and `compacted` is not lost by it. Damage ends what is shared. Damage in the source
    ends its reading too.
    """
    comparison = Comparison()
    mine = _counted(target.items(low), comparison.target)
    theirs = _leading(source.items(low, high), comparison)
    a, b = _aligned(mine, theirs)
    while isinstance(a, SoundBatch) and b is not None and a.is_same(b):
        comparison.shared.add(a.header)
        comparison.kept = Position(a.segment, a.header.end)
        comparison.copied_from = Position(b.segment, b.header.end)
        a, b = next(mine, None), next(theirs, None)
    comparison.target_next, comparison.source_next = a, b
    _tell_apart(comparison, a, b, mine, theirs, compacted)
    return comparison


def has_all(own: ReplicaLog, other: ReplicaLog) -> bool:
    """Whether the other one proves to have every batch of this one, by header and checksum."""
    comparison = compare(own, other)
    return comparison.target_next is None and comparison.shared.batches == comparison.target.batches


def tally_of(log: ReplicaLog) -> tuple[BatchTally, int]:
    """The batches of records of a replica, and how many places of it are damaged, where more may be."""
    tally, hurt = BatchTally(), 0
    for item in log.items():
        if isinstance(item, DamagedBytes):
            hurt += 1
        elif not item.header.is_control:
            tally.add(item.header)
    return tally, hurt


def _counted(items: Iterator[BatchOrDamage], tally: BatchTally) -> Iterator[BatchOrDamage]:
    for item in items:
        if isinstance(item, SoundBatch):
            tally.add(item.header)
        yield item


def _leading(items: Iterator[BatchOrDamage], comparison: Comparison) -> Iterator[SoundBatch]:
    """The batches of the source up to its first damage."""
    for item in items:
        if isinstance(item, DamagedBytes):
            comparison.source_hurt = item
            return
        comparison.source.add(item.header)
        comparison.source_end = Position(item.segment, item.header.end)
        yield item


def _aligned(
    mine: Iterator[BatchOrDamage], theirs: Iterator[SoundBatch]
) -> tuple[BatchOrDamage | None, SoundBatch | None]:
    """The first batches at or after the later of the two beginnings."""
    a, b = next(mine, None), next(theirs, None)
    while isinstance(a, SoundBatch) and b is not None and a.header.last_offset < b.header.base_offset:
        a = next(mine, None)
    while isinstance(a, SoundBatch) and b is not None and b.header.last_offset < a.header.base_offset:
        b = next(theirs, None)
    return a, b


def _tell_apart(
    comparison: Comparison,
    a: BatchOrDamage | None,
    b: SoundBatch | None,
    mine: Iterator[BatchOrDamage],
    theirs: Iterator[SoundBatch],
    compacted: Callable[[RecordBatch], bool],
) -> None:
    """Count what either has after the shared beginning; both go up by offset."""
    while a is not None:
        if isinstance(a, SoundBatch):
            while b is not None and b.header.base_offset < a.header.base_offset:
                b = _copied(comparison, b, theirs)
            if (b is None or not a.is_same(b)) and not compacted(a.header):
                comparison.lost.add(a.header)
        a = next(mine, None)
    while b is not None:
        b = _copied(comparison, b, theirs)


def _copied(comparison: Comparison, batch: SoundBatch, theirs: Iterator[SoundBatch]) -> SoundBatch | None:
    comparison.copied.add(batch.header)
    return next(theirs, None)
