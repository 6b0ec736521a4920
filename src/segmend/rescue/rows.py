"""The chosen records as rows, for forms that are text: one after the other, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Unpack, cast

from segmend.formats.batch import SMALLEST_RECORD, RecordBatch
from segmend.formats.record import Record
from segmend.json_values import JsonObject, arrays, number
from segmend.kernel.columns import RecordColumns, WantedRecords, numbers
from segmend.kernel.decode import record_columns
from segmend.kernel.types import DECODE_LIMIT, BatchRange, Problem
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.pieces import Piece, require_whole
from segmend.merge.rows import iter_rows
from segmend.merge.salvage import MOST_RECORDS, records_of
from segmend.merge.spans import has, united
from segmend.rescue.decoders import Decode
from segmend.rescue.decoding import Decoding
from segmend.rescue.lines import FormFacts
from segmend.rescue.request import Job, RescueRequest, Undecodable, Written

_COUNTS: Final = ("records", "aborted", "left_out", "open", "unacknowledged", "salvaged", "marked")
_SAMPLED: Final = 1000
"""So many records of a batch tell how those of it are; a megabyte may hold millions."""


class Row(NamedTuple):
    """A record, in the columns of every table. Timestamps are milliseconds; -1 is none.

    `aborted` is None where nobody knows how its transaction ended. `salvaged` is a column only where that was
    asked for (`columns`).
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence: int
    transactional: bool
    aborted: bool | None
    unacknowledged: bool
    broker: int | None
    dir: str
    file: str
    position: int
    salvaged: bool = False


def columns(salvage: bool) -> tuple[str, ...]:
    """The names of those that a table has."""
    return Row._fields if salvage else Row._fields[:-1]


class Tally:
    """Counts what is written, and decodes what is asked for; raises `SegmendError` if that cannot be."""

    def __init__(self, decode: Sequence[Decode] = ()) -> None:
        self.decoding = Decoding(decode)
        self.records = self.aborted = self.left_out = self.open = self.unacknowledged = self.marked = 0
        self.salvaged = 0
        self.undecodable: list[Undecodable] = []
        self._told = frozenset[tuple[str, int, str]]()

    def add(
        self, rows: int, aborted: bool | None, unacknowledged: bool, left_out: bool, salvaged: bool = False
    ) -> None:
        """So many records that have this in common."""
        self.aborted += rows if aborted else 0
        if left_out:
            self.left_out += rows
            return
        self.records += rows
        self.open += rows if aborted is None else 0
        self.unacknowledged += rows if unacknowledged else 0
        self.salvaged += rows if salvaged else 0
        self.marked += rows if unacknowledged or salvaged or aborted is None else 0

    def problems(self, piece: Piece) -> Callable[[Problem], None]:
        def take(problem: Problem) -> None:
            place = piece.file, problem.position, problem.kind
            if place not in self._told:
                self.undecodable.append((*place, piece.replica.dir))

        return take

    def counts(self) -> JsonObject:
        """What `go_on` takes in another process; not what was decoded."""
        return {name: getattr(self, name) for name in (*_COUNTS, "undecodable")}

    def go_on(self, counts: JsonObject) -> None:
        """Stand where another one stood; what it was told already does not count twice."""
        for name in _COUNTS:
            setattr(self, name, number(counts, name))
        # An earlier release did not note the dir.
        noted = [cast(Undecodable, (*each, "")[:4]) for each in arrays(counts, "undecodable")]
        self.undecodable = [(file, position, kind, dir) for file, position, kind, dir in noted]
        self._told = frozenset((file, position, kind) for file, position, kind, _ in noted)

    def written(self, bytes: int, **facts: Unpack[FormFacts]) -> Written:
        return Written(
            records=self.records, bytes=bytes, aborted=self.aborted, left_out=self.left_out, open=self.open,
            unacknowledged=self.unacknowledged, salvaged=self.salvaged, marked=self.marked,
            undecodable=tuple(self.undecodable), decoded=self.decoding.told(), facts=facts,
        )  # fmt: skip


def wanted_of(piece: Piece, request: RescueRequest) -> WantedRecords:
    """Which records of a piece are wanted, as the kernel is told."""
    low, high = max(piece.first, request.low), min(piece.last, request.high)
    return WantedRecords.between(low, high, request.since, request.until)


def rows(job: Job, tally: Tally, told: Callable[[int], None]) -> Iterator[Row]:
    """The records of a partition, in order; `told` hears of the bytes that are behind."""
    for piece in job.pieces:
        if piece.salvaged:
            yield from salvaged_rows(piece, job, tally)
            told(piece.size)
            continue
        with piece.log.reader() as reader:
            columns_read = record_columns(
                reader,
                wanted_of(piece, job.request),
                BatchRange(base_offset=piece.base_offset, start=piece.start, stop=piece.stop),
                tally.problems(piece),
            )
            for columns in columns_read:
                yield from _rows(columns, piece, job, tally)
        require_whole(piece)
        told(piece.size)


def salvaged_rows(piece: Piece, job: Job, tally: Tally) -> Iterator[Row]:
    """The records taken of a batch whose checksum fails; how its transaction ended, it does not tell."""
    batch, records = records_of(piece.log, piece.start, piece.stop)
    wanted, aborted = wanted_of(piece, job.request), None if batch.is_transactional else False
    taken = united(piece.salvaged)
    for each in records:
        if not (has(taken, each.offset) and wanted.since <= each.timestamp <= wanted.until):
            continue
        tally.add(1, aborted, piece.unacknowledged, left_out=False, salvaged=True)
        yield _row(
            batch, each, topic=job.topic, partition=job.partition, aborted=aborted,
            unacknowledged=piece.unacknowledged, broker=piece.replica.broker, dir=piece.replica.dir,
            file=piece.file, salvaged=True,
        )  # fmt: skip


def some_rows(place: PartitionDir, segment: LogSegment, least: int) -> Iterator[tuple[float, list[Row]]]:
    """Of the first sound batches of a log, of so many bytes at least: records, and of how many bytes."""
    log, size = segment.log, 0
    for batch, sound in () if log is None else iter_rows(log, base_offset=segment.base_offset):
        if log is not None and sound:
            sample = [*_sample(place, log, batch)]
            of = len(sample) if batch.magic < 2 else max(batch.records_held, len(sample))
            yield (batch.size * len(sample) / of if sample else 0), sample
            size += batch.size
        if size >= least:
            break


def _sample(place: PartitionDir, log: FileEntry, batch: RecordBatch) -> Iterator[Row]:
    """Records of a batch as rows that are as wide as theirs will be; none where they are too many to be read.

    A header of the old formats does not tell how many there are, so all of them are taken.
    """
    if batch.magic >= 2 and batch.records_held * SMALLEST_RECORD > DECODE_LIMIT:
        return
    most = MOST_RECORDS if batch.magic < 2 else _SAMPLED
    for each in records_of(log, batch.position, batch.end, most)[1]:
        yield _row(
            batch, each, topic=place.topic, partition=place.partition, aborted=False,
            unacknowledged=False, broker=0, dir=place.log_dir.path, file=f"{place.name}/{log.name}",
        )  # fmt: skip


def _row(
    batch: RecordBatch, each: Record, *, topic: str, partition: int, aborted: bool | None,
    unacknowledged: bool, broker: int | None, dir: str, file: str, salvaged: bool = False,
) -> Row:  # fmt: skip
    """What a record and its batch say, and whose they are."""
    return Row(
        topic, partition, each.offset, each.timestamp, each.timestamp_type, each.key, each.value,
        list(each.headers), batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch,
        each.sequence, batch.is_transactional, aborted, unacknowledged, broker, dir, file, batch.position,
        salvaged,
    )  # fmt: skip


def _rows(columns: RecordColumns, piece: Piece, job: Job, tally: Tally) -> Iterator[Row]:
    offsets, times = numbers(columns.offsets, "q"), numbers(columns.timestamps, "q")
    sequences = numbers(columns.sequences, "i")
    assert columns.key is not None
    assert columns.value is not None
    keys, values = columns.key.values(columns.rows), columns.value.values(columns.rows)
    headers = _headers(columns)
    number = 0
    for run in columns.batches():
        transactional = run.is_transactional
        aborted = job.fates().of(run.producer_id, offsets[number]) if transactional else False
        left_out = bool(aborted) and job.request.committed_only
        kind = -1 if run.magic == 0 else run.attributes >> 3 & 1
        epoch = run.leader_epoch if piece.epoch is None else piece.epoch
        for at in range(number, number + run.rows):
            if offsets[at] in piece.without:
                continue
            tally.add(1, aborted, piece.unacknowledged, left_out)
            if left_out:
                continue
            yield Row(
                job.topic, job.partition, offsets[at], times[at], kind, keys[at], values[at], headers[at],
                epoch, run.producer_id, run.producer_epoch, sequences[at], transactional, aborted,
                piece.unacknowledged, piece.replica.broker, piece.replica.dir, piece.file, run.position,
            )  # fmt: skip
        number += run.rows


def _headers(columns: RecordColumns) -> list[list[tuple[str, bytes | None]]]:
    headers = columns.headers
    assert headers is not None
    if not headers.total:
        return [[] for _ in range(columns.rows)]
    starts = numbers(headers.starts, "i")
    keys, values = headers.keys.values(headers.total), headers.values.values(headers.total)
    pairs = [
        ((key or b"").decode("utf-8", "replace"), value) for key, value in zip(keys, values, strict=True)
    ]
    return [pairs[starts[row] : starts[row + 1]] for row in range(columns.rows)]
