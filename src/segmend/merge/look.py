"""The second look at the files of replicas: batches, counts and keys of a range of offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Final

from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch
from segmend.formats.record import iter_records
from segmend.kernel.producers import ABORT
from segmend.kernel.records import end_txn_marker
from segmend.logdir.tree import PartitionDir
from segmend.logdir.walk import DECODE_LIMIT
from segmend.merge.runs import iter_rows
from segmend.merge.second_look import Keyed
from segmend.merge.spans import Span
from segmend.merge.values import NO_EPOCH, Batch, Replica, Run

PRODUCERS: Final = 10
"""So many producer ids of a range are named."""
_END: Final = 1 << 62


class Second:
    """See `second_look.Look`, for the replicas that were read from these directories."""

    def __init__(self, partitions: Sequence[PartitionDir], replicas: Sequence[Replica]) -> None:
        self._partitions, self._replicas = partitions, replicas

    def headers(self, replica: int, first: int, last: int) -> Iterator[tuple[Run, int, RecordBatch]]:
        """The sound batches of these offsets, each with its run and its first offset, which wrappers lack."""
        for run in self._replicas[replica].runs:
            if run.last_offset < first or run.first_offset > last:
                continue
            log = self._partitions[replica].entry(run.file)
            start, before = run.first_position, run.first_offset - 1
            for mark in run.marks:
                if mark.next_offset > first:
                    break
                start, before = mark.position, mark.next_offset - 1
            for row in iter_rows(log, base_offset=run.segment, start=start, stop=run.end_position):
                batch = row.batch
                begin = before + 1 if batch.magic < 2 and batch.codec else batch.base_offset
                before = batch.last_offset
                if begin > last:
                    break
                if before >= first and row.sound:
                    yield run, begin, batch

    def batches(self, replica: int, first: int, last: int) -> Iterator[Batch]:
        for run, begin, batch in self.headers(replica, first, last):
            epoch = NO_EPOCH if batch.magic < 2 else run.epoch
            yield Batch(begin, batch.last_offset, epoch, batch.size, batch.crc)

    def tally(self, replica: int, first: int, last: int) -> tuple[int, tuple[int, ...]]:
        records, producers = 0, dict[int, None]()
        for _, begin, batch in self.headers(replica, first, last):
            whole = first <= begin and batch.last_offset <= last
            span = min(batch.last_offset, last) - max(begin, first) + 1
            records += batch.records_count if whole and batch.magic >= 2 else span
            if batch.producer_id >= 0 and len(producers) < PRODUCERS:
                producers[batch.producer_id] = None
        return records, tuple(producers)

    def keys(self, replica: int, first: int, last: int) -> Iterator[Keyed]:
        """See `Look`; the keys are hashed."""
        for run, batches in groupby(self.headers(replica, first, last), key=itemgetter(0)):
            with self._partitions[replica].entry(run.file).reader() as reader:
                for _, _, batch in batches:
                    if batch.size > DECODE_LIMIT:
                        continue
                    data = reader.read(batch.size, batch.position)
                    if batch.is_control:
                        yield _marker(batch, data)
                        continue
                    producer = batch.producer_id if batch.is_transactional else None
                    for record in iter_records(data, batch, [], limit=DECODE_LIMIT):
                        if first <= record.offset <= last:
                            plain = record.key is None
                            key = None if plain else blake2b(record.key or b"", digest_size=16).digest()
                            yield Keyed(record.offset, key, record.value is None, plain, producer)

    def aborted(self, replica: int, first: int, last: int) -> Iterator[Span]:
        open_ones: dict[int, list[Span]] = {}
        for run, begin, batch in self.headers(replica, first, _END):
            if begin > last and not open_ones:
                return
            if batch.is_control:
                spans = open_ones.pop(batch.producer_id, [])
                if spans and self._aborts(replica, run, batch):
                    yield from spans
            elif batch.is_transactional and begin <= last:
                span = max(begin, first), min(batch.last_offset, last)
                open_ones.setdefault(batch.producer_id, []).append(span)

    def _aborts(self, replica: int, run: Run, batch: RecordBatch) -> bool:
        with self._partitions[replica].entry(run.file).reader() as reader:
            data = reader.read(min(batch.size, DECODE_LIMIT), batch.position)
        return _marker(batch, data).commits is False


def _marker(batch: RecordBatch, data: bytes) -> Keyed:
    """A control record, which ends a transaction or is of another kind."""
    marker = end_txn_marker(batch, data[HEADER_SIZE_V2:])
    if marker is None:
        return Keyed(batch.last_offset, None, tombstone=False)
    return Keyed(
        batch.last_offset, None, tombstone=False, producer=batch.producer_id, commits=marker[0] != ABORT
    )
