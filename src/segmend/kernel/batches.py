"""Batch headers one after the other: as a broker iterates, or past damage as well."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from segmend.crc32c import crc32c
from segmend.formats.batch import (
    CRC_START_LEGACY,
    CRC_START_V2,
    HEADER_SIZE_UP_TO_MAGIC,
    HEADER_SIZE_V2,
    LOG_OVERHEAD,
    MIN_SIZE,
    PREFIX,
    RecordBatch,
    header_size,
    read_header,
)
from segmend.kernel.engine import ENGINE
from segmend.kernel.salvage import Salvage
from segmend.kernel.types import WINDOW, BrokerEnd, Reader
from segmend.kernel.window import Window


def iter_batches(
    reader: Reader,
    *,
    start: int = 0,
    stop: int | None = None,
    crc: bool = False,
    resync: bool = False,
    base_offset: int = 0,
    window: int = WINDOW,
) -> Iterator[RecordBatch]:
    """The headers of the batches that begin in [start, stop), in bytes of the file.

    Stops quietly where `FileLogInputStream` would end or fail, and with `crc` at the first
    wrong checksum; with `resync` it goes on at the next sound batch instead. `base_offset`
    bounds what a batch after damage may be. The magic byte is not validated, as there.
    `window` is about the bytes of one read.
    """
    with Window(reader, size=window) as opened:
        stop = opened.end if stop is None else min(stop, opened.end)
        salvage = Salvage(ENGINE, opened, base_offset)
        position, last = start, base_offset - 1
        while position < stop:
            batch = _batch_at(opened, position)
            if batch is not None and (not crc or _is_sound(batch, salvage)):
                assert batch.end > position, "a batch is no bytes: this walk would not end"
                yield batch
                position, last = batch.end, max(last, batch.last_offset)
                continue
            salvage.charge(0 if batch is None else batch.size)
            sound = salvage.next_batch(position + 1, stop, last + 1) if resync else None
            if sound is None:
                return
            assert position < sound < stop
            position = sound


def _batch_at(window: Window, position: int) -> RecordBatch | None:
    """The header at `position`, if a whole batch can be there."""
    head = window.at(position, min(HEADER_SIZE_V2, window.end - position))
    if window.end - position <= HEADER_SIZE_UP_TO_MAGIC or len(head) <= HEADER_SIZE_UP_TO_MAGIC:
        return None
    _, size, _, magic = PREFIX.unpack_from(head)
    if size < MIN_SIZE or size > window.end - position - LOG_OVERHEAD or len(head) < header_size(magic):
        return None
    return read_header(head, 0, position)


def _is_sound(batch: RecordBatch, salvage: Salvage) -> bool:
    fits = batch.size >= header_size(batch.magic) and 0 <= batch.magic <= 2
    return fits and salvage.checksum(batch.position, batch.size, batch.magic) == batch.crc


def checksum(reader: Reader, batch: RecordBatch) -> int:
    """The checksum of a whole batch, computed piece by piece."""
    compute, begin = (crc32c, CRC_START_V2) if batch.magic >= 2 else (zlib.crc32, CRC_START_LEGACY)
    value = 0
    with Window(reader) as window:
        for piece in window.pieces(batch.position + begin, batch.end):
            value = compute(piece, value)
    return value


def next_offset_from(reader: Reader, position: int, base_offset: int) -> BrokerEnd:
    """Where a broker that starts to read at `position` would place the log end offset.

    Class LogSegment.readNextOffset: it starts at the last entry of the offset index, and
    iterates as FileLogInputStream does.
    """
    with Window(reader) as window:
        batches, next_offset = 0, base_offset
        while (batch := _batch_at(window, position)) is not None:
            batches += 1
            next_offset = batch.last_offset + 1
            position = batch.end
        failure, size = _failure(window, position)
        return BrokerEnd(
            next_offset=next_offset, position=position, batches=batches, failure=failure, found_size=size,
            ignored=max(window.end - position, 0) if failure is None else 0,
        )  # fmt: skip


def _failure(window: Window, position: int) -> tuple[str | None, int | None]:
    """Whether the iteration ends at `position` by an exception, and the size field that caused it."""
    head = window.at(position, min(HEADER_SIZE_UP_TO_MAGIC, max(window.end - position, 0)))
    if window.end - position <= HEADER_SIZE_UP_TO_MAGIC or len(head) < HEADER_SIZE_UP_TO_MAGIC:
        return None, None
    size = PREFIX.unpack_from(head)[1]
    if size < MIN_SIZE:
        return "size-too-small", size
    if size <= window.end - position - LOG_OVERHEAD:
        return "header-past-end", size
    return None, None
