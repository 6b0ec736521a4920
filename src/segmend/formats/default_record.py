"""A record, and how version 2 batches hold them. Follows `DefaultRecord`, `DefaultRecordBatch`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from segmend.formats.batch import HEADER_SIZE_V2, LOG_APPEND_TIME, RecordBatch, increment_sequence
from segmend.formats.codec import CodecError, decompress
from segmend.formats.cursor import Malformed, read_varint, read_varlong
from segmend.formats.damage import Damage
from segmend.formats.java_number import LONG_MAX, LONG_MIN, wrap_long

MAX_DAMAGES = 16
"""A batch with more broken records than this is given up."""

Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """One record. None stands for null, which is not the same as empty.

    `timestamp` is in milliseconds, -1 for none; `timestamp_type` 0 create, 1 append, -1
    none; `sequence` -1 without an idempotent producer. `position` and `size` are its bytes
    in the batch, or in the decompressed payload where the batch is compressed. Header keys
    that are no UTF-8 get replacement characters, as in Kafka.
    """

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    sequence: int
    position: int
    size: int


def iter_v2(data: bytes, batch: RecordBatch, damages: list[Damage], limit: int) -> Iterator[Record]:
    """The records of the version 2 batch `data`; see `record.iter_records`."""
    if batch.records_count < 0:
        reason = f"Found invalid record count {batch.records_count} in magic v2 batch"
        damages.append(Damage("count-mismatch", 57, reason))
    if batch.codec == 0:
        yield from _iter_payload(data, HEADER_SIZE_V2, batch, damages)
    elif batch.records_count or len(data) > HEADER_SIZE_V2:
        payload = open_payload(data, HEADER_SIZE_V2, batch, damages, limit)
        yield from _iter_payload(payload, 0, batch, damages)


def open_payload(data: bytes, at: int, batch: RecordBatch, damages: list[Damage], limit: int) -> bytes:
    """`data[at:]` decompressed; what came out before the fault, where there is one."""
    try:
        return decompress(batch.codec, memoryview(data)[at:], limit=limit, magic=batch.magic)
    except CodecError as error:
        damages.append(Damage(error.kind, at + error.position, error.reason))
        return error.partial


def _iter_payload(payload: bytes, at: int, batch: RecordBatch, damages: list[Damage]) -> Iterator[Record]:
    end, count = len(payload), 0
    whole = not damages
    while at < end and len(damages) < MAX_DAMAGES:
        try:
            size, body = read_varint(payload, at, end)
            if size < 0 or size > end - body:
                raise Malformed(at, f"Invalid record size: expected {size} bytes, {end - body} are left")
        except Malformed as error:
            damages.append(_damage(error, batch, "record-structure"))
            return
        if count == batch.records_count:
            reason = "Incorrect declared batch size, records still remaining in file"
            damages.append(_damage(Malformed(at, reason), batch, "count-mismatch"))
        count += 1
        try:
            yield _read(payload, at, body, body + size, batch)
        except Malformed as error:
            damages.append(_damage(error, batch, "record-structure"))
        at = body + size
    if whole and 0 <= count < batch.records_count and at == end:
        reason = (
            f"Incorrect declared batch size, premature EOF reached ({count} of {batch.records_count} records)"
        )
        damages.append(Damage("count-mismatch", 57, reason))


def _damage(error: Malformed, batch: RecordBatch, kind: str) -> Damage:
    if batch.codec == 0:
        return Damage(kind, error.position, error.reason)
    return Damage(
        kind, HEADER_SIZE_V2, f"{error.reason} (at byte {error.position} of the decompressed payload)"
    )


def _read(data: bytes, start: int, at: int, end: int, batch: RecordBatch) -> Record:
    """The record whose body is `data[at:end]`; `Malformed` where it is not one."""
    delta, at = read_varlong(data, at + 1, end)
    timestamp = (
        batch.max_timestamp if batch.timestamp_type == LOG_APPEND_TIME else batch.base_timestamp + delta
    )
    offset_delta, at = read_varint(data, at, end)
    offset = batch.base_offset + offset_delta
    if not (LONG_MIN <= timestamp <= LONG_MAX and LONG_MIN <= offset <= LONG_MAX):
        timestamp, offset = wrap_long(timestamp), wrap_long(offset)
    key, at = _nullable(data, at, end)
    value, at = _nullable(data, at, end)
    count, at = read_varint(data, at, end)
    headers: Headers = ()
    if count:
        headers, at = _headers(data, at, end, count)
    if at != end:
        raise Malformed(start, f"Invalid record size: {end - at} bytes are left over in the record")
    sequence = increment_sequence(batch.base_sequence, offset_delta)
    kind = batch.timestamp_type
    return Record(offset, timestamp, kind, key, value, headers, sequence, start, end - start)


def _nullable(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, start = read_varint(data, at, end)
    if size < 0:
        return None, start
    if size > end - start:
        raise Malformed(at, f"Found invalid record structure: {size} bytes expected, {end - start} left")
    return data[start : start + size], start + size


def _headers(data: bytes, at: int, end: int, count: int) -> tuple[Headers, int]:
    if not 0 <= count <= end - at:
        raise Malformed(at, f"Found invalid number of record headers {count}")
    headers = []
    for _ in range(count):
        key, after = _nullable(data, at, end)
        if key is None:
            raise Malformed(at, "Invalid negative header key size")
        value, at = _nullable(data, after, end)
        headers.append((key.decode("utf-8", "replace"), value))
    return tuple(headers), at
