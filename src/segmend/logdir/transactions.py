"""What `read_committed` leaves out: aborted transactions, and all from the first open one on.

The markers in the log tell it; the `.txnindex` beside it, which a broker asks, may be lost or
lie. Follows `ProducerStateManager` and `UnifiedLog.fetchLastStableOffsetMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from segmend.formats import producer_snapshot
from segmend.formats.batch import RecordBatch
from segmend.formats.control import ABORT
from segmend.kernel.records import end_txn_marker
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.seek import position_of
from segmend.logdir.tree import PartitionDir

_LARGEST_MARKER = 1 << 16


class Aborted(NamedTuple):
    """The records of a producer in these offsets, both included, belong to an aborted transaction."""

    producer_id: int
    first_offset: int
    last_offset: int


def aborted_in(
    log: FileEntry, reader: OpenFile, start: int, stop: int, later: Iterable[FileEntry]
) -> list[Aborted]:
    """The aborted transactions that have batches in bytes [start, stop) of a log.

    Where a transaction ends behind these bytes, the rest of the log and the logs `later` are walked
    until all markers are found. Raises `Unreadable` of any of them: an abort may be in there, and the end
    of the producer's next transaction would be taken for that of this one.
    """
    fold = _Fold()
    if fold.walk(log, reader, start, stop):
        return fold.aborted
    for following in later:
        with following.reader() as opened:
            if fold.walk(following, opened, 0, 0):
                break
    return fold.aborted


def last_stable_offset(partition: PartitionDir) -> int | None:
    """The first offset of the earliest open transaction, None if none is open.

    From the newest sound producer snapshot, and the batches after it.
    """
    since, fold = _newest_snapshot(partition)
    for segment in partition.segments:
        following = segment.next_base_offset
        if segment.log is None or (following is not None and following <= since):
            continue
        try:
            with segment.log.reader() as reader:
                start = position_of(segment.log, reader, since)
                fold.walk(segment.log, reader, start, reader.size, since=since)
        except Unreadable:
            continue
    return min(fold.open.values(), default=None)


def _newest_snapshot(partition: PartitionDir) -> tuple[int, _Fold]:
    for offset, entry in reversed(partition.snapshots):
        try:
            snapshot, damages = producer_snapshot.parse(entry.read())
        except Unreadable:
            continue
        if not damages:
            rows = snapshot.entries
            firsts = {row.producer_id: row.current_txn_first_offset for row in rows}
            return offset, _Fold({producer: first for producer, first in firsts.items() if first >= 0})
    return 0, _Fold()


class _Fold:
    """Transactions that are open, by producer, and those that were aborted."""

    def __init__(self, opened: dict[int, int] | None = None) -> None:
        self.open = opened or {}
        self.aborted: list[Aborted] = []

    def walk(self, log: FileEntry, reader: OpenFile, start: int, stop: int, *, since: int = 0) -> bool:
        """Take the batches from `start` on, beyond `stop` only markers; whether nothing is open then."""
        base = log.parsed.base_offset or 0
        for batch in iter_batches(reader, start=start, resync=True, base_offset=base):
            if batch.position >= stop and not self.open:
                return True
            if not batch.is_transactional or batch.last_offset < since:
                continue
            if batch.is_control:
                self._end(batch, reader)
            elif batch.position < stop:
                self.open.setdefault(batch.producer_id, batch.base_offset)
        return not self.open

    def _end(self, batch: RecordBatch, reader: OpenFile) -> None:
        first = self.open.pop(batch.producer_id, None)
        if first is None or batch.size > _LARGEST_MARKER:
            return
        data = reader.read(batch.size, batch.position)
        marker = end_txn_marker(batch, data[batch.header_size :])
        if marker is not None and marker[0] == ABORT:
            self.aborted.append(Aborted(batch.producer_id, first, batch.last_offset))
