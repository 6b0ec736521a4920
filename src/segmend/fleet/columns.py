"""The tables that are read from bytes: batches, records and index entries, as Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segmend.fleet.options import Options
from segmend.fleet.ranges import INDEX_LIMIT, Range, verified
from segmend.fleet.rows import Row, dir_keys, table
from segmend.fleet.schemas import KAFKA_RECORD
from segmend.formats import offset_index, time_index, txn_index
from segmend.kernel.arrow import batch_headers, record_batches
from segmend.kernel.columns import LONG_MAX as _LONG_MAX
from segmend.logdir.file_system import OpenFile, Unreadable

ROWS: Final = 16_384
"""Rows of one Arrow batch of index entries."""

_LAST_INSTANT_MS: Final = (1 << 63) // 1000 - 1
_FROM_KERNEL: Final = {
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    "key": "key",
    "value": "value",
    "headers": "headers",
    "key_size": "key",
    "value_size": "value",
}
"""Which column of the kernel each column of `records` is made of."""


def batches(piece: Range, reader: OpenFile, options: Options) -> Iterator[pa.RecordBatch]:
    """The batches of a range that overlap the wanted offsets and times."""
    start, stop = verified(piece, reader)
    keys, schema = _keys(piece), options.schema
    found = batch_headers(
        reader, base_offset=piece.base_offset, start=start, stop=stop, crc=bool(options.crc)
    )
    for chunk in found:
        kept = _overlapping(chunk, piece, options)
        columns = [_constant_or(field, keys, kept) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _overlapping(chunk: pa.RecordBatch, piece: Range, options: Options) -> pa.RecordBatch:
    wanted = pc.greater_equal(chunk["last_offset"], piece.low)
    if options.high is not None:
        wanted = pc.and_(wanted, pc.less(chunk["base_offset"], options.high))
    if options.since is not None:
        wanted = pc.and_(wanted, pc.greater_equal(chunk["max_timestamp_ms"], options.since))
    return chunk.filter(wanted)


def _constant_or(field: pa.Field, keys: Row, chunk: pa.RecordBatch) -> pa.Array:
    if field.name in keys:
        return pa.repeat(pa.scalar(keys[field.name], field.type), chunk.num_rows)
    return chunk[field.name]


def records(piece: Range, reader: OpenFile, options: Options) -> Iterator[pa.RecordBatch]:
    """The records of a range; none of control batches, as a consumer sees none of them.

    A batch whose checksum is wrong gives no records, unless `crc` is false.
    """
    start, stop = verified(piece, reader)
    keys, schema = _keys(piece), options.schema
    # The offset is always there: it says how many rows there are.
    needed = {_FROM_KERNEL[name] for name in schema.names if name in _FROM_KERNEL} | {"offset"}
    found = record_batches(
        reader,
        base_offset=piece.base_offset,
        columns=needed,
        start=start,
        stop=stop,
        first_offset=piece.low,
        last_offset=_LONG_MAX if options.high is None else options.high - 1,
        since=-_LONG_MAX if options.since is None else options.since,
        until=_LONG_MAX if options.until is None else options.until - 1,
        crc=options.crc is not False,
    )
    for chunk in found:
        columns = [_record_column(field, keys, chunk) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _record_column(field: pa.Field, keys: Row, chunk: pa.RecordBatch) -> pa.Array:
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


def _size(values: pa.Array) -> pa.Array:
    return pc.fill_null(pc.binary_length(values), -1).cast(pa.int32())


_MADE: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    "timestamp": _instant,
    "headers": _null_if_empty,
    "key_size": _size,
    "value_size": _size,
}


def index_entries(piece: Range, _reader: OpenFile, options: Options) -> Iterator[pa.RecordBatch]:
    """The entries of the three indexes of a segment, without the preallocated zeros."""
    keys, names = _keys(piece), options.schema.names
    for suffix, entries in _INDEXES.items():
        try:
            data = piece.file(suffix).read(INDEX_LIMIT)
        except Unreadable:
            continue
        for chunk in _chunks(entries(data, piece.base_offset), ROWS):
            yield from table("index_entries", [keys | row for row in chunk]).select(names).to_batches()


def _offset_entries(data: bytes, base: int) -> Iterator[Row]:
    for number, entry in enumerate(offset_index.parse(data)[0]):
        yield {
            "kind": "offset",
            "entry": number,
            "offset": base + entry.relative_offset,
            "position": entry.position,
        }


def _time_entries(data: bytes, base: int) -> Iterator[Row]:
    for number, entry in enumerate(time_index.parse(data)[0]):
        yield {
            "kind": "time",
            "entry": number,
            "offset": base + entry.relative_offset,
            "timestamp_ms": entry.timestamp,
        }


def _txn_entries(data: bytes, _: int) -> Iterator[Row]:
    for number, entry in enumerate(txn_index.parse(data)[0].entries):
        yield {
            "kind": "txn",
            "entry": number,
            "offset": entry.last_offset,
            "producer_id": entry.producer_id,
            "first_offset": entry.first_offset,
            "last_stable_offset": entry.last_stable_offset,
        }


_INDEXES: Final[dict[str, Callable[[bytes, int], Iterator[Row]]]] = {
    ".index": _offset_entries,
    ".timeindex": _time_entries,
    ".txnindex": _txn_entries,
}

READERS: Final[dict[str, Callable[[Range, OpenFile, Options], Iterator[pa.RecordBatch]]]] = {
    "batches": batches,
    "records": records,
    "index_entries": index_entries,
}


def _keys(piece: Range) -> Row:
    return dir_keys(piece.place) | {
        "topic": piece.topic,
        "partition": piece.partition,
        "segment": piece.base_offset,
    }


def _chunks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for item in items:
        chunk.append(item)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
