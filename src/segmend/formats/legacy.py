"""Records of magic 0 and 1: one message an entry, or a wrapper with compressed messages.

Follows `LegacyRecord` and `AbstractLegacyRecordBatch.DeepRecordsIterator`. Offsets inside a
magic 1 wrapper are relative to the last one, which the wrapper carries; those inside magic
0 are absolute. Inner messages of the other magic (KAFKA-4298) are read as what they are.

Damage kinds besides those of `record`: `inner-crc`, `inner-offsets` (not increasing),
`nested-compression`, `inner-magic` (tolerated by the broker, rewritten by the cleaner).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from segmend.formats.batch import (
    CRC_START_LEGACY,
    CREATE_TIME,
    HEADER_SIZE_V0,
    HEADER_SIZE_V1,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MIN_SIZE,
    NO_TIMESTAMP_TYPE,
    RecordBatch,
    read_header,
)
from segmend.formats.cursor import Cursor, Malformed
from segmend.formats.damage import Damage
from segmend.formats.default_record import MAX_DAMAGES, Record, open_payload
from segmend.formats.java_number import wrap_long

_OFFSET_AND_SIZE = Struct(">qi")


class _Span(NamedTuple):
    """The place of one inner entry in the decompressed payload, and the offset it states."""

    start: int
    end: int
    offset: int


def iter_legacy(data: bytes, entry: RecordBatch, damages: list[Damage], limit: int) -> Iterator[Record]:
    """The records of the log entry `data`; see `record.iter_records`."""
    if entry.magic not in (0, 1):
        damages.append(Damage("bad-magic", 16, f"magic {entry.magic} is none of 0, 1, 2"))
        return
    try:
        key, value, value_at = _key_and_value(data, entry.header_size, entry.size)
    except Malformed as error:
        damages.append(Damage("record-structure", error.position, error.reason))
        return
    if entry.codec == 0:
        yield _record(entry, key, value, entry.base_offset, entry.max_timestamp, entry.timestamp_type, 0)
    elif value is None:
        reason = f"Found invalid compressed record set with null value (magic = {entry.magic})"
        damages.append(Damage("record-structure", value_at, reason))
    else:
        payload = open_payload(data[: value_at + len(value)], value_at, entry, damages, limit)
        yield from _iter_wrapped(payload, value_at, entry, damages)


def base_offset(data: bytes, entry: RecordBatch, *, limit: int) -> int | None:
    """The offset of an entry's first record, which a wrapper tells only when decompressed."""
    first = next(iter_legacy(data, entry, [], limit), None)
    return None if first is None else first.offset


def inner_span(data: bytes, wrapper: RecordBatch, *, limit: int) -> tuple[int, int] | None:
    """The offsets of the first and last message in a wrapper; None if it cannot be opened.

    Those of magic 0 are under its checksum, whatever the wrapper says. Negative ones show a wrong offset.
    """
    try:
        _, value, value_at = _key_and_value(data, wrapper.header_size, wrapper.size)
    except Malformed:
        return None
    payload = open_payload(data, value_at, wrapper, [], limit) if value is not None else b""
    stated = [span.offset for span in _spans(payload, value_at, [])]
    if not stated:
        return None
    base = 0 if wrapper.magic == 0 else wrapper.last_offset - stated[-1]
    return base + stated[0], base + stated[-1]


def _key_and_value(data: bytes, at: int, end: int) -> tuple[bytes | None, bytes | None, int]:
    """(key, value, position of the value's bytes)."""
    cursor = Cursor(data, at, min(end, len(data)))
    key = _sized(cursor)
    size = cursor.i32()
    value_at = cursor.position
    return key, None if size < 0 else cursor.take(size), value_at


def _sized(cursor: Cursor) -> bytes | None:
    size = cursor.i32()
    return None if size < 0 else cursor.take(size)


def _record(
    entry: RecordBatch,
    key: bytes | None,
    value: bytes | None,
    offset: int,
    timestamp: int,
    timestamp_type: int,
    position: int,
) -> Record:
    return Record(offset, timestamp, timestamp_type, key, value, (), -1, position, entry.size)


def _iter_wrapped(payload: bytes, at: int, wrapper: RecordBatch, damages: list[Damage]) -> Iterator[Record]:
    """The inner records; a first walk over the lengths finds the last offset, a second reads."""
    count = last = 0
    for span in _spans(payload, at, damages):
        count, last = count + 1, span.offset
    base = _absolute_base(wrapper, last)
    if count == 0 or base is None:
        reason = (
            "no inner records"
            if count == 0
            else f"the last inner offset {last} above the wrapper's {wrapper.last_offset}"
        )
        damages.append(Damage("record-structure", at, f"Found invalid compressed record set with {reason}"))
        return
    previous: int | None = None
    for span in _spans(payload, at, []):
        if len(damages) >= MAX_DAMAGES:
            return
        if previous is not None and span.offset <= previous:
            reason = f"inner offset {span.offset} follows {previous}"
            damages.append(Damage("inner-offsets", at, _inside(reason, span.start)))
        previous = span.offset
        record = _inner(payload, span, wrap_long(base + span.offset), at, wrapper, damages)
        if record is not None:
            yield record


def _absolute_base(wrapper: RecordBatch, last: int) -> int | None:
    """What to add to an inner offset; None where the wrapper's offset cannot be right."""
    if wrapper.magic == 0 or wrapper.last_offset == 0:
        return 0
    return wrapper.last_offset - last if wrapper.last_offset >= last else None


def _spans(payload: bytes, at: int, damages: list[Damage]) -> Iterator[_Span]:
    """Inner entries by their lengths; the first impossible length ends them."""
    start, end = 0, len(payload)
    while end - start >= LOG_OVERHEAD:
        offset, size = _OFFSET_AND_SIZE.unpack_from(payload, start)
        if size < MIN_SIZE:
            reason = f"Record size is less than the minimum record overhead ({MIN_SIZE})"
            damages.append(Damage("record-structure", at, _inside(reason, start)))
            return
        if size > end - start - LOG_OVERHEAD:
            break
        yield _Span(start, start + LOG_OVERHEAD + size, offset)
        start += LOG_OVERHEAD + size
    if start < end:
        reason = f"{end - start} bytes at the end make no whole message"
        damages.append(Damage("record-structure", at, _inside(reason, start)))


def _inner(
    payload: bytes, span: _Span, offset: int, at: int, wrapper: RecordBatch, damages: list[Damage]
) -> Record | None:
    needs = HEADER_SIZE_V0 if payload[span.start + 16] == 0 else HEADER_SIZE_V1
    if span.end - span.start < needs or payload[span.start + 16] > 1:
        reason = f"an inner message of {span.end - span.start} bytes with magic {payload[span.start + 16]}"
        damages.append(Damage("record-structure", at, _inside(reason, span.start)))
        return None
    entry = read_header(payload, span.start)
    if entry.magic != wrapper.magic:
        reason = f"Compressed message magic {entry.magic} does not match wrapper magic {wrapper.magic}"
        damages.append(Damage("inner-magic", at, _inside(reason, span.start)))
    if entry.codec:
        reason = "Inner message must not be compressed"
        damages.append(Damage("nested-compression", at, _inside(reason, span.start)))
        return None
    if zlib.crc32(memoryview(payload)[span.start + CRC_START_LEGACY : span.end]) != entry.crc:
        damages.append(Damage("inner-crc", at, _inside("the inner message's CRC does not match", span.start)))
    try:
        key, value, _ = _key_and_value(payload, span.start + entry.header_size, span.end)
    except Malformed as error:
        damages.append(Damage("record-structure", at, _inside(error.reason, error.position)))
        return None
    timestamp, timestamp_type = _inner_time(entry, wrapper)
    return _record(entry, key, value, offset, timestamp, timestamp_type, span.start)


def _inner_time(entry: RecordBatch, wrapper: RecordBatch) -> tuple[int, int]:
    """(timestamp, its type): a wrapper with append time overrides, magic 0 has none."""
    if entry.magic == 0:
        return -1, NO_TIMESTAMP_TYPE
    if wrapper.timestamp_type == LOG_APPEND_TIME:
        return wrapper.max_timestamp, LOG_APPEND_TIME
    return entry.max_timestamp, CREATE_TIME if wrapper.magic == 1 else NO_TIMESTAMP_TYPE


def _inside(reason: str, position: int) -> str:
    return f"{reason} (at byte {position} of the decompressed payload)"
