"""The plain check of the records of one batch, and the wrappers of magic 0 and 1.

Follows `DefaultRecord.readFrom` and `DefaultRecordBatch.iterator` for what is accepted:
any negative length of a key or value stands for null, a record must end exactly where its
length says, and recordsCount records must fill the batch.
"""

from __future__ import annotations

import zlib
from struct import Struct

from segmend.formats.batch import HEADER_SIZE_V2, LOG_OVERHEAD, RecordBatch
from segmend.formats.codec import CodecError, decompress
from segmend.formats.cursor import Malformed, read_varint, read_varlong
from segmend.frozen import frozen
from segmend.kernel.types import DECODE_LIMIT, Problem, ProblemKind

_CONTROL_KEY = Struct(">hh")
_CONTROL_VALUE = Struct(">hi")
_ENTRY = Struct(">qiIbb")
_I32 = Struct(">i")
_MASK64 = (1 << 64) - 1


@frozen
class RecordFields:
    """Where one record's parts lie in the payload; -1 as a length stands for null."""

    timestamp_delta: int
    offset_delta: int
    key_at: int
    key_size: int
    value_at: int
    value_size: int
    headers: tuple[tuple[int, int, int, int], ...]
    """(key position, key size, value position, value size) of each header."""
    end: int


def signed64(number: int) -> int:
    """`number` in 64-bit two's complement, as Java's long arithmetic wraps."""
    number &= _MASK64
    return number - (1 << 64) if number >> 63 else number


def read_record(data: bytes, at: int, end: int) -> RecordFields:
    """The record at `data[at:end]`; raises `Malformed` where it does not fit."""
    size, at = read_varint(data, at, end)
    if size < 0 or size > end - at:
        raise Malformed(at, f"a record of {size} bytes, {end - at} left")
    end = at + size
    if size == 0:
        raise Malformed(at, "an empty record")
    timestamp_delta, at = read_varlong(data, at + 1, end)
    offset_delta, at = read_varint(data, at, end)
    key_at, key_size, at = _field(data, at, end)
    value_at, value_size, at = _field(data, at, end)
    headers, at = _headers(data, at, end)
    if at != end:
        raise Malformed(at, f"{end - at} bytes of the record are left over")
    return RecordFields(
        timestamp_delta=timestamp_delta, offset_delta=offset_delta, key_at=key_at, key_size=key_size,
        value_at=value_at, value_size=value_size, headers=headers, end=end,
    )  # fmt: skip


def _field(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """(position, size or -1, next position) of a nullable byte string."""
    size, at = read_varint(data, at, end)
    if size < 0:
        return at, -1, at
    if size > end - at:
        raise Malformed(at, f"{size} bytes expected, {end - at} left")
    return at, size, at + size


def _headers(data: bytes, at: int, end: int) -> tuple[tuple[tuple[int, int, int, int], ...], int]:
    count, at = read_varint(data, at, end)
    if count < 0:
        raise Malformed(at, f"{count} headers")
    if count > end - at:
        raise Malformed(at, f"{count} headers in {end - at} bytes")
    headers = []
    for _ in range(count):
        key_at, key_size, at = _field(data, at, end)
        if key_size < 0:
            raise Malformed(at, "a header without key")
        value_at, value_size, at = _field(data, at, end)
        headers.append((key_at, key_size, value_at, value_size))
    return tuple(headers), at


def check_payload(batch: RecordBatch, data: bytes) -> tuple[Problem | None, int]:
    """(the first problem of the uncompressed records `data`, number of records without key)."""
    at = nulls = records = 0
    last_delta = -1
    largest: int | None = None
    while records < batch.records_count and at < len(data):
        try:
            record = read_record(data, at, len(data))
        except Malformed:
            return _bad_record(batch, records, "lengths"), nulls
        if not last_delta < record.offset_delta <= batch.last_offset_delta:
            return _bad_record(batch, records, "offset"), nulls
        last_delta = record.offset_delta
        at = record.end
        nulls += record.key_size < 0
        timestamp = signed64(batch.base_timestamp + record.timestamp_delta)
        largest = timestamp if largest is None else max(largest, timestamp)
        records += 1
    return _totals(batch, records, len(data) - at, largest), nulls


def _totals(batch: RecordBatch, records: int, left: int, largest: int | None) -> Problem | None:
    if records != batch.records_count or left:
        counts = (("declared", batch.records_count), ("found", records), ("bytes_left", left))
        return problem_of(batch, "count-mismatch", counts)
    if batch.timestamp_type == 0 and largest is not None and largest != batch.max_timestamp:
        detail = (("stored", batch.max_timestamp), ("largest", largest))
        return problem_of(batch, "timestamp-mismatch", detail)
    return None


def _bad_record(batch: RecordBatch, record: int, what: str) -> Problem:
    return problem_of(batch, "record-structure", (("record", record), ("field", what)))


def problem_of(
    batch: RecordBatch, kind: ProblemKind, detail: tuple[tuple[str, int | str], ...] = ()
) -> Problem:
    """A problem of the whole batch."""
    return Problem(kind=kind, position=batch.position, end=batch.end, offset=batch.base_offset, detail=detail)


def control_type(data: bytes) -> int | None:
    """The type by the key of a control batch's first record (`ControlRecordType.parseTypeId`), if any."""
    try:
        record = read_record(data, 0, len(data))
    except Malformed:
        return None
    if record.key_size < _CONTROL_KEY.size:
        return None
    version, kind = _CONTROL_KEY.unpack_from(data, record.key_at)
    return None if version < 0 else int(kind)


def end_txn_marker(batch: RecordBatch, data: bytes) -> tuple[int, int, int] | None:
    """(type, coordinator epoch, timestamp) of a marker batch's record; None if it is not one.

    Type 0 is ABORT, 1 COMMIT. Follows `EndTransactionMarker.deserialize`.
    """
    try:
        record = read_record(data, 0, len(data))
    except Malformed:
        return None
    if record.key_size < _CONTROL_KEY.size or record.value_size < _CONTROL_VALUE.size:
        return None
    key_version, kind = _CONTROL_KEY.unpack_from(data, record.key_at)
    value_version, epoch = _CONTROL_VALUE.unpack_from(data, record.value_at)
    if key_version < 0 or value_version < 0 or kind not in (0, 1):
        return None
    if batch.timestamp_type == 1:
        return kind, epoch, batch.max_timestamp
    return kind, epoch, signed64(batch.base_timestamp + record.timestamp_delta)


def unpack_payload(batch: RecordBatch, data: bytes) -> tuple[bytes, Problem | None]:
    """The records of a compressed magic 2 batch, or why they cannot be had. `data` is the whole batch."""
    return _decompress(batch, data[HEADER_SIZE_V2:])


def _decompress(batch: RecordBatch, data: bytes) -> tuple[bytes, Problem | None]:
    try:
        return decompress(batch.codec, data, limit=DECODE_LIMIT, magic=batch.magic), None
    except CodecError as error:
        if error.kind == "over-limit":
            return b"", problem_of(batch, "too-large", (("limit", DECODE_LIMIT),))
        return b"", problem_of(batch, "undecodable", (("codec", batch.codec), ("reason", error.reason)))


def legacy_parts(data: bytes, at: int, end: int, magic: int) -> tuple[int, int, int, int] | None:
    """(key position, key size, value position, value size) of the legacy message at `data[at:end]`.

    None if the lengths do not fill the message exactly. `at` is the entry's beginning.
    """
    at += 18 if magic == 0 else 26
    parts = []
    for _ in range(2):
        if end - at < 4:
            return None
        size = _I32.unpack_from(data, at)[0]
        at += 4
        if size < -1 or size > end - at:
            return None
        parts += [at, size]
        at += max(size, 0)
    key_at, key_size, value_at, value_size = parts
    return (key_at, key_size, value_at, value_size) if at == end else None


def check_wrapper(batch: RecordBatch, data: bytes) -> tuple[Problem | None, int, int]:
    """(first problem, inner messages, inner messages without key) of a compressed magic 0/1 wrapper."""
    parts = legacy_parts(data, 0, len(data), batch.magic)
    if parts is None or parts[3] < 0:
        return _bad_record(batch, 0, "lengths"), 0, 0
    payload, problem = _decompress(batch, data[parts[2] : parts[2] + parts[3]])
    if problem is not None:
        return problem, 0, 0
    return _check_inner(batch, payload)


def _check_inner(batch: RecordBatch, data: bytes) -> tuple[Problem | None, int, int]:
    at = records = nulls = 0
    last = -1
    problem = None
    while at < len(data):
        if len(data) - at < _ENTRY.size:
            return problem or _bad_record(batch, records, "lengths"), records, nulls
        offset, size, crc, magic, attributes = _ENTRY.unpack_from(data, at)
        end = at + LOG_OVERHEAD + size
        parts = legacy_parts(data, at, end, magic) if 14 <= size <= len(data) - at - LOG_OVERHEAD else None
        if parts is None or attributes & 7:
            return problem or _bad_record(batch, records, "lengths"), records, nulls
        if problem is None:
            problem = _inner_problem(batch, records, data[at:end], (magic, crc, offset, last))
        last = offset
        nulls += parts[1] < 0
        records += 1
        at = end
    if records == 0:
        return _bad_record(batch, 0, "empty"), 0, 0
    return problem, records, nulls


def _inner_problem(
    batch: RecordBatch, record: int, message: bytes, fields: tuple[int, int, int, int]
) -> Problem | None:
    magic, crc, offset, last = fields
    where: tuple[tuple[str, int | str], ...] = (("record", record),)
    if magic != batch.magic:
        return problem_of(batch, "legacy-inner", (*where, ("magic", magic)))
    if zlib.crc32(message[16:]) != crc:
        return problem_of(batch, "legacy-inner", (*where, ("stored", crc)))
    if offset <= last:
        return _bad_record(batch, record, "offset")
    return None
