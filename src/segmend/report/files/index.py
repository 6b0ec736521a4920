"""`.index`: offset to byte position."""

from __future__ import annotations

from itertools import chain

from segmend.formats import offset_index
from segmend.report.fields import Field, preallocated
from segmend.report.files import Rows

KIND = "index"
NAMES = (".index",)
FIELDS = (Field("at", "AT", style="dim"), Field("offset", "OFFSET"), Field("position", "POSITION"))


def rows(data: bytes, base_offset: int) -> Rows:
    """Entries without the zero tail; `at` is the entry's own byte."""
    index, damages = offset_index.parse(data)
    size = offset_index.ENTRY_SIZE
    found = (
        {
            "type": "index-entry",
            "at": i * size,
            "offset": base_offset + entry.relative_offset,
            "position": entry.position,
        }
        for i, entry in enumerate(index)
    )
    return chain(found, preallocated(len(index) * size, index.zero_tail)), damages
