"""The header of a record batch (magic 2) or of a log entry (magic 0 and 1).

Follows `DefaultRecordBatch`, `AbstractLegacyRecordBatch` and `FileLogInputStream`, whose
rules are kept even where they look odd: the magic byte is not validated, a value below 2
(also 0x80 and up) is taken for a legacy entry and any other for a version 2 batch.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import NamedTuple

from segmend.crc32c import crc32c
from segmend.formats.damage import Damage
from segmend.formats.java_number import INT_MAX

LOG_OVERHEAD = 12
HEADER_SIZE_UP_TO_MAGIC = 17
MAGIC_POSITION = 16
MIN_SIZE = 14
"""The smallest size field the broker accepts (`LegacyRecord.RECORD_OVERHEAD_V0`)."""
HEADER_SIZE_V0, HEADER_SIZE_V1, HEADER_SIZE_V2 = 26, 34, 61
CRC_START_V2 = 21
CRC_START_LEGACY = 16
MAX_CODEC = 4

NO_TIMESTAMP_TYPE, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

CODEC_MASK = 0x07
SMALLEST_RECORD = 7
"""Bytes of one that has nothing."""
MOST_INFLATED = 1 << 15
"""Bytes that one compressed byte can stand for: 128 KiB in the four of a zstd block that repeats a byte."""
_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40

PREFIX = Struct(">qiib")
"""offset, size, leader epoch (v2) or CRC (legacy), magic: the same place in all versions."""
HEADER_V2 = Struct(">qiibIhiqqqhii")
_HEADER_LEGACY = Struct(">qiIbb")
_I64 = Struct(">q")


class RecordBatch(NamedTuple):
    """One batch header; for magic 0 and 1 one log entry, with -1 for what they lack.

    `position` is where it starts in its file and `size` its length in bytes with the
    12 bytes of offset and size. For a compressed legacy entry `base_offset` repeats
    `last_offset`, since the real base is known only after decompression, and
    `records_count` is -1. Timestamps are in milliseconds.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def codec(self) -> int:
        """0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd, 5-7 illegal."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> int:
        """0 create time, 1 append time, -1 where the format has no timestamps."""
        if self.magic == 0:
            return NO_TIMESTAMP_TYPE
        return LOG_APPEND_TIME if self.attributes & _APPEND_TIME else CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Holds a control record: a transaction marker, or one of KRaft's."""
        return self.magic >= 2 and bool(self.attributes & CONTROL)

    @property
    def beyond_reading(self) -> str | None:
        """Why no reader gets at its records, by its header: as `kernel.types.KINDS` has it; None if one may.

        Its offsets and its bytes may hold only so many records.
        """
        if self.codec > MAX_CODEC:
            return "bad-codec"
        return None if self.magic < 2 or 0 <= self.records_count <= self._room else "count-mismatch"

    @property
    def records_held(self) -> int:
        """How many records it has by its header, and no more than there is room for: of magic 2."""
        return max(min(self.records_count, self._room), 0)

    @property
    def _room(self) -> int:
        inflated = (self.size - HEADER_SIZE_V2) * (MOST_INFLATED if self.codec else 1)
        return min(self.last_offset_delta + 1, inflated // SMALLEST_RECORD)

    @property
    def has_delete_horizon(self) -> bool:
        """The base timestamp is a delete horizon (3.1+, KAFKA-8522)."""
        return self.magic >= 2 and bool(self.attributes & DELETE_HORIZON)

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, wrapping after 2^31-1; -1 without a producer."""
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def header_size(self) -> int:
        """Bytes before the records (v2) or before the key length (legacy)."""
        if self.magic >= 2:
            return HEADER_SIZE_V2
        return HEADER_SIZE_V0 - 8 if self.magic == 0 else HEADER_SIZE_V1 - 8

    @property
    def end(self) -> int:
        return self.position + self.size


def increment_sequence(sequence: int, increment: int) -> int:
    """`DefaultRecordBatch.incrementSequence`; -1 (no sequence) stays -1."""
    if sequence < 0:
        return -1
    return sequence + increment if sequence <= INT_MAX - increment else sequence + increment - INT_MAX - 1


def header_size(magic: int) -> int:
    """Bytes `read_header` needs of a batch of this (signed) magic."""
    if magic >= 2:
        return HEADER_SIZE_V2
    return HEADER_SIZE_V0 if magic == 0 else HEADER_SIZE_V1


def read_header(data: bytes | bytearray | memoryview, at: int = 0, position: int = 0) -> RecordBatch:
    """The header at `data[at:]`, with `position` as its place in the file.

    The caller has seen to it that `header_size(magic)` bytes are there; `struct.error`
    otherwise. `parse` is the careful form.
    """
    if not 2 <= data[at + MAGIC_POSITION] <= 0x7F:
        return _read_legacy(data, at, position)
    (base, size, epoch, magic, crc, attributes, delta, base_time, max_time, producer, producer_epoch,
     sequence, count) = HEADER_V2.unpack_from(data, at)  # fmt: skip
    return RecordBatch(
        position, size + LOG_OVERHEAD, base, base + delta, epoch, magic, crc, attributes & 0xFFFF, delta,
        base_time, max_time, producer, producer_epoch, sequence, count,
    )  # fmt: skip


def _read_legacy(data: bytes | bytearray | memoryview, at: int, position: int) -> RecordBatch:
    offset, size, crc, magic, attributes = _HEADER_LEGACY.unpack_from(data, at)
    timestamp = -1 if magic == 0 else _I64.unpack_from(data, at + 18)[0]
    count = -1 if attributes & CODEC_MASK else 1
    return RecordBatch(
        position, size + LOG_OVERHEAD, offset, offset, -1, magic, crc, attributes & 0xFF, 0,
        timestamp, timestamp, -1, -1, -1, count,
    )  # fmt: skip


def render_header(batch: RecordBatch) -> bytes:
    """The header's bytes again: 61 for version 2, up to the key length for legacy entries."""
    if batch.magic >= 2:
        return HEADER_V2.pack(
            batch.base_offset, batch.size - LOG_OVERHEAD, batch.partition_leader_epoch, batch.magic,
            batch.crc, _signed16(batch.attributes), batch.last_offset_delta, batch.base_timestamp,
            batch.max_timestamp, batch.producer_id, batch.producer_epoch, batch.base_sequence,
            batch.records_count,
        )  # fmt: skip
    attributes = batch.attributes - 256 if batch.attributes > 127 else batch.attributes
    head = _HEADER_LEGACY.pack(
        batch.last_offset, batch.size - LOG_OVERHEAD, batch.crc, batch.magic, attributes
    )
    return head if batch.magic == 0 else head + _I64.pack(batch.max_timestamp)


def _signed16(number: int) -> int:
    return number - 0x10000 if number > 0x7FFF else number


def compute_crc(data: bytes | bytearray | memoryview, magic: int) -> int:
    """The checksum of one whole batch: CRC-32C from byte 21 for v2, CRC-32 from byte 16 before."""
    view = memoryview(data)
    if magic >= 2:
        return crc32c(view[CRC_START_V2:])
    return zlib.crc32(view[CRC_START_LEGACY:])


def parse(data: bytes, position: int = 0) -> tuple[RecordBatch | None, tuple[Damage, ...]]:
    """The header of the batch that starts `data`, checked against the bytes that are there.

    Damage kinds: `truncated` (fewer bytes than a header, or than the size field says),
    `size-too-small`, `bad-magic`, `bad-codec`, `bad-crc`. The checksum is looked at only
    when the whole batch is there. `position` is where `data` starts in its file.
    """
    if len(data) < HEADER_SIZE_UP_TO_MAGIC:
        return None, (Damage("truncated", 0, f"{len(data)} bytes are less than a batch header"),)
    _, size, _, magic = PREFIX.unpack_from(data)
    if size < max(MIN_SIZE, header_size(magic) - LOG_OVERHEAD):
        return None, (
            Damage("size-too-small", 8, f"size {size} is smaller than the header of magic {magic}"),
        )
    if len(data) < header_size(magic):
        return None, (Damage("truncated", 0, f"{len(data)} bytes are less than a batch header"),)
    batch = read_header(data, 0, position)
    return batch, tuple(_header_damages(batch, data))


def _header_damages(batch: RecordBatch, data: bytes) -> list[Damage]:
    damages = []
    if not 0 <= batch.magic <= 2:
        damages.append(Damage("bad-magic", MAGIC_POSITION, f"magic {batch.magic} is none of 0, 1, 2"))
    if batch.codec > MAX_CODEC:
        at = 21 if batch.magic >= 2 else 17
        damages.append(Damage("bad-codec", at, f"Unknown compression type id: {batch.codec}"))
    if len(data) < batch.size:
        damages.append(Damage("truncated", 8, f"size says {batch.size} bytes, {len(data)} are there"))
    elif (computed := compute_crc(data[: batch.size], batch.magic)) != batch.crc:
        at = 17 if batch.magic >= 2 else 12
        reason = f"Record is corrupt (stored crc = {batch.crc}, computed crc = {computed})"
        damages.append(Damage("bad-crc", at, reason))
    return damages
