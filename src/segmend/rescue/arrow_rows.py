"""The chosen records as Arrow batches of the contract's columns. Needs pyarrow: only forms import this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segmend.kernel.arrow import HEADERS_TYPE, record_batches
from segmend.kernel.types import BatchRange
from segmend.merge.pieces import Piece, require_whole
from segmend.rescue.decoders import SIDES
from segmend.rescue.decoding import Decoding, columns
from segmend.rescue.outlet import Folder
from segmend.rescue.parquet_file import ParquetFile, stored
from segmend.rescue.request import Job, Written
from segmend.rescue.rows import Row, Tally, salvaged_rows, wanted_of
from segmend.rescue.rows import columns as row_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TYPES: Final = {
    "topic": pa.string(),
    "timestamp_type": pa.int32(),  # 0 create time, 1 append time, -1 none (magic 0)
    "partition": pa.int32(),
    "offset": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),  # null: a tombstone
    "headers": HEADERS_TYPE,
    "leader_epoch": pa.int32(),  # -1 for magic 0 and 1
    "producer_id": pa.int64(),  # -1: not idempotent
    "producer_epoch": pa.int32(),
    "sequence": pa.int32(),  # -1: not idempotent
    "transactional": pa.bool_(),
    "aborted": pa.bool_(),  # null: nobody knows how its transaction ended
    "unacknowledged": pa.bool_(),  # above the newest high watermark known, and on one replica only
    "broker": pa.int32(),  # node id of the replica it was taken from; null: its disk does not say
    "dir": pa.string(),  # the log dir
    "file": pa.string(),  # the log, relative to dir
    "position": pa.int64(),  # of the record's batch in the file
    "salvaged": pa.bool_(),  # with `--salvage` only: out of a batch whose checksum fails
}
_KERNEL: Final = {"transactional": "is_transactional", "position": "batch_position"}
_TARGET: Final = 8 << 20
"""About so many bytes of keys or values make one batch."""
_SMALL: Final = 1 << 16
_FEW: Final = 64
"""Smaller batches, so many of them, become one: of few records each, they hold far more than their bytes."""
_ROOM: Final = 32 << 20
"""So does what several hold of which most is empty: where headers filled theirs, keys and values have not."""


def schema(instant: pa.DataType, sides: Iterable[str] = (), *, salvage: bool = False) -> pa.Schema:
    """The columns, in order; `instant` is the type of timestamps, `sides` what is decoded."""
    types = {**_TYPES, "timestamp": instant}
    added = [(name, pa.int32() if name.endswith("_id") else pa.string()) for name in columns(sides)]
    return pa.schema([*((name, types[name]) for name in row_columns(salvage)), *added])


def batches(
    job: Job, wanted: pa.Schema, tally: Tally, told: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """The records of a partition, in order; `told` hears of the bytes that are behind."""
    few, held = list[pa.RecordBatch](), 0
    for batch in _of_pieces(job, wanted, tally, told):
        few.append(batch)
        size, room = batch.nbytes, batch.get_total_buffer_size()
        held += room
        if (size >= _SMALL and 4 * size >= room) or len(few) == _FEW or (held >= _ROOM and len(few) > 1):
            yield from _joined(few)
            few, held = [], 0
    yield from _joined(few)


def _joined(few: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """These as one, which copies them: the memory that each was decoded into is free then."""
    if len(few) < 2:
        yield from few
    else:
        yield from pa.Table.from_batches(few).unify_dictionaries().combine_chunks().to_batches()


def _of_pieces(
    job: Job, wanted: pa.Schema, tally: Tally, told: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    for piece in job.pieces:
        if piece.salvaged:
            yield from _of_rows([*salvaged_rows(piece, job, tally)], wanted, tally.decoding)
            told(piece.size)
            continue
        with piece.log.reader() as reader:
            decoded = record_batches(
                reader,
                wanted_of(piece, job.request),
                BatchRange(base_offset=piece.base_offset, start=piece.start, stop=piece.stop),
                problems=tally.problems(piece),
                target=_TARGET,
            )
            for batch in decoded:
                yield from _of_contract(batch, piece, job, wanted, tally)
        require_whole(piece)
        told(piece.size)


def _of_rows(read_rows: Sequence[Row], wanted: pa.Schema, decoding: Decoding) -> Iterator[pa.RecordBatch]:
    def column(field: pa.Field) -> pa.Array:
        values = [getattr(each, field.name) for each in read_rows]
        if field.name == "headers":
            values = [[{"key": key, "value": value} for key, value in each] for each in values]
        if field.name == "timestamp":
            return _instant(pa.array(values, pa.int64()), field.type)
        return pa.array(values, field.type)

    raw = pa.schema([field for field in wanted if field.name not in decoding.columns])
    if read_rows:
        made = pa.RecordBatch.from_arrays([column(field) for field in raw], schema=raw)
        yield from _with_decoded(made, wanted, decoding) if decoding.columns else [made]


def _of_contract(
    batch: pa.RecordBatch, piece: Piece, job: Job, wanted: pa.Schema, tally: Tally
) -> Iterator[pa.RecordBatch]:
    if piece.without:
        superseded = pc.is_in(batch["offset"], pa.array(sorted(piece.without), pa.int64()))
        batch = batch.filter(pc.invert(superseded))
    aborted = _aborted(batch, job)
    unknown = aborted.null_count
    yes = int(pc.sum(aborted).as_py() or 0)
    for rows, fate in ((yes, True), (unknown, None), (len(aborted) - yes - unknown, False)):
        tally.add(rows, fate, piece.unacknowledged, bool(fate) and job.request.committed_only)
    constants: dict[str, object] = {
        "topic": job.topic, "partition": job.partition, "unacknowledged": piece.unacknowledged,
        "broker": piece.replica.broker, "dir": piece.replica.dir, "file": piece.file,
        "salvaged": False, **({} if piece.epoch is None else {"leader_epoch": piece.epoch}),
    }  # fmt: skip

    def column(field: pa.Field) -> pa.Array:
        if pa.types.is_dictionary(field.type):
            once = pa.array([constants[field.name]], pa.string())
            return pa.DictionaryArray.from_arrays(np.zeros(batch.num_rows, np.int32), once)
        if field.name in constants:
            return pa.repeat(pa.scalar(constants[field.name], field.type), batch.num_rows)
        if field.name == "aborted":
            return aborted
        values = batch[_KERNEL.get(field.name, field.name)]
        return _instant(values, field.type) if field.name == "timestamp" else values

    raw = pa.schema([field for field in wanted if field.name not in tally.decoding.columns])
    made = pa.RecordBatch.from_arrays([column(field) for field in raw], schema=raw)
    if job.request.committed_only and tally.left_out:
        made = made.filter(pc.invert(pc.fill_null(aborted, False)))
    if not made.num_rows:
        return
    yield from _with_decoded(made, wanted, tally.decoding) if tally.decoding.columns else [made]


def _with_decoded(batch: pa.RecordBatch, wanted: pa.Schema, decoding: Decoding) -> Iterator[pa.RecordBatch]:
    """The rows with what was decoded of them, some at a time: text may take far more room than its bytes."""
    rows: list[list[object]] = []
    size, begin = 0, 0
    for at in range(batch.num_rows):
        rows.append(decoding.of({side: batch[side][at].as_py() for side in SIDES}))
        size += sum(len(each) for each in rows[-1] if isinstance(each, str))
        if size >= _TARGET or at + 1 == batch.num_rows:
            part = batch.slice(begin, len(rows))
            added = dict(zip(decoding.columns, zip(*rows, strict=True), strict=True))
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(added[field.name], field.type) if field.name in added else part[field.name]
                    for field in wanted
                ],
                schema=wanted,
            )
            rows, size, begin = [], 0, at + 1


def _aborted(batch: pa.RecordBatch, job: Job) -> pa.Array:
    """Per record: whether its transaction was aborted, null where nobody knows."""
    rows = batch.num_rows
    if not pc.any(batch["is_transactional"]).as_py() or not job.fates().any:
        return pa.array(np.zeros(rows, np.bool_))
    positions = batch["batch_position"].to_numpy()
    starts = np.flatnonzero(np.concatenate(([True], positions[1:] != positions[:-1])))
    producers, offsets = batch["producer_id"].to_numpy(), batch["offset"].to_numpy()
    transactional = batch["is_transactional"].to_numpy(zero_copy_only=False)
    fates = [
        job.fates().of(int(producers[at]), int(offsets[at])) if transactional[at] else False for at in starts
    ]
    lengths: NDArray[np.int64] = np.diff(np.append(starts, rows))
    values: NDArray[np.bool_] = np.repeat(np.array([fate is True for fate in fates], np.bool_), lengths)
    unknown: NDArray[np.bool_] = np.repeat(np.array([fate is None for fate in fates], np.bool_), lengths)
    return pa.array(values, mask=unknown)


def _instant(milliseconds: pa.Array, kind: pa.DataType) -> pa.Array:
    """Microseconds reach as far as they do: a producer may have written any 64-bit number."""
    if kind.unit == "ms":
        return milliseconds.cast(kind)
    most = (1 << 63) // 1000 - 1
    return pa.array(np.clip(milliseconds.to_numpy(), -most, most) * 1000).cast(kind)


def write_parquet(job: Job, outlet: Folder, wanted: pa.Schema, name: str) -> Written:
    """One Parquet file of a partition."""
    tally = Tally(job.request.decode)
    with outlet.file(name) as stream:
        file = ParquetFile(stream, stored(wanted))
        for batch in batches(job, stored(wanted), tally, outlet.tell):
            file.add(batch)
        file.close()
        size = stream.tell()
    return tally.written(size, file=name, rows=tally.records, size=size)
