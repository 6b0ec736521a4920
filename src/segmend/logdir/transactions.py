"""What `read_committed` leaves out: aborted transactions, and all from the first open one on.

The markers in the log tell it; the `.txnindex` beside it, which a broker asks, may be lost or
lie. Follows `ProducerStateManager` and `UnifiedLog.fetchLastStableOffsetMetadata`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from segmend.formats import producer_snapshot, txn_index
from segmend.formats.batch import RecordBatch
from segmend.formats.control import ABORT
from segmend.formats.txn_index import AbortedTxn
from segmend.kernel.batches import checksum
from segmend.kernel.records import end_txn_marker
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.seek import position_of
from segmend.logdir.tree import PartitionDir

_LARGEST_MARKER = 1 << 16
_SMALL = 256
"""Bytes of a batch; those of a marker are 78 in every release so far."""


class Aborted(NamedTuple):
    """The records of a producer in these offsets, both included, belong to an aborted transaction."""

    producer_id: int
    first_offset: int
    last_offset: int


def aborted_in(
    log: FileEntry,
    reader: OpenFile,
    start: int,
    stop: int,
    later: Iterable[FileEntry],
    told: Callable[[], Iterable[AbortedTxn]],
) -> list[Aborted]:
    """The aborted transactions that have batches in bytes [start, stop) of a log.

    Where a transaction ends behind these bytes, the rest of the log and the logs `later` are walked
    until all markers are found. Raises `Unreadable` of any of them: an abort may be in there, and the end
    of the producer's next transaction would be taken for that of this one. So would it behind broken bytes,
    in which a marker may have been: there nothing is believed but what the partition's `.txnindex` files
    have `told`.
    """
    fold = _Fold(told=told)
    if fold.walk(log, reader, start, stop):
        return fold.aborted
    for following in later:
        with following.reader() as opened:
            if fold.walk(following, opened, 0, 0):
                break
    return fold.aborted


def told_by_indexes(partition: PartitionDir) -> frozenset[AbortedTxn]:
    """Whatever any `.txnindex` of the partition that can be read says."""
    told: set[AbortedTxn] = set()
    for segment in partition.segments:
        try:
            data = b"" if segment.txnindex is None else segment.txnindex.read()
        except Unreadable:
            continue
        told.update(txn_index.parse(data)[0].entries)
    return frozenset(told)


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
    """Transactions that are open, by producer, and those that were aborted.

    Without `told` what was open before broken bytes is open behind them, whatever was in there.
    """

    def __init__(
        self,
        opened: dict[int, int] | None = None,
        told: Callable[[], Iterable[AbortedTxn]] | None = None,
    ) -> None:
        self.open = opened or {}
        self.aborted: list[Aborted] = []
        self._told = told
        self._last = -1

    def walk(
        self, log: FileEntry, reader: OpenFile, start: int, stop: int, *, since: int | None = None
    ) -> bool:
        """Take the batches from `start` on, beyond `stop` only markers; whether nothing is open then."""
        base, end = log.parsed.base_offset or 0, start
        for batch, is_sound in _as_read(reader, start, base):
            if batch.position > end:
                self._broken()
            end = batch.position + batch.size
            if batch.position >= stop and not self.open:
                return True
            if not is_sound and batch.is_control:
                self._broken()
                self.open.pop(batch.producer_id, None)
                continue
            if self._is_broken(batch, reader):
                self._broken()
                continue
            if not batch.is_transactional or (since is not None and batch.last_offset < since):
                continue
            if batch.is_control:
                self._end(batch, reader)
            elif batch.position < stop:
                self.open.setdefault(batch.producer_id, batch.base_offset)
                self._last = batch.last_offset
        if end < reader.size:
            self._broken()
        return not self.open

    def _is_broken(self, batch: RecordBatch, reader: OpenFile) -> bool:
        """Whether its header may lie and it is as small as a marker, which it then may have been."""
        asked = self._told is not None and bool(self.open) and batch.size <= _SMALL
        return asked and checksum(reader, batch) != batch.crc

    def _broken(self) -> None:
        """What is open may have ended in the bytes that come."""
        if self._told is None or not self.open:
            return
        for entry in self._told():
            first = self.open.get(entry.producer_id)
            if first is not None and entry.first_offset <= first <= entry.last_offset:
                self.aborted.append(Aborted(entry.producer_id, first, min(self._last, entry.last_offset)))
        self.open.clear()

    def _end(self, batch: RecordBatch, reader: OpenFile) -> None:
        first = self.open.pop(batch.producer_id, None)
        if first is None or batch.size > _LARGEST_MARKER:
            return
        data = reader.read(batch.size, batch.position)
        marker = end_txn_marker(batch, data[batch.header_size :])
        if marker is not None and marker[0] == ABORT:
            # Not the marker's own offset: no checksum covers it.
            self.aborted.append(Aborted(batch.producer_id, first, self._last))


def _as_read(reader: OpenFile, start: int, base: int) -> Iterator[tuple[RecordBatch, bool]]:
    """The batches that whoever checks each of them finds, and whether they may be sound.

    A size that claims the next batches, too, leaves a gap behind it, of bytes or of offsets: only there is a
    checksum taken, and if it is wrong what lies within is looked at.
    """
    position: int | None = start
    while position is not None:
        broken = None
        for batch, behind in _pairs(iter_batches(reader, start=position, resync=True, base_offset=base)):
            follows = behind and (behind.position, behind.base_offset) == (batch.end, batch.last_offset + 1)
            if not follows and checksum(reader, batch) != batch.crc:
                broken = batch
                break
            yield batch, True
        position = None
        if broken is not None:
            yield broken, False
            checked = iter_batches(reader, start=broken.position, crc=True, resync=True, base_offset=base)
            position = next((each.position for each in checked), None)


def _pairs(batches: Iterator[RecordBatch]) -> Iterator[tuple[RecordBatch, RecordBatch | None]]:
    """Each with the one behind it, if there is one."""
    here = next(batches, None)
    while here is not None:
        behind = next(batches, None)
        yield here, behind
        here = behind
