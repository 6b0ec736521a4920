"""The tables that are read from bytes, as Arrow columns; `records` has a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from segmend.fleet.damaged import DamagedPlace, Report
from segmend.fleet.internal_topics import decoded_records
from segmend.fleet.options import ReadOptions
from segmend.fleet.ranges import INDEX_LIMIT, ByteRange, verified
from segmend.fleet.records import decoded, range_keys, records
from segmend.fleet.rows import Row, table
from segmend.fleet.schemas import DECODED
from segmend.formats import offset_index, time_index, txn_index
from segmend.kernel.arrow import batch_headers
from segmend.kernel.types import BatchRange
from segmend.logdir.file_system import OpenFile, Unreadable

ROWS: Final = 16_384
"""Rows of one Arrow batch of index entries."""

_EVERY_RECORD: Final = ReadOptions(columns=("offset", "key_size"), aged=True)


def batches(
    piece: ByteRange, reader: OpenFile, options: ReadOptions, _report: Report
) -> Iterator[pa.RecordBatch]:
    """The batches of a range that overlap the wanted offsets and times."""
    start, stop = verified(piece, reader)
    keys, schema = range_keys(piece), options.schema
    among = BatchRange(base_offset=piece.base_offset, start=start, stop=stop, crc=bool(options.crc))
    for chunk in batch_headers(reader, among):
        limits = piece.wanted
        wanted = pc.and_(
            pc.greater_equal(chunk["last_offset"], limits.low),
            pc.less_equal(chunk["base_offset"], limits.high),
        )
        if limits.since is not None:
            wanted = pc.and_(wanted, pc.greater_equal(chunk["max_timestamp_ms"], limits.since))
        kept = chunk.filter(wanted)
        columns = [_constant_or(field, keys, kept) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _constant_or(field: pa.Field, keys: Row, chunk: pa.RecordBatch) -> pa.Array:
    if field.name in keys:
        return pa.repeat(pa.scalar(keys[field.name], field.type), chunk.num_rows)
    return chunk[field.name]


def damage(
    piece: ByteRange, reader: OpenFile, options: ReadOptions, _report: Report
) -> Iterator[pa.RecordBatch]:
    """The damaged places of a range: every checksum is computed and every record looked at."""
    damages: list[DamagedPlace] = []
    for _ in decoded(piece, reader, _EVERY_RECORD, damages.append):
        continue
    if damages:
        yield from (
            table("damage", [damage_row(each) for each in damages]).select(options.schema.names).to_batches()
        )


def damage_row(damage: DamagedPlace) -> Row:
    return range_keys(damage.piece) | {
        "dir": damage.piece.place.path,
        "file": damage.piece.log_name,
        "kind": damage.kind,
        "position": damage.position,
        "end": damage.end,
        "first_offset": damage.first_offset,
        "last_offset": damage.last_offset,
        "reason": damage.reason,
    }


def index_entries(
    piece: ByteRange, _reader: OpenFile, options: ReadOptions, _report: Report
) -> Iterator[pa.RecordBatch]:
    """The entries of the three indexes of a segment, without the preallocated zeros."""
    keys, names = range_keys(piece), options.schema.names
    for suffix, entries in _ENTRIES.items():
        try:
            data = piece.file(suffix).read(INDEX_LIMIT)
        except Unreadable:
            continue
        told = enumerate(entries(data, piece.base_offset))
        rows = (keys | entry | {"entry": number} for number, entry in told)
        while chunk := list(islice(rows, ROWS)):
            yield from table("index_entries", chunk).select(names).to_batches()


_ENTRIES: Final[dict[str, Callable[[bytes, int], Iterator[Row]]]] = {
    ".index": lambda data, base: (
        {"kind": "offset", "offset": base + each.relative_offset, "position": each.position}
        for each in offset_index.parse(data)[0]
    ),
    ".timeindex": lambda data, base: (
        {"kind": "time", "offset": base + each.relative_offset, "timestamp_ms": each.timestamp}
        for each in time_index.parse(data)[0]
    ),
    ".txnindex": lambda data, _base: (
        {
            "kind": "txn", "offset": each.last_offset, "producer_id": each.producer_id,
            "first_offset": each.first_offset, "last_stable_offset": each.last_stable_offset,
        }
        for each in txn_index.parse(data)[0].entries
    ),
}  # fmt: skip

READERS: Final[dict[str, Callable[[ByteRange, OpenFile, ReadOptions, Report], Iterator[pa.RecordBatch]]]] = {
    "batches": batches,
    "records": records,
    "damage": damage,
    "index_entries": index_entries,
    **dict.fromkeys(DECODED, decoded_records),
}
