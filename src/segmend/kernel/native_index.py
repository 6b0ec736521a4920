"""The entries of one index on their way to the C engine and back."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import Final

from segmend.kernel.indexes import (
    AGREES,
    OFFSET_ENTRY,
    Entry,
    Verdict,
    counts_of,
    offset_fault,
    summarize,
    time_fault,
)
from segmend.kernel.types import MAX_MISMATCHES, IndexMatch

VERDICTS: Final = (
    "", "", "?", "position-past-end", "not-a-boundary", "offset-behind",
    "offset-past-end", "no-batch", "timestamp-differs", "timestamp-exceeded",
)  # fmt: skip
"""The numbers of kernel.h."""

_WITHOUT_NUMBER: Final = frozenset(("?", "not-a-boundary"))
_NOTABLE: Final = re.compile(rb"[\x02-\x09]")
_SOUND: Final = re.compile(rb"\0")
_FAULTY: Final = re.compile(rb"\x01")
_I64: Final = Struct("q")


class NativeIndex:
    """Entries in the order of the file, as C wants them, and room for its verdicts.

    An index whose entries are all in order goes down as it is. If some are wrong by
    themselves, the rest goes down sorted; of millions of those only the first are named.
    """

    def __init__(self, library: ctypes.CDLL, layout: Struct, data: bytes, base: int) -> None:
        self._base = base
        self._layout = layout
        self._entries = data
        self._of_offsets = layout is OFFSET_ENTRY
        self._counts = _counts(library, data, layout.size)
        self._faults = bytearray(self._counts[0])
        mark = library.segmend_offset_faults if self._of_offsets else library.segmend_time_faults
        self._faulty = mark(data, len(self._faults), _address(self._faults)) if self._faults else 0
        self._order: list[int] | None = None
        if self._faulty:
            sound = (place.start() for place in _SOUND.finditer(self._faults))
            self._order = sorted(sound, key=lambda n: self.entry(n)[not self._of_offsets])
            size = layout.size
            data = b"".join(data[n * size : (n + 1) * size] for n in self._order)
        self.count = self._counts[0] - self._faulty
        self._sound = data
        self._verdicts = bytearray(self.count)
        self._expected = bytearray(self.count * _I64.size)

    @classmethod
    def of(
        cls, library: ctypes.CDLL, layout: Struct, data: bytes | memoryview | None, base: int
    ) -> NativeIndex | None:
        """For the bytes of an index with such entries."""
        return None if data is None else cls(library, layout, bytes(data), base)

    def fields(self) -> Iterator[tuple[str, int]]:
        """The fields of `index_t`; this object must outlive their use."""
        yield "entries", ctypes.cast(ctypes.c_char_p(self._sound), ctypes.c_void_p).value or 0
        yield "verdicts", _address(self._verdicts)
        yield "expected", _address(self._expected)
        yield "count", self.count

    def match(self) -> IndexMatch:
        """What the walk found, after `segmend_finish`."""
        entries = _Entries(self)
        fault = offset_fault if self._of_offsets else time_fault
        verdicts: dict[int, Verdict] = {}
        for place in islice(_FAULTY.finditer(self._faults), MAX_MISMATCHES):
            verdicts[place.start()] = fault(entries, place.start(), self._base) or AGREES
        unlisted = self._faulty - len(verdicts)
        for place in _NOTABLE.finditer(self._verdicts):
            verdicts[self._number(place.start())] = self._verdict(place.start())
        return summarize(self._counts, entries, verdicts, positions=self._of_offsets, unlisted=unlisted)

    def _number(self, n: int) -> int:
        return n if self._order is None else self._order[n]

    def _verdict(self, n: int) -> Verdict:
        word = VERDICTS[self._verdicts[n]]
        return word, None if word in _WITHOUT_NUMBER else _I64.unpack_from(self._expected, n * _I64.size)[0]

    def __len__(self) -> int:
        return self._counts[0]

    def entry(self, n: int) -> Entry:
        """The one with this number in the file."""
        first, second = self._layout.unpack_from(self._entries, n * self._layout.size)
        return (second, self._base + first) if self._of_offsets else (first, self._base + second)


def _address(room: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(room))


def _counts(library: ctypes.CDLL, data: bytes, size: int) -> tuple[int, int, int]:
    used = library.segmend_used_size(data, len(data) // size * size)
    return counts_of(used, len(data), size)


class _Entries(Sequence[Entry]):
    """The entries of an index, read when asked for."""

    def __init__(self, index: NativeIndex) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, n: int) -> Entry:  # type: ignore[override]  # no slices
        return self._index.entry(n)
