"""What the `.txnindex` files of a partition say of aborted transactions; they may be lost or lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

from segmend.formats import txn_index
from segmend.formats.batch import RecordBatch
from segmend.formats.txn_index import AbortedTxn
from segmend.kernel.scan import iter_batches
from segmend.logdir.cleaned import was_cleaned
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.seek import position_of


class AbortsTold(Protocol):
    """What is told of aborted transactions beside the log, as `AbortedIndexes` does."""

    def are_gaps_lost(self) -> bool: ...

    def ended_in(self, begin: int, end: int) -> Sequence[AbortedTxn]: ...

    def has(self, producer_id: int, offset: int) -> bool: ...

    def is_borne_out(self, entry: AbortedTxn) -> bool: ...

    def goes_on_behind(self, begin: int, end: int) -> bool: ...


class AbortedIndexes:
    """What the `.txnindex` files of a partition that can be read say of aborted transactions."""

    def __init__(self, partition: PartitionDir | None) -> None:
        self._partition = partition
        self._files: list[tuple[int, tuple[AbortedTxn, ...], bool]] = []
        self._segments = partition.segments if partition else ()
        for segment in self._segments:
            try:
                data = b"" if segment.txnindex is None else segment.txnindex.read()
            except Unreadable:
                continue
            index, damages = txn_index.parse(data)
            self._files.append((segment.base_offset, index.entries, not damages))

    @cached_property
    def _are_gaps_lost(self) -> bool:
        return self._partition is not None and not was_cleaned(self._partition)

    def are_gaps_lost(self) -> bool:
        """Whether no cleaner took what lies between two of its logs."""
        return self._are_gaps_lost

    @property
    def entries(self) -> Iterator[AbortedTxn]:
        """Those of all files."""
        return (each for _, entries, _ in self._files for each in entries)

    def ended_in(self, begin: int, end: int) -> list[AbortedTxn]:
        """Those whose marker has an offset in [begin, end)."""
        return [each for each in self.entries if begin <= each.last_offset < end]

    def has(self, producer_id: int, offset: int) -> bool:
        """Whether it says of this offset that it lies in an aborted transaction of the producer."""
        return any(
            each.producer_id == producer_id and each.first_offset <= offset <= each.last_offset
            for each in self.entries
        )

    def is_borne_out(self, entry: AbortedTxn, *, by_marker: bool = False) -> bool:
        """Whether a sound batch of its producer begins it, or its marker is there: it has no checksum."""
        offset = entry.last_offset if by_marker else entry.first_offset
        logs = [each.log for each in self._segments if each.log is not None and each.base_offset <= offset]
        try:
            batch = _batch_at(logs[-1], offset) if logs else None
        except Unreadable:
            return False
        if batch is None or batch.producer_id != entry.producer_id:
            return False
        return batch.is_transactional and batch.is_control == by_marker

    def goes_on_behind(self, begin: int, end: int) -> bool:
        """Whether a file that is in order has one behind [begin, end), too: it lacks none in there."""
        before = [each for each in self._files if each[0] <= begin]
        if not before:
            return False
        _, entries, in_order = before[-1]
        in_order = in_order and all(each.first_offset <= each.last_offset for each in entries)
        behind = (each for each in entries if each.last_offset >= end)
        return in_order and any(self.is_borne_out(each, by_marker=True) for each in behind)


def _batch_at(log: FileEntry, offset: int) -> RecordBatch | None:
    """The batch that begins there, if it is sound; raises `Unreadable`."""
    with log.reader() as reader:
        start, base = position_of(log, reader, offset), log.parsed.base_offset or 0
        for batch in iter_batches(reader, start=start, crc=True, resync=True, base_offset=base):
            if batch.base_offset >= offset:
                return batch if batch.base_offset == offset else None
    return None
