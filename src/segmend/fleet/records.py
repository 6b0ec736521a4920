"""The table `records`: what a consumer would get of a range, and what stands in for damage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segmend.fleet.damaged import (
    DamagedPlace,
    Report,
    damage_of,
    is_loss,
    missing,
    unreadable,
    without_end,
)
from segmend.fleet.filling import Patch, fates_of, lost_between, patches
from segmend.fleet.header_records import OF_HEADERS, header_records
from segmend.fleet.options import DAMAGE_COLUMN, PERMISSIVE, ReadOptions
from segmend.fleet.ranges import ByteRange, ReplicaDir, WantedRange, ranges_of, reads_to_the_end, verified
from segmend.fleet.rows import Row, dir_keys
from segmend.fleet.schemas import KAFKA_RECORD
from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import LONG_MAX
from segmend.formats.record import iter_records
from segmend.frozen import dataclass, replace
from segmend.kernel.arrow import record_batches
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import DECODE_LIMIT, BatchRange, Problem
from segmend.logdir.aborted_indexes import AbortedIndexes
from segmend.logdir.file_system import OpenFile, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.transactions import Uncommitted, uncommitted_in

_LAST_INSTANT_MS: Final = (1 << 63) // 1000 - 1
_FROM_KERNEL: Final = {
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    "key": "key",
    "value": "value",
    "headers": "headers",
    "key_size": "key_size",
    "value_size": "value_size",
    "leader_epoch": "leader_epoch",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "sequence": "sequence",
    "transactional": "is_transactional",
    "position": "batch_position",
}
"""Which column of the kernel each column of `records` is made of."""

_ALWAYS: Final = {"offset", "batch_position"}


def records(
    piece: ByteRange, reader: OpenFile, options: ReadOptions, report: Report
) -> Iterator[pa.RecordBatch]:
    """The records of a range in the order of their offsets; none of control batches.

    A batch whose checksum is wrong gives no records, unless `crc` is false.
    """
    for chunk in decoded(piece, reader, options, report):
        if chunk.num_rows:
            yield chunk


def decoded(
    piece: ByteRange, reader: OpenFile, options: ReadOptions, report: Report
) -> Iterator[pa.RecordBatch]:
    """The same with empty chunks; damage stands where its offsets would, or what others have there."""
    problems: list[Problem] = []
    stopped: list[Unreadable] = []
    doubts: list[DamagedPlace] = []
    at = _At(offset=piece.base_offset if piece.start == 0 else None, position=piece.start)
    for chunk in chain(_readable(piece, reader, options, problems, stopped, doubts), [None]):
        rest = chunk
        for problem in sorted(filter(partial(is_loss, piece), problems), key=attrgetter("position")):
            if rest is not None:
                row = int(np.searchsorted(rest["batch_position"].to_numpy(), problem.position))
                yield from _sound(piece, reader, at, rest.slice(0, row), doubts, options, report)
                rest = rest.slice(row)
            first = problem.offset if at.offset is None else at.next_offset
            damage = damage_of(piece, problem, first, _last_offset(piece, reader, problem.end))
            at.told = max(at.told, damage.last_offset or -1)
            yield from instead(damage, options, report)
        problems.clear()
        if rest is not None:
            yield from _sound(piece, reader, at, rest, doubts, options, report)
    for doubt in doubts:
        yield from told(doubt, options, report)
    for error in stopped:
        last = _last_offset(piece, reader, piece.end)
        yield from instead(unreadable(piece, error, at.offset, last), options, report)
    if not stopped:
        yield from _gap(piece, reader, at, options, report)


def _sound(
    piece: ByteRange,
    reader: OpenFile,
    at: _At,
    chunk: pa.RecordBatch,
    doubts: list[DamagedPlace],
    options: ReadOptions,
    report: Report,
) -> Iterator[pa.RecordBatch]:
    """Rows with what is told between them: offsets that no batch has, transactions without an end."""
    gaps = [missing(piece, behind, *gap) for behind, gap in _left_out(piece, reader, at, chunk)]
    rest = chunk
    for place in sorted((*gaps, *_due(doubts, chunk)), key=attrgetter("position")):
        row = int(np.searchsorted(rest["batch_position"].to_numpy(), place.position))
        yield _finished(rest.slice(0, row), piece, options)
        rest = rest.slice(row)
        yield from (instead if place in gaps else told)(place, options, report)
    yield _finished(rest, piece, options)
    at.move(chunk)


@dataclass(slots=True)
class _At:
    """How far a range was read: the next offset, None if nothing tells, and a batch before it.

    Of what comes up to `told` damage has told.
    """

    offset: int | None
    position: int
    told: int = -1

    @property
    def next_offset(self) -> int:
        """The first one of which nothing was said."""
        return max(self.offset or 0, self.told + 1)

    def move(self, chunk: pa.RecordBatch) -> None:
        """Behind these records."""
        if chunk.num_rows:
            self.offset = chunk["offset"][chunk.num_rows - 1].as_py() + 1
            self.position = chunk["batch_position"][chunk.num_rows - 1].as_py()


def _readable(
    piece: ByteRange,
    reader: OpenFile,
    options: ReadOptions,
    problems: list[Problem],
    stopped: list[Unreadable],
    doubts: list[DamagedPlace],
) -> Iterator[pa.RecordBatch]:
    """The chunks as far as the system gives them; `doubts` are transactions of which nobody knows the end."""
    try:
        uncommitted = uncommitted_of(piece, reader, options)
        doubts += doubts_of(piece, uncommitted)
        yield from _raw(piece, reader, options, uncommitted, problems.append)
    except Unreadable as error:
        stopped.append(error)


def _due(doubts: list[DamagedPlace], chunk: pa.RecordBatch) -> list[DamagedPlace]:
    """Those up to the end of a chunk; they are taken away."""
    last = chunk["batch_position"][chunk.num_rows - 1].as_py() if chunk.num_rows else -1
    due = [each for each in doubts if each.position <= last]
    doubts[:] = doubts[len(due) :]
    return due


def _left_out(
    piece: ByteRange, reader: OpenFile, at: _At, chunk: pa.RecordBatch | None
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Offsets that no batch has up to the last one of a chunk (or of the range), and where the next begins.

    Only of a topic that is not compacted; and only where records lack offsets, as they do at markers, too,
    headers are read.
    """
    if piece.compacted is not False:
        return
    stop = verified(piece, reader)[1] + 1
    if chunk is not None:
        offsets = chunk["offset"].to_numpy()
        begins = at.offset is None and len(offsets) and chunk["batch_position"][0].as_py() == at.position
        goes_on = begins or (len(offsets) and at.offset == offsets[0])
        if not len(offsets) or (goes_on and offsets[-1] - offsets[0] + 1 == len(offsets)):
            return
        stop = chunk["batch_position"][chunk.num_rows - 1].as_py() + 1
    end = piece.base_offset if at.position == 0 else None
    try:
        for batch in iter_batches(reader, start=at.position, stop=stop):
            first = _first_offset(reader, batch)
            if end is not None and max(end, at.next_offset) < first:
                yield batch.position, (max(end, at.next_offset), first - 1)
            end = batch.last_offset + 1
    except Unreadable:
        return


def _gap(
    piece: ByteRange, reader: OpenFile, at: _At, options: ReadOptions, report: Report
) -> Iterator[pa.RecordBatch]:
    """What is in gaps behind the last record, and before the next segment: one may be gone.

    Other replicas tell it, that the topic is not compacted, or that no cleaner was at the log.
    """
    start, stop = verified(piece, reader)
    if start == stop and piece.start != piece.begin:
        return  # the range before it has read on
    for behind, gap in _left_out(piece, reader, at, None):
        yield from instead(missing(piece, behind, *gap), options, report)
    if piece.next_base in (None, at.offset) or not reads_to_the_end(piece, reader, stop):
        return
    end = piece.base_offset
    try:
        for batch in iter_batches(reader, start=at.position):
            end = batch.last_offset + 1
    except Unreadable:
        return
    first = piece.next_base or 0
    lacks = max(end, at.told + 1) < first and end >= (at.offset or 0)
    if lacks and (piece.others or lost_between(piece)):
        yield from instead(missing(piece, reader.size, end, first - 1), options, report)


def instead(damage: DamagedPlace, options: ReadOptions, report: Report) -> Iterator[pa.RecordBatch]:
    """What is told of a damaged place: what other replicas have, and of the rest that it is lost."""
    if not is_wanted(damage):
        return
    piece = damage.piece
    if not piece.others:
        yield from told(damage, options, report)
        return
    for patch in patches(piece, damage.first_offset, damage.last_offset):
        if patch.copy is not None:
            yield from _patched(piece, patch.copy, patch, options, report)
        else:
            known = patch.last_offset < LONG_MAX
            lost = replace(
                damage,
                first_offset=patch.first_offset,
                last_offset=patch.last_offset if known else damage.last_offset,
            )
            yield from told(lost, options, report)


def _patched(
    piece: ByteRange, copy: ReplicaDir, patch: Patch, options: ReadOptions, report: Report
) -> Iterator[pa.RecordBatch]:
    """The records of another replica in a range of offsets."""
    partition = copy.opened()
    wanted = piece.wanted & WantedRange(low=patch.first_offset, high=patch.last_offset)
    for segment in partition.segments if partition else ():
        for each in ranges_of(segment, copy.place, target=LONG_MAX, wanted=wanted, compacted=piece.compacted):
            with each.file(".log").reader() as reader:
                uncommitted = uncommitted_of(each, reader, options, instead_of=piece)
                for doubt in doubts_of(each, uncommitted):
                    yield from told(doubt, options, report)
                for chunk in _raw(each, reader, options, uncommitted, lambda _problem: None):
                    kept = pc.is_in(chunk["offset"], pa.array(sorted(patch.without), pa.int64()))
                    yield _finished(chunk.filter(pc.invert(kept)), each, options)


def told(damage: DamagedPlace, options: ReadOptions, report: Report) -> Iterator[pa.RecordBatch]:
    """It is reported, with a row of its own where that is wanted."""
    if is_wanted(damage):
        report(damage)
        yield from damage_rows(damage, options)


def is_wanted(damage: DamagedPlace) -> bool:
    wanted = damage.piece.wanted
    first, last = damage.first_offset, damage.last_offset
    return (first is None or first <= wanted.high) and (last is None or last >= wanted.low)


def _last_offset(piece: ByteRange, reader: OpenFile, end: int) -> int | None:
    """The last offset that may have been lost before byte `end`, by the batch or the segment behind it."""
    try:
        following = next(iter_batches(reader, start=end, stop=end + 1), None)
        if following is not None and following.base_offset >= piece.base_offset:
            return _first_offset(reader, following) - 1
    except Unreadable:
        pass
    return None if piece.next_base is None else piece.next_base - 1


def _first_offset(reader: OpenFile, batch: RecordBatch) -> int:
    """Of a compressed wrapper of magic 0 or 1 only the inside tells it."""
    if batch.magic >= 2 or not batch.codec or batch.size > DECODE_LIMIT:
        return batch.base_offset
    data = reader.read(batch.size, batch.position)
    first = next(iter_records(data, batch, [], limit=DECODE_LIMIT), None)
    return batch.base_offset if first is None else first.offset


def damage_rows(damage: DamagedPlace, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """A row with `_damage`, if that column is asked for."""
    if DAMAGE_COLUMN not in options.columns or options.mode != PERMISSIVE:
        return
    row = constants(damage.piece) | {
        "offset": damage.first_offset,
        "position": damage.position,
        DAMAGE_COLUMN: damage.text,
    }
    schema = options.schema
    yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names}], schema=schema)


def _raw(
    piece: ByteRange,
    reader: OpenFile,
    options: ReadOptions,
    uncommitted: list[Uncommitted],
    report: Callable[[Problem], None],
) -> Iterator[pa.RecordBatch]:
    """The columns of the kernel, offset and position always among them."""
    start, stop = verified(piece, reader)
    wanted = piece.wanted
    needed = {_FROM_KERNEL[name] for name in options.schema.names if name in _FROM_KERNEL} | _ALWAYS
    untimed = wanted.since is None and wanted.until is None
    batches = BatchRange(base_offset=piece.base_offset, start=start, stop=stop, crc=options.crc is not False)
    if untimed and not uncommitted and needed <= OF_HEADERS:
        yield from header_records(piece, reader, batches, needed=needed, report=report)
        return
    chunks = record_batches(
        reader,
        wanted.records(needed | ({"producer_id", "is_transactional"} if uncommitted else set())),
        batches,
        problems=report,
    )
    for chunk in chunks:
        yield _without(chunk, uncommitted) if uncommitted else chunk


def uncommitted_of(
    piece: ByteRange, reader: OpenFile, options: ReadOptions, *, instead_of: ByteRange | None = None
) -> list[Uncommitted]:
    """The transactions of a range that were not committed for sure, if the read wants none.

    It may be what another replica has `instead_of` one.
    """
    start, stop = verified(piece, reader)
    if options.isolation != "read_committed" or start >= stop:
        return []
    log, directory = piece.file(".log"), ReplicaDir(place=piece.place, dir_name=piece.dir_name)
    indexes = cache(lambda: AbortedIndexes(directory.opened()))
    fates = uncommitted_in(log, reader, start, stop, _logs_behind(piece), indexes, compacted=piece.compacted)
    return [
        each
        for each in fates
        if each.fate != "unknown" or not _is_committed_elsewhere(instead_of or piece, each)
    ]


def _is_committed_elsewhere(piece: ByteRange, unknown: Uncommitted) -> bool:
    """Whether all replicas together know that; an abort is noted."""
    if not piece.others:
        return False
    try:
        fates = fates_of(piece)
    except Unreadable:
        return False
    is_aborted = fates.of(unknown.producer_id, unknown.first_offset) if fates else None
    unknown.fate = "aborted" if is_aborted else "unknown"
    return is_aborted is False


def doubts_of(piece: ByteRange, uncommitted: Iterable[Uncommitted]) -> list[DamagedPlace]:
    """Those of which nobody knows how they ended, as damage."""
    unknown = (each for each in uncommitted if each.fate == "unknown")
    return [without_end(piece, each) for each in sorted(unknown, key=attrgetter("first_position"))]


def _logs_behind(piece: ByteRange) -> Iterator[FileEntry]:
    """The logs of the segments behind this one; listed only when they are asked for."""
    partition = ReplicaDir(place=piece.place, dir_name=piece.dir_name).opened()
    for segment in partition.segments if partition else ():
        if segment.base_offset > piece.base_offset and segment.log is not None:
            yield segment.log


def _without(chunk: pa.RecordBatch, uncommitted: list[Uncommitted]) -> pa.RecordBatch:
    """The rows that belong to none of these transactions."""
    positions, producers = chunk["batch_position"].to_numpy(), chunk["producer_id"].to_numpy()
    dropped = np.zeros(chunk.num_rows, np.bool_)
    for each in uncommitted:
        inside = (positions >= each.first_position) & (positions <= each.last_position)
        dropped |= (producers == each.producer_id) & inside
    dropped &= chunk["is_transactional"].to_numpy(zero_copy_only=False)
    return chunk.filter(pa.array(~dropped)) if dropped.any() else chunk


def range_keys(piece: ByteRange) -> Row:
    """Whose a range is."""
    return dir_keys(piece.place) | {
        "topic": piece.topic,
        "partition": piece.partition,
        "segment": piece.base_offset,
    }


def constants(piece: ByteRange) -> Row:
    """The columns that are the same for all rows of a range."""
    where = {"dir": piece.place.path, "file": piece.log_name, DAMAGE_COLUMN: None}
    return range_keys(piece) | where


def _finished(chunk: pa.RecordBatch, piece: ByteRange, options: ReadOptions) -> pa.RecordBatch:
    keys, schema = constants(piece), options.schema
    columns = [_column(field, keys, chunk) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(field: pa.Field, keys: Row, chunk: pa.RecordBatch) -> pa.Array:
    if field.name in keys:
        return pa.repeat(pa.scalar(keys[field.name], field.type), chunk.num_rows)
    column = chunk[_FROM_KERNEL[field.name]]
    make = _MADE.get(field.name)
    return make(column) if make else column


def _instant(milliseconds: pa.Array) -> pa.Array:
    """Microseconds, as far as they reach: a producer may have written any 64-bit number."""
    within = np.clip(milliseconds.to_numpy(), -_LAST_INSTANT_MS, _LAST_INSTANT_MS)
    return pa.array(within * 1000).cast(KAFKA_RECORD.field("timestamp").type)


def _null_if_empty(headers: pa.Array) -> pa.Array:
    """Spark's Kafka source says null where a record has no headers."""
    empty = pc.equal(pc.list_value_length(headers), 0)
    return pc.if_else(empty, pa.scalar(None, headers.type), headers) if pc.any(empty).as_py() else headers


_MADE: Final[dict[str, Callable[[object], object]]] = {"timestamp": _instant, "headers": _null_if_empty}
