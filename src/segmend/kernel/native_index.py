"""The entries of one index on their way to the C engine and back."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Final

from segmend.kernel.indexes import (
    OFFSET_ENTRY,
    Entry,
    Prepared,
    Verdict,
    counts_of,
    prepare_offsets,
    prepare_times,
    summarize,
)
from segmend.kernel.types import IndexMatch

VERDICTS: Final = (
    "", "", "?", "position-past-end", "not-a-boundary", "offset-behind",
    "offset-past-end", "no-batch", "timestamp-differs", "timestamp-exceeded",
)  # fmt: skip
"""The numbers of kernel.h."""

_WITHOUT_NUMBER: Final = frozenset(("?", "not-a-boundary"))
_NOTABLE: Final = re.compile(rb"[\x02-\x09]")
_I64: Final = Struct("q")

Prepare = Callable[[bytes, int, int], Prepared]


class NativeIndex:
    """Entries in the order of the file, as C wants them, and room for its verdicts.

    An index whose entries are all in order goes down as it is. If some are wrong by
    themselves, they are judged here, and the rest goes down sorted.
    """

    def __init__(
        self, data: bytes, base: int, layout: Struct, counts: tuple[int, int, int], prepare: Prepare | None
    ) -> None:
        self._counts = counts
        self._base = base
        self._layout = layout
        self._prepared = None if prepare is None else prepare(data, counts[0], base)
        if self._prepared is not None:
            data = b"".join(self._pack(self._prepared.entries[n]) for n in self._prepared.order)
            self.count = len(self._prepared.order)
        else:
            self.count = self._counts[0]
        self._data = ctypes.c_char_p(data)
        self._entries = data
        self._verdicts = bytearray(self.count)
        self._expected = bytearray(self.count * _I64.size)

    @classmethod
    def of(
        cls, library: Any, layout: Struct, data: bytes | memoryview | None, base: int
    ) -> NativeIndex | None:
        """For the bytes of an index with such entries."""
        if data is None:
            return None
        data, of_offsets = bytes(data), layout is OFFSET_ENTRY
        counts = _counts(library, data, layout.size)
        in_order = library.segmend_offsets_in_order if of_offsets else library.segmend_times_in_order
        prepare = prepare_offsets if of_offsets else prepare_times
        return cls(data, base, layout, counts, None if in_order(data, counts[0]) else prepare)

    def fields(self) -> Iterator[tuple[str, int]]:
        """The fields of `index_t`; this object must outlive their use."""
        yield "entries", ctypes.cast(self._data, ctypes.c_void_p).value or 0
        yield "verdicts", ctypes.addressof(ctypes.c_char.from_buffer(self._verdicts))
        yield "expected", ctypes.addressof(ctypes.c_char.from_buffer(self._expected))
        yield "count", self.count

    def match(self) -> IndexMatch:
        """What the walk found, after `segmend_finish`."""
        verdicts: dict[int, Verdict] = {} if self._prepared is None else dict(self._prepared.faults)
        for place in _NOTABLE.finditer(self._verdicts):
            verdicts[self._number(place.start())] = self._verdict(place.start())
        entries = _Entries(self) if self._prepared is None else self._prepared.entries
        return summarize(self._counts, entries, verdicts, positions=self._layout is OFFSET_ENTRY)

    def _number(self, n: int) -> int:
        return n if self._prepared is None else self._prepared.order[n]

    def _verdict(self, n: int) -> Verdict:
        word = VERDICTS[self._verdicts[n]]
        return word, None if word in _WITHOUT_NUMBER else _I64.unpack_from(self._expected, n * _I64.size)[0]

    def _pack(self, entry: Entry) -> bytes:
        first, offset = entry
        swapped = self._layout is OFFSET_ENTRY
        return self._layout.pack(*((offset - self._base, first) if swapped else (first, offset - self._base)))

    def entry(self, n: int) -> Entry:
        first, second = self._layout.unpack_from(self._entries, n * self._layout.size)
        return (second, self._base + first) if self._layout is OFFSET_ENTRY else (first, self._base + second)


def _counts(library: ctypes.CDLL, data: bytes, size: int) -> tuple[int, int, int]:
    used = library.segmend_used_size(data, len(data) // size * size)
    return counts_of(used, len(data), size)


class _Entries(Sequence[Entry]):
    """The entries of an index, read when asked for."""

    def __init__(self, index: NativeIndex) -> None:
        self._index = index

    def __len__(self) -> int:
        return self._index.count

    def __getitem__(self, n: Any) -> Any:
        return self._index.entry(n)
