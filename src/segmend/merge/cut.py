"""A batch of which only some records are wanted, written anew with the others left out.

Follows `MemoryRecords.filterTo`: the header stays but for offsets, count, sequence and checksum.
"""

from __future__ import annotations

from collections.abc import Sequence

from segmend.errors import PartitionError
from segmend.formats.batch import LOG_OVERHEAD, RecordBatch, read_header
from segmend.formats.build import NewRecord, build_batch, render
from segmend.formats.record import Record, decode
from segmend.kernel.columns import WantedRecords, numbers
from segmend.kernel.decode import record_columns
from segmend.kernel.types import DECODE_LIMIT, BatchRange
from segmend.merge.pieces import Piece


def kept_of(piece: Piece) -> tuple[RecordBatch, list[Record]]:
    """The header of a batch, and its records that are wanted; raises `PartitionError` if it is unreadable."""
    with piece.log.reader() as reader:
        data = reader.read(piece.size, piece.start)
    batch = read_header(data, 0, piece.start)
    if piece.epoch is not None:
        batch = batch._replace(partition_leader_epoch=piece.epoch)
    records, damages = decode(data, batch, limit=DECODE_LIMIT)
    if damages:
        raise PartitionError(f"{piece.log.path}: the batch at byte {piece.start}: {damages[0].reason}")
    wanted = range(piece.first, piece.last + 1)
    return batch, [each for each in records if each.offset in wanted and each.offset not in piece.without]


def count_of(piece: Piece) -> int:
    """How many of its wanted records can be read, counted one by one, whatever their header says."""
    wanted, count = WantedRecords.between(piece.first, piece.last, None, None, ["offset"], control=True), 0
    batches = BatchRange(base_offset=piece.base_offset, start=piece.start, stop=piece.stop)
    with piece.log.reader() as reader:
        for columns in record_columns(reader, wanted, batches, lambda _: None):
            assert columns.offsets is not None
            offsets = numbers(columns.offsets, "q")[: columns.rows] if piece.without else ()
            count += columns.rows - sum(offset in piece.without for offset in offsets)
    return count


def recut(piece: Piece) -> bytes:
    """The bytes of the batch with its wanted records; none if it has no such record.

    Raises `PartitionError` if it cannot be read.
    """
    batch, kept = kept_of(piece)
    if not kept:
        return b""
    if batch.magic < 2:
        return _legacy(kept, batch)
    if piece.epoch is not None and len(kept) == batch.records_count:
        return _with_epoch(piece, piece.epoch)
    first, last = max(piece.first, batch.base_offset), min(piece.last, batch.last_offset)
    skipped = first - batch.base_offset
    sequence = batch.base_sequence
    header = batch._replace(
        base_offset=first, last_offset=last, last_offset_delta=last - first, records_count=len(kept),
        base_sequence=sequence if sequence < 0 else (sequence + skipped) & 0x7FFFFFFF,
        max_timestamp=batch.max_timestamp
        if batch.timestamp_type == 1
        else max(each.timestamp for each in kept),
    )  # fmt: skip
    return render(header, kept)


def _with_epoch(piece: Piece, epoch: int) -> bytes:
    """The bytes of a whole batch, but for its epoch, which the checksum does not cover."""
    with piece.log.reader() as reader:
        data = reader.read(piece.size, piece.start)
    return data[:LOG_OVERHEAD] + epoch.to_bytes(4, "big", signed=True) + data[LOG_OVERHEAD + 4 :]


def _legacy(records: Sequence[Record], batch: RecordBatch) -> bytes:
    made = [
        NewRecord(value=each.value, key=each.key, timestamp=each.timestamp, offset=each.offset)
        for each in records
    ]
    appended = batch.timestamp_type == 1
    return build_batch(
        made, base_offset=records[0].offset, magic=batch.magic, codec=batch.codec,
        append_time=batch.max_timestamp if appended else None,
    )  # fmt: skip
