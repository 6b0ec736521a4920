"""Counts, bytes and bounds of records by topic, partition and day: out of batch headers, in the tasks.

Only a batch whose header does not tell is decoded: one that compaction thinned, one of magic 0
or 1, one with a delete horizon in the place of its time (KAFKA-8522), and, where they matter, one that
lies across the end of a range or across midnight. No checksum is computed. Offsets that a replica lacks are
counted where another one has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from segmend.errors import UsageError
from segmend.fleet.damaged import DamagedPlace, DamageTally, damage_of, is_loss, missing, unreadable
from segmend.fleet.filling import Patch, forget, lost_between, patches
from segmend.fleet.listing import refuse_others
from segmend.fleet.options import PERMISSIVE
from segmend.fleet.ranges import ByteRange, ReplicaDir, WantedRange, ranges_of, reads_to_the_end, verified
from segmend.fleet.records import doubts_of, is_wanted, uncommitted_of
from segmend.fleet.tables import TableTask
from segmend.formats.batch import DELETE_HORIZON
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import replace
from segmend.kernel.arrow import batch_headers, record_batches
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import BatchRange, Problem
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.transactions import Uncommitted

if TYPE_CHECKING:
    import numpy.typing as npt

KEYS: Final = ("topic", "partition", "day", "cluster_id")
SUMMARY: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("day", pa.date32()),  # of the records' times, in UTC
        ("records", pa.int64()),
        ("batches", pa.int64()),
        ("bytes", pa.int64()),  # of the batches, as they lie in the log
        ("min_offset", pa.int64()),
        ("max_offset", pa.int64()),
        ("min_timestamp_ms", pa.int64()),  # the smallest time of a batch's first record
        ("max_timestamp_ms", pa.int64()),
        ("cluster_id", pa.string()),  # null: nothing tells it
    ]
)
"""What one task says: a row a partition and day."""

_DAY_MS: Final = 86_400_000
_COLUMNS: Final = ("batch_position", "offset", "timestamp")


def check_keys(by: tuple[str, ...]) -> None:
    """Raise `UsageError` for what nothing can be grouped by."""
    unknown = [name for name in by if name not in KEYS]
    if unknown:
        raise UsageError(f"a summary is by {', '.join(KEYS)}, not by {', '.join(unknown)}")


def check_clusters(by: tuple[str, ...], works: Iterable[TableTask]) -> None:
    """Raise `UsageError` where topics or partitions of several clusters would be added up."""
    if {"topic", "partition"}.isdisjoint(by) or "cluster_id" in by:
        return
    clusters = {piece.place.cluster_id for work in works for piece in work.ranges}
    if len(clusters) > 1:
        raise UsageError("these are log dirs of several clusters: a summary of them is by cluster_id, too")


def summarize_task(work: TableTask, *, by_day: bool) -> pa.RecordBatch:
    """The rows of one task; without `by_day` the day is null."""
    refuse_others(work.places)
    forget()
    rows: dict[tuple[str | None, str, int, int | None], _Row] = {}
    tally = DamageTally(work.options.mode, work.options.gone_mode, work.name)
    for piece in work.ranges:
        try:
            with piece.file(".log").reader() as reader:
                for day, row in _RangeRows(piece, reader, work, by_day=by_day, tally=tally).days():
                    key = piece.place.cluster_id, piece.topic, piece.partition, day
                    rows.setdefault(key, _Row()).add(row)
        except Unreadable as error:
            if piece.start == piece.begin or error.missing:
                tally.report(unreadable(piece, error, piece.base_offset, None))
    tally.tell()
    cells = [(*key, *row.values(), cluster) for (cluster, *key), row in rows.items()]
    columns = list(zip(*cells, strict=True)) if cells else [()] * len(SUMMARY)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SUMMARY, strict=True)], schema=SUMMARY
    )


class _Row:
    """The sums of one day."""

    def __init__(self, records: int = 0, batches: int = 0, size: int = 0) -> None:
        self.records, self.batches, self.size = records, batches, size
        self.offsets = self.times = (LONG_MAX, -LONG_MAX)

    def add(self, other: _Row) -> None:
        """Take in another one."""
        self.records += other.records
        self.batches += other.batches
        self.size += other.size
        self.offsets = _hull(self.offsets, other.offsets)
        self.times = _hull(self.times, other.times)

    def values(self) -> tuple[int | None, ...]:
        """As the schema has them; the bounds are null where only bytes fell on a day."""
        bounds = (*self.offsets, *self.times) if self.records else (None,) * 4
        return self.records, self.batches, self.size, *bounds


def _hull(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), max(one[1], other[1])


class _RangeRows:
    """One range on its way to rows."""

    def __init__(
        self,
        piece: ByteRange,
        reader: OpenFile,
        work: TableTask,
        *,
        by_day: bool,
        tally: DamageTally,
        doubts: DamageTally | None = None,
        without: Iterable[int] = (),
        instead_of: ByteRange | None = None,
    ) -> None:
        self._instead_of = instead_of
        self._piece, self._reader, self._work = piece, reader, work
        self._by_day, self._tally, self._doubts = by_day, tally, doubts or tally
        self._without = np.array(sorted(without), np.int64)
        self._end = piece.base_offset if piece.start == 0 else None
        """The offset behind the last batch."""
        self._hurt = False

    def days(self) -> Iterator[tuple[int | None, _Row]]:
        piece = self._piece
        start, stop = verified(piece, self._reader)
        uncommitted = uncommitted_of(piece, self._reader, self._work.options, instead_of=self._instead_of)
        for doubt in filter(is_wanted, doubts_of(piece, uncommitted)):
            self._doubts.report(doubt)
        batches = BatchRange(base_offset=piece.base_offset, start=start, stop=stop, crc=False)
        for chunk in batch_headers(self._reader, batches, problems=self._report):
            yield from self._instead(self._left_out(chunk))
            kept = self._of_interest(chunk, uncommitted)
            plain = self._is_told(kept)
            yield from self._of_headers(kept.filter(pa.array(plain)))
            for row in kept.filter(pa.array(~plain)).select(["position", "size_bytes"]).to_pylist():
                yield from self._decoded(row["position"], row["size_bytes"])
        yield from self._instead(self._behind(stop))

    def _report(self, problem: Problem) -> None:
        self._hurt = True
        if is_loss(self._piece, problem):
            self._tally.report(damage_of(self._piece, problem, problem.offset, None))

    def _left_out(self, chunk: pa.RecordBatch) -> Iterator[DamagedPlace]:
        """Offsets before a batch of a chunk that none has, if the topic is not compacted."""
        first, last = chunk["base_offset"].to_numpy(), chunk["last_offset"].to_numpy()
        if not len(first):
            return
        ends = np.concatenate(([first[0] if self._end is None else self._end], last[:-1] + 1))
        self._end = int(last[-1]) + 1
        gaps = (ends < first) & (chunk["magic"].to_numpy() == 2)
        for row in np.flatnonzero(gaps) if self._piece.compacted is False else ():
            position = chunk["position"][int(row)].as_py()
            yield missing(self._piece, position, int(ends[row]), int(first[row]) - 1)

    def _behind(self, stop: int) -> Iterator[DamagedPlace]:
        """The same up to the next range, or to the next segment: one may be gone."""
        piece, end = self._piece, self._end
        if end is None:
            return
        to_the_end = reads_to_the_end(piece, self._reader, stop)
        first = piece.next_base if to_the_end else None
        if not to_the_end and piece.compacted is False:
            batch = next(iter_batches(self._reader, start=stop, stop=stop + 1), None)
            first = batch.base_offset if batch is not None and batch.magic == 2 else None
        if first is not None and end < first and (piece.others or lost_between(piece)):
            yield missing(piece, stop, end, first - 1)

    def _instead(self, places: Iterable[DamagedPlace]) -> Iterator[tuple[int | None, _Row]]:
        """What others have there; the rest is lost."""
        for place in filter(is_wanted, places):
            lost = Patch(copy=None, first_offset=place.first_offset or 0, last_offset=place.last_offset or 0)
            instead = (
                patches(self._piece, place.first_offset, place.last_offset) if self._piece.others else [lost]
            )
            for patch in instead:
                if patch.copy is not None:
                    yield from self._patched(patch, patch.copy)
                elif not self._hurt:
                    told = replace(place, first_offset=patch.first_offset, last_offset=patch.last_offset)
                    self._tally.report(told)

    def _patched(self, patch: Patch, copy: ReplicaDir) -> Iterator[tuple[int | None, _Row]]:
        partition, unheard = copy.opened(), DamageTally(PERMISSIVE, PERMISSIVE)
        wanted = self._piece.wanted & WantedRange(low=patch.first_offset, high=patch.last_offset)
        for segment in partition.segments if partition else ():
            for each in ranges_of(
                segment, copy.place, target=LONG_MAX, wanted=wanted, compacted=self._piece.compacted
            ):
                with each.file(".log").reader() as reader:
                    yield from _RangeRows(
                        each,
                        reader,
                        self._work,
                        by_day=self._by_day,
                        tally=unheard,
                        doubts=self._doubts,
                        without=patch.without,
                        instead_of=self._piece,
                    ).days()

    def _of_interest(self, chunk: pa.RecordBatch, uncommitted: list[Uncommitted]) -> pa.RecordBatch:
        wanted = self._piece.wanted
        first, last = chunk["base_offset"].to_numpy(), chunk["last_offset"].to_numpy()
        kept = ~chunk["is_control"].to_numpy(zero_copy_only=False) & (last >= wanted.low)
        kept &= (chunk["magic"].to_numpy() < 2) | (first <= wanted.high)
        if wanted.since is not None:
            kept &= chunk["max_timestamp_ms"].to_numpy() >= wanted.since
        producers = chunk["producer_id"].to_numpy()
        transactional = chunk["is_transactional"].to_numpy(zero_copy_only=False)
        positions = chunk["position"].to_numpy()
        for each in uncommitted:
            inside = (positions >= each.first_position) & (positions <= each.last_position)
            kept &= ~(transactional & (producers == each.producer_id) & inside)
        return chunk.filter(pa.array(kept))

    def _is_told(self, chunk: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Whether the header says all of a batch."""
        wanted = self._piece.wanted
        first, last = chunk["base_offset"].to_numpy(), chunk["last_offset"].to_numpy()
        told = (chunk["magic"].to_numpy() == 2) & (chunk["records"].to_numpy() == last - first + 1)
        told &= (first >= wanted.low) & (last <= wanted.high)
        told &= np.searchsorted(self._without, first) == np.searchsorted(self._without, last, "right")
        told &= (chunk["attributes"].to_numpy() & DELETE_HORIZON) == 0
        begin, end = chunk["base_timestamp_ms"].to_numpy(), chunk["max_timestamp_ms"].to_numpy()
        if wanted.since is not None or wanted.until is not None:
            # Any record but the first may be older than the base timestamp.
            told &= (chunk["timestamp_type"].to_numpy() == 1) & (end >= (wanted.since or -LONG_MAX))
            told &= end <= (LONG_MAX if wanted.until is None else wanted.until)
        if self._by_day:
            told &= (chunk["timestamp_type"].to_numpy() == 1) | (begin // _DAY_MS == end // _DAY_MS)
        return told

    def _of_headers(self, chunk: pa.RecordBatch) -> Iterator[tuple[int | None, _Row]]:
        append = chunk["timestamp_type"].to_numpy() == 1
        newest = chunk["max_timestamp_ms"].to_numpy()
        oldest = np.where(append, newest, chunk["base_timestamp_ms"].to_numpy())
        records, sizes = chunk["records"].to_numpy(), chunk["size_bytes"].to_numpy()
        first, last = chunk["base_offset"].to_numpy(), chunk["last_offset"].to_numpy()
        for day, rows in self._grouped(newest):
            row = _Row(
                int(records[rows].sum(dtype=np.int64)), len(rows), int(sizes[rows].sum(dtype=np.int64))
            )
            row.offsets = int(first[rows].min()), int(last[rows].max())
            row.times = int(oldest[rows].min()), int(newest[rows].max())
            yield day, row

    def _grouped(self, times: npt.NDArray[np.int64]) -> Iterator[tuple[int | None, npt.NDArray[np.int64]]]:
        if not self._by_day:
            if len(times):
                yield None, np.arange(len(times))
            return
        days = times // _DAY_MS
        for day in np.unique(days):
            yield int(day), np.flatnonzero(days == day)

    def _decoded(self, position: int, size: int) -> Iterator[tuple[int | None, _Row]]:
        """One batch by its records; its bytes are of the day of the last one."""
        wanted, base = self._piece.wanted.records(_COLUMNS), self._piece.base_offset
        batch = BatchRange(base_offset=base, start=position, stop=position + 1, crc=False)
        chunks = record_batches(self._reader, wanted, batch, problems=self._report)
        told = _Row(batches=1, size=size)
        for each in chunks:
            chunk = each.filter(pa.array(~np.isin(each["offset"].to_numpy(), self._without)))
            offsets, times = chunk["offset"].to_numpy(), chunk["timestamp"].to_numpy()
            for day, rows in self._grouped(times):
                row = _Row(records=len(rows))
                row.offsets = int(offsets[rows].min()), int(offsets[rows].max())
                row.times = int(times[rows].min()), int(times[rows].max())
                row.add(told)
                told = _Row()
                yield day, row
