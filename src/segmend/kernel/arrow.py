"""Records and batch headers of a `.log` file as pyarrow RecordBatches, without copying columns.

The only module of the kernel that imports numpy and pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from segmend.formats.batch import CODEC_NAMES, CONTROL, TRANSACTIONAL
from segmend.kernel.batch_rows import CRC_OK, batch_rows
from segmend.kernel.columns import BatchRun, Binary, Headers, RecordColumns, WantedRecords
from segmend.kernel.decode import TARGET, record_columns
from segmend.kernel.engine import ENGINE
from segmend.kernel.types import WINDOW, BatchRange, Problem, Reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER_TYPE = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS_TYPE = pa.list_(pa.field("element", HEADER_TYPE))

RECORD_FIELDS = {
    "offset": pa.int64(),
    "timestamp": pa.int64(),  # ms since the epoch, -1 none
    "timestamp_type": pa.int32(),  # 0 create, 1 append, -1 none
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": HEADERS_TYPE,
    "leader_epoch": pa.int32(),
    "producer_id": pa.int64(),
    "producer_epoch": pa.int32(),
    "sequence": pa.int32(),
    "is_transactional": pa.bool_(),
    "is_control": pa.bool_(),
    "batch_position": pa.int64(),
    "key_size": pa.int32(),  # -1 null
    "value_size": pa.int32(),
}
"""The columns of records and their types."""

BATCH_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("size_bytes", pa.int32()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("magic", pa.int32()),
        ("crc", pa.int64()),  # unsigned, as kafka-dump-log prints it
        ("crc_ok", pa.bool_()),  # null: not computed
        ("attributes", pa.int32()),
        ("codec", pa.string()),  # null: there is no such codec
        ("timestamp_type", pa.int32()),  # 0 create time, 1 append time
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("base_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("base_sequence", pa.int32()),
        ("records", pa.int32()),  # -1: a compressed wrapper of magic 0 or 1
    ]
)
"""The columns of batch headers."""


@cache
def _codecs() -> pa.Array:
    """Not made by the import: with its first array pyarrow loads pandas, for which most have no use."""
    return pa.array([*CODEC_NAMES, None, None, None], pa.string())


def record_batches(
    reader: Reader,
    wanted: WantedRecords,
    batches: BatchRange,
    *,
    problems: Callable[[Problem], None] | None = None,
    engine: str = ENGINE.name,
    target: int = TARGET,
    window: int = WINDOW,
) -> Iterator[pa.RecordBatch]:
    """The wanted records of these batches, some thousands at a time.

    Their columns are names of `RECORD_FIELDS`, given in that order. What cannot be decoded is skipped and
    given to `problems`. `target` is about the bytes of keys or values of one batch.
    """
    names = [name for name in RECORD_FIELDS if name in wanted.columns]
    schema = pa.schema([(name, RECORD_FIELDS[name]) for name in names])
    pieces = record_columns(
        reader,
        wanted,
        batches,
        problems or _ignore,
        engine=engine,
        allocate=pa.allocate_buffer,
        target=target,
        window=window,
    )
    for piece in pieces:
        makers = _Makers(piece)
        arrays = [makers.column(name) for name in names]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema) if names else _rows_only(piece.rows)


def _ignore(problem: Problem) -> None:
    del problem


def _rows_only(rows: int) -> pa.RecordBatch:
    """No columns, but the right number of rows: for counting."""
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


_NUMBERS = {
    "offset": "offsets", "timestamp": "timestamps", "sequence": "sequences",
    "key_size": "key_sizes", "value_size": "value_sizes",
}  # fmt: skip
"""Where `RecordColumns` has the columns that are numbers of each record."""
_OF_RUNS = {"batch_position": 1, "leader_epoch": 4, "producer_id": 5, "producer_epoch": 6}
"""Which field of `BatchRun` the columns are that all records of a batch have in common."""
_FLAGS = {"is_transactional": TRANSACTIONAL, "is_control": CONTROL}


class _Makers:
    """Makes the columns of one piece, by name."""

    def __init__(self, piece: RecordColumns) -> None:
        self._piece = piece
        runs = np.frombuffer(memoryview(piece.runs), np.int64, piece.run_count * len(BatchRun._fields))
        self._runs = runs.reshape(-1, len(BatchRun._fields))

    def column(self, name: str) -> pa.Array:
        piece, kind = self._piece, RECORD_FIELDS[name]
        if name in _NUMBERS:
            buffer = pa.py_buffer(getattr(piece, _NUMBERS[name]))
            return pa.Array.from_buffers(kind, piece.rows, [None, buffer])
        if name == "headers":
            return _headers(piece.headers, piece.rows)
        if name in ("key", "value"):
            return _binary(getattr(piece, name), piece.rows, kind)
        return pa.array(np.repeat(self._of_runs(name).astype(kind.to_pandas_dtype()), self._runs[:, 0]))

    def _of_runs(self, name: str) -> NDArray[np.int64 | np.bool_]:
        magic, attributes = self._runs[:, 2], self._runs[:, 3]
        if name in _FLAGS:
            return (attributes & _FLAGS[name] != 0) & (magic >= 2)
        if name == "timestamp_type":
            return np.where(magic == 0, -1, attributes >> 3 & 1)
        return self._runs[:, _OF_RUNS[name]]


def _binary(column: Binary | None, count: int, kind: pa.DataType) -> pa.Array:
    if column is None or count == 0:
        return pa.array([None] * count, kind)
    valid = pa.py_buffer(column.valid) if column.nulls else None
    buffers = [valid, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, count, buffers, column.nulls)


def _headers(headers: Headers | None, rows: int) -> pa.Array:
    if headers is None:
        return pa.nulls(rows, HEADERS_TYPE)
    keys = _text(_binary(headers.keys, headers.total, pa.binary()))
    values = _binary(headers.values, headers.total, pa.binary())
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE))
    starts = pa.py_buffer(headers.starts)
    return pa.Array.from_buffers(HEADERS_TYPE, rows, [None, starts], 0, children=[pairs])


def _text(keys: pa.Array) -> pa.Array:
    """Header keys as strings; those that are no UTF-8 get replacement characters, as in Kafka."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


def batch_headers(
    reader: Reader,
    batches: BatchRange,
    *,
    problems: Callable[[Problem], None] | None = None,
    engine: str = ENGINE.name,
) -> Iterator[pa.RecordBatch]:
    """The headers of these batches, as `BATCH_SCHEMA`.

    A batch with a wrong checksum has `crc_ok` false if the next one shows that its size is right;
    other damage is passed and given to `problems`.
    """
    for piece in batch_rows(reader, batches, problems or _ignore, engine=engine):
        numbers = np.frombuffer(piece, np.int64).reshape(-1, CRC_OK + 1)
        yield pa.RecordBatch.from_arrays(_batch_arrays(numbers), schema=BATCH_SCHEMA)


def _batch_arrays(rows: NDArray[np.int64]) -> list[pa.Array]:
    (position, size, base, last, epoch, magic, crc, attributes, _delta, base_time, max_time, producer,
     producer_epoch, sequence, count, crc_ok) = rows.T  # fmt: skip
    codec = _codecs().take(pa.array(attributes & 7))
    modern = magic >= 2
    checked = pa.array(crc_ok == 1, mask=crc_ok < 0)
    return [
        _int64(position), _int32(size), _int64(base), _int64(last), _int32(np.where(modern, epoch, -1)),
        _int32(magic), _int64(crc), checked, _int32(attributes), codec,
        _int32(np.where(magic == 0, -1, attributes >> 3 & 1)),
        pa.array((attributes & 0x10 != 0) & modern), pa.array((attributes & 0x20 != 0) & modern),
        _int64(base_time), _int64(max_time), _int64(producer), _int32(producer_epoch), _int32(sequence),
        _int32(count),
    ]  # fmt: skip


def _int32(values: NDArray[np.int64]) -> pa.Array:
    return pa.array(values.astype(np.int32))


def _int64(values: object) -> pa.Array:
    return pa.array(np.ascontiguousarray(values))
