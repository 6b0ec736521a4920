"""Batches out of records, of every magic and codec: for tests, fuzzing, benchmarks and surgery.

Follows `DefaultRecordBatch.writeHeader`, `DefaultRecord.writeTo` and `LegacyRecord.write`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from struct import Struct
from typing import Final, NamedTuple

from segmend.formats.batch import HEADER_SIZE_V2, LOG_OVERHEAD, RecordBatch, compute_crc, render_header
from segmend.formats.codec import NONE
from segmend.formats.cursor import write_varint
from segmend.formats.default_record import Headers, Record

_I32 = Struct(">i")


class NewRecord(NamedTuple):
    """A record to write. `offset` None takes the one after its predecessor."""

    value: bytes | None = None
    key: bytes | None = None
    timestamp: int = 0
    headers: Headers = ()
    offset: int | None = None


class BatchProducer(NamedTuple):
    id: int = -1
    epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False


NO_PRODUCER: Final = BatchProducer()
"""Of a batch of a producer that is neither idempotent nor transactional."""


def build_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    magic: int = 2,
    codec: int = 0,
    append_time: int | None = None,
    producer: BatchProducer = NO_PRODUCER,
    is_control: bool = False,
    leader_epoch: int = 0,
) -> bytes:
    """The bytes of one batch; for magic 0 and 1 without codec, of one entry a record.

    `append_time` (milliseconds) makes the timestamps append time.
    """
    numbered = _number(records, base_offset)
    if magic < 2:
        return _build_legacy(numbered, magic, codec, append_time)
    attributes = codec | (append_time is not None) << 3 | producer.transactional << 4 | is_control << 5
    base_timestamp = numbered[0][1].timestamp if numbered else -1
    last = numbered[-1][0] if numbered else base_offset
    newest = max((record.timestamp for _, record in numbered), default=-1)
    body = b"".join(
        _record(offset - base_offset, record.timestamp - base_timestamp, record)
        for offset, record in numbered
    )
    header = RecordBatch(
        position=0,
        size=0,
        base_offset=base_offset,
        last_offset=last,
        partition_leader_epoch=leader_epoch,
        magic=magic,
        crc=0,
        attributes=attributes,
        last_offset_delta=last - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=newest if append_time is None else append_time,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=producer.base_sequence,
        records_count=len(numbered),
    )
    return seal(header, _packed(codec, body))


def seal(header: RecordBatch, payload: bytes) -> bytes:
    """A version 2 batch of `header` and the (compressed) records, with size and CRC made right."""
    sized = header._replace(size=HEADER_SIZE_V2 + len(payload))
    crc = compute_crc(render_header(sized) + payload, sized.magic)
    return render_header(sized._replace(crc=crc)) + payload


def render(batch: RecordBatch, records: Iterable[Record]) -> bytes:
    """The version 2 batch again, from its header and its decoded records.

    Size and CRC are computed. With append time the records' own timestamps are not known
    any more and become zero deltas.
    """
    appended = batch.timestamp_type == 1
    body = b"".join(
        _record(
            record.offset - batch.base_offset,
            0 if appended else record.timestamp - batch.base_timestamp,
            NewRecord(record.value, record.key, record.timestamp, record.headers),
        )
        for record in records
    )
    return seal(batch, _packed(batch.codec, body))


def _number(records: Sequence[NewRecord], base_offset: int) -> list[tuple[int, NewRecord]]:
    numbered = []
    offset = base_offset
    for record in records:
        offset = offset if record.offset is None else record.offset
        numbered.append((offset, record))
        offset += 1
    return numbered


def _record(offset_delta: int, timestamp_delta: int, record: NewRecord) -> bytes:
    parts = [
        b"\0",
        write_varint(timestamp_delta),
        write_varint(offset_delta),
        _sized(record.key),
        _sized(record.value),
        write_varint(len(record.headers)),
    ]
    for key, value in record.headers:
        parts += (_sized(key.encode()), _sized(value))
    body = b"".join(parts)
    return write_varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return write_varint(-1) if data is None else write_varint(len(data)) + data


def _build_legacy(
    numbered: Sequence[tuple[int, NewRecord]], magic: int, codec: int, append_time: int | None
) -> bytes:
    if codec == 0:
        return b"".join(_entry(offset, record, magic, 0, append_time) for offset, record in numbered)
    first = numbered[0][0] if magic == 1 else 0
    inner = b"".join(_entry(offset - first, record, magic, 0, None) for offset, record in numbered)
    wrapper = NewRecord(
        value=_packed(codec, inner, magic=magic), timestamp=max(record.timestamp for _, record in numbered)
    )
    return _entry(numbered[-1][0], wrapper, magic, codec, append_time)


def _entry(offset: int, record: NewRecord, magic: int, codec: int, append_time: int | None) -> bytes:
    """One log entry: offset, size, CRC, message."""
    appended = magic == 1 and append_time is not None
    timestamp = record.timestamp if append_time is None else append_time
    body = b"".join((_nullable(record.key), _nullable(record.value)))
    header = RecordBatch(
        position=0,
        size=LOG_OVERHEAD + (14 if magic == 1 else 6) + len(body),
        base_offset=offset,
        last_offset=offset,
        partition_leader_epoch=-1,
        magic=magic,
        crc=0,
        attributes=codec | appended << 3,
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=1,
    )
    crc = compute_crc(render_header(header) + body, magic)
    return render_header(header._replace(crc=crc)) + body


def _nullable(data: bytes | None) -> bytes:
    return _I32.pack(-1) if data is None else _I32.pack(len(data)) + data


def _packed(codec: int, data: bytes, *, magic: int = 2) -> bytes:
    """Compressed, by packages that take longer to import than a small batch to build (see `codec.py`)."""
    if codec == NONE:
        return data
    packed: bytes = import_module("segmend.formats.codec_write").compress(codec, data, magic=magic)
    return packed
