"""The bytes of the files beside a log, once it is known what they have to say."""

from __future__ import annotations

from collections.abc import Iterable

from segmend.formats import epoch_checkpoint, producer_snapshot
from segmend.formats.epoch_checkpoint import EpochCheckpoint, EpochEntry
from segmend.formats.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from segmend.kernel.types import SegmentScan
from segmend.loading.epochs import Entry, EpochCache
from segmend.logdir.release import Release
from segmend.surgery.derive.hash_order import HASH_ORDER


def producer_snapshot_of(states: Iterable[ProducerStateEntry], release: Release) -> bytes:
    """A producer snapshot with these rows, in the order of that release."""
    rows = {state.producer_id: state for state in states}
    order = HASH_ORDER.of(release)(list(rows))
    return producer_snapshot.render(ProducerSnapshot(entries=tuple(rows[each] for each in order)))


def leader_epochs_of(cache: EpochCache) -> bytes:
    """leader-epoch-checkpoint as a broker writes it; of no epochs, an empty file."""
    entries = tuple(EpochEntry(epoch, offset) for epoch, offset in cache.entries)
    return epoch_checkpoint.render(EpochCheckpoint(entries=entries, header_lines=2 if entries else 0))


def joined_leader_epochs(
    mine: Iterable[Entry], theirs: Iterable[Entry], scans: Iterable[SegmentScan], *, start: int, end: int
) -> bytes:
    """leader-epoch-checkpoint: `mine` below `start`, `theirs` from there on, as far as batches bear them out.

    `end` is the log end offset: a leader's file may end with an epoch that has no batch yet.
    """
    cache = EpochCache(mine)
    cache.truncate_from_end(start)
    for epoch, offset in theirs:
        if offset >= start and epoch > cache.latest:
            cache.assign(epoch, offset)
    for scan in scans:
        cache.recover(scan.epochs)
    cache.truncate_from_end(end)
    return leader_epochs_of(cache)
