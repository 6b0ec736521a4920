"""The way past damage: where does the next sound batch begin?

A broker never looks: its recovery cuts there, its reads fail there. The rule: slide on byte
by byte, and take a place for a batch only if its offset, size and magic are possible and its
checksum is right.
"""

from __future__ import annotations

import zlib

from segmend.crc32c import crc32c
from segmend.formats.batch import (
    CRC_START_LEGACY,
    CRC_START_V2,
    HEADER_SIZE_UP_TO_MAGIC,
    HEADER_SIZE_V2,
    LOG_OVERHEAD,
    PREFIX,
    header_size,
)
from segmend.formats.byte_columns import nonzero_size
from segmend.formats.java_number import INT_MAX, LONG_MAX
from segmend.kernel.types import WINDOW
from segmend.kernel.walker import Engine, Sought
from segmend.kernel.window import Window


class Salvage:
    """Looks for batches in one file; `base_offset` bounds the offsets that are possible.

    Checksums of candidates may cost only so many bytes in total (a small multiple of the
    file), so that a file made of nothing but promising headers cannot hold us for hours.
    """

    def __init__(self, engine: Engine, window: Window, base_offset: int) -> None:
        self._engine = engine
        self._window = window
        self._high = min(max(base_offset, 0) + INT_MAX, LONG_MAX)
        self._budget = 64 * WINDOW + 4 * window.end
        self.gave_up = False

    @property
    def end(self) -> int:
        """Readable size of the file."""
        return self._window.end

    def charge(self, size: int) -> None:
        """Count `size` bytes that were read, or will be, only because of damage."""
        self._budget -= size
        self.gave_up = self._budget < 0

    def _at(self, position: int, need: int) -> memoryview:
        before = self._window.start
        view = self._window.at(position, need)
        if self._window.start != before:
            self.charge(len(view) - HEADER_SIZE_UP_TO_MAGIC)
        return view

    def only_zeros_from(self, position: int) -> bool:
        """Whether nothing but zero bytes follows, to the end of the file."""
        here = self._window.view[max(position - self._window.start, 0) :]
        if position >= self._window.start and nonzero_size(here):
            return False
        for view in self._window.written(position):
            self.charge(len(view))
            if nonzero_size(view):
                return False
        return True

    def may_begin(self, position: int, low: int) -> bool:
        """Whether a batch of an offset from `low`, or the end of the data, is plausible at `position`."""
        end = self._window.end
        if end - position <= HEADER_SIZE_UP_TO_MAGIC:
            return position <= end
        head = self._at(position, HEADER_SIZE_UP_TO_MAGIC)
        if len(head) < HEADER_SIZE_UP_TO_MAGIC:
            return False
        offset, size, _, magic = PREFIX.unpack_from(head)
        if 0 <= magic <= 2 and low <= offset <= self._high and size >= header_size(magic) - LOG_OVERHEAD:
            return True
        return bytes(head[:HEADER_SIZE_UP_TO_MAGIC]) == bytes(17) and self.only_zeros_from(position)

    def next_batch(self, position: int, stop: int, low: int) -> int | None:
        """The first position from `position` and before `stop` of a batch whose checksum is right."""
        low = max(low, 0)
        if position < stop and self.only_zeros_from(position):
            return None
        while position < stop and low <= self._high:
            view = self._at(position, HEADER_SIZE_UP_TO_MAGIC)
            if len(view) < HEADER_SIZE_UP_TO_MAGIC or self.gave_up:
                return None
            candidate = self._engine.find_candidate(
                view, 0, Sought(low, self._high, self._window.end - position)
            )
            if candidate < 0:
                position += len(view) - HEADER_SIZE_UP_TO_MAGIC + 1
                continue
            position += candidate
            if position >= stop:
                return None
            if self.checksum_is_right(position):
                return position
            position += 1
        return None

    def checksum_is_right(self, position: int) -> bool:
        """Whether the batch with a possible header at `position` has the checksum it says."""
        head = self._window.at(position, HEADER_SIZE_UP_TO_MAGIC + 4)
        _, size, legacy_crc, magic = PREFIX.unpack_from(head)
        stored = int.from_bytes(head[17:21], "big") if magic >= 2 else legacy_crc & 0xFFFFFFFF
        self.charge(size + (0 if len(head) >= size + LOG_OVERHEAD else WINDOW))
        return not self.gave_up and self.checksum(position, size + LOG_OVERHEAD, magic) == stored

    def is_sound_as_v2(self, position: int, size: int) -> bool:
        """Whether the batch of `size` bytes at `position` would be right if its magic were 2."""
        self.charge(size)
        head = self._window.at(position, CRC_START_V2)
        if self.gave_up or size < HEADER_SIZE_V2 or len(head) < CRC_START_V2:
            return False
        stored = int.from_bytes(head[17:21], "big")
        return self.checksum(position, size, 2) == stored

    def checksum(self, position: int, size: int, magic: int) -> int:
        """The checksum of the `size` bytes of one batch, read piece by piece if they are many."""
        start = position + (CRC_START_V2 if magic >= 2 else CRC_START_LEGACY)
        end = position + size
        part = self._window.view[start - self._window.start : end - self._window.start]
        pieces = [part] if len(part) == end - start else self._window.pieces(start, end)
        value = 0
        for piece in pieces:
            value = crc32c(piece, value) if magic >= 2 else zlib.crc32(piece, value)
        return value
