"""`.index`: offset to byte position."""

from __future__ import annotations

from itertools import chain

from segmend.formats import offset_index
from segmend.report.fields import ShownField, preallocated
from segmend.report.files import Rows

KIND = "index"
NAMES = (".index",)
FIELDS = (
    ShownField("at", "AT", style="dim"),
    ShownField("offset", "OFFSET"),
    ShownField("position", "POSITION"),
)


def rows(data: bytes, base_offset: int) -> Rows:
    """Entries without the zero tail; `at` is the entry's own byte."""
    index, damages = offset_index.parse(data)
    size = offset_index.ENTRY_SIZE
    entries = (
        {
            "type": "index-entry",
            "at": i * size,
            "offset": base_offset + entry.relative_offset,
            "position": entry.position,
        }
        for i, entry in enumerate(index)
    )
    return chain(entries, preallocated(len(index) * size, index.zero_tail)), damages
