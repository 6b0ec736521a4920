"""The second look at the files of replicas: batches, counts and keys of a range of offsets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from itertools import takewhile
from typing import Final

from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, read_header
from segmend.kernel.columns import RecordColumns, WantedRecords, numbers
from segmend.kernel.decode import record_columns
from segmend.kernel.producers import ABORT
from segmend.kernel.records import end_txn_marker
from segmend.kernel.types import BatchRange
from segmend.logdir.file_system import OpenFile
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.walk import DECODE_LIMIT
from segmend.merge.indexed import whole_below
from segmend.merge.rows import iter_rows
from segmend.merge.second_look import Keyed
from segmend.merge.spans import Span
from segmend.merge.values import NO_EPOCH, PRODUCERS, Batch, Replica, Run

_END: Final = 1 << 62
_KEYS: Final = frozenset({"offset", "key", "value_size"})
_DIGEST: Final = 16
"""Bytes of a hash that stands for a key of as many, or more."""


class Second:
    """See `second_look.Look`, for the replicas that were read from these directories."""

    def __init__(self, partitions: Sequence[PartitionDir], replicas: Sequence[Replica]) -> None:
        self._partitions, self._replicas = partitions, replicas
        self._reached: dict[int, tuple[tuple[str, int], tuple[int, int]]] = {}
        self._whole: dict[tuple[int, int], int] = {}

    def headers(self, replica: int, first: int, last: int) -> Iterator[tuple[Run, int, RecordBatch]]:
        """The sound batches of these offsets, each with its run and its first offset, which wrappers lack."""
        for run in self._runs(replica, first, last):
            log = self._partitions[replica].entry(run.file)
            start, before = run.first_position, run.first_offset - 1
            if at := bisect_right(run.marks, first, key=lambda mark: mark.next_offset):
                start, before = run.marks[at - 1].position, run.marks[at - 1].next_offset - 1
            place = run.file, run.first_position
            reached, held = self._reached.get(replica, (None, (0, 0)))
            if reached == place and start < held[0] and held[1] < first:
                start, before = held  # Who asks of one place after the other goes on where the last one was.
            for row in iter_rows(log, base_offset=run.segment, start=start, stop=run.end_position):
                batch = row.batch
                if before < first <= batch.last_offset:
                    self._reached[replica] = place, (batch.position, before)
                begin = before + 1 if batch.magic < 2 and batch.codec else batch.base_offset
                before = batch.last_offset
                if begin > last:
                    break
                if before >= first and row.sound:
                    yield run, begin, batch

    def _runs(self, replica: int, first: int, last: int) -> Iterator[Run]:
        runs = self._replicas[replica].runs
        at = bisect_left(runs.column("last_offset"), first)
        return takewhile(lambda run: run.first_offset <= last, map(runs.__getitem__, range(at, len(runs))))

    def batches(self, replica: int, first: int, last: int) -> Iterator[Batch]:
        for run, begin, batch in self.headers(replica, first, last):
            epoch = NO_EPOCH if batch.magic < 2 else run.epoch
            yield Batch(begin, batch.last_offset, epoch, batch.size, batch.crc)

    def count(self, replica: int, first: int, last: int) -> int:
        """See `Look`; a run that lies within knows, and only one that is cut is looked into."""
        runs = self._replicas[replica].runs
        firsts, lasts = runs.column("first_offset"), runs.column("last_offset")
        at, behind = bisect_left(lasts, first), bisect_right(firsts, last)
        records = 0
        if at < behind and lasts[behind - 1] > last:
            behind -= 1
            records += self.tally(replica, max(firsts[behind], first), last)[0]
        if at < behind and firsts[at] < first:
            records += self.tally(replica, first, lasts[at])[0]
            at += 1
        return records + sum(runs.column("records")[at:behind])

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
        """See `Look`; long keys are hashed."""
        for run in self._runs(replica, first, last):
            start = max((each.position for each in run.marks if each.next_offset <= first), default=-1)
            # Every checksum of a run is right.
            whole = BatchRange(
                base_offset=run.segment,
                start=max(start, run.first_position),
                stop=run.end_position,
                crc=False,
            )
            wanted = WantedRecords(columns=_KEYS, control=True, first_offset=first, last_offset=last)
            with self._partitions[replica].entry(run.file).reader() as reader:
                for columns in record_columns(reader, wanted, whole, lambda _: None):
                    yield from _keyed(columns, reader)

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

    def cleaned_at(self, replica: int, offset: int) -> bool:
        """See `Look`; of a wrapper of magic 0 or 1 nothing tells where it begins."""
        found = next(self.headers(replica, offset, _END), None)
        if found is None:
            return False
        run, _, batch = found
        if batch.magic >= 2 and batch.base_offset <= offset:
            return True
        if (replica, run.segment) not in self._whole:
            segment = next(e for e in self._partitions[replica].segments if e.base_offset == run.segment)
            self._whole[replica, run.segment] = whole_below(segment, partial(self._place, replica))
        return run.segment <= offset < self._whole[replica, run.segment]

    def _place(self, replica: int, offset: int) -> Span | None:
        batches = (batch for _, _, batch in self.headers(replica, offset, offset))
        return next(((batch.position, batch.end) for batch in batches), None)

    def _aborts(self, replica: int, run: Run, batch: RecordBatch) -> bool:
        with self._partitions[replica].entry(run.file).reader() as reader:
            data = reader.read(min(batch.size, DECODE_LIMIT), batch.position)
        return _marker(batch, data).commits is False


def _keyed(columns: RecordColumns, reader: OpenFile) -> Iterator[Keyed]:
    assert columns.key is not None
    offsets, sizes = numbers(columns.offsets, "q"), numbers(columns.value_sizes, "i")
    keys, at = columns.key.values(columns.rows), 0
    for run in columns.batches():
        if run.is_control:
            batch = read_header(reader.read(HEADER_SIZE_V2, run.position), 0, run.position)
            yield _marker(batch, reader.read(min(batch.size, DECODE_LIMIT), run.position))
        else:
            producer = run.producer_id if run.is_transactional else None
            for number in range(at, at + run.rows):
                key = keys[number]
                if key is not None and len(key) >= _DIGEST:
                    key = blake2b(key, digest_size=_DIGEST).digest()
                yield Keyed(offsets[number], key, sizes[number] < 0, key is None, producer)
        at += run.rows


def _marker(batch: RecordBatch, data: bytes) -> Keyed:
    """A control record, which ends a transaction or is of another kind."""
    marker = end_txn_marker(batch, data[HEADER_SIZE_V2:])
    if marker is None:
        return Keyed(batch.last_offset, None, tombstone=False)
    return Keyed(
        batch.last_offset, None, tombstone=False, producer=batch.producer_id, commits=marker[0] != ABORT
    )
