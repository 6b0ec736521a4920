"""`.timeindex`: timestamp to offset."""

from __future__ import annotations

from itertools import chain

from segmend.formats import time_index
from segmend.report import text
from segmend.report.fields import ShownField, preallocated
from segmend.report.files import Rows

KIND = "timeindex"
NAMES = (".timeindex",)
FIELDS = (
    ShownField("at", "AT", style="dim"),
    ShownField("timestamp", "TIMESTAMP"),
    ShownField("timestamp", "UTC", lambda ms: text.when(ms, precise=True)),
    ShownField("offset", "OFFSET"),
)


def rows(data: bytes, base_offset: int) -> Rows:
    """Entries without the zero tail; `at` is the entry's own byte."""
    index, damages = time_index.parse(data)
    size = time_index.ENTRY_SIZE
    entries = (
        {
            "type": "timeindex-entry",
            "at": i * size,
            "timestamp": entry.timestamp,
            "offset": base_offset + entry.relative_offset,
        }
        for i, entry in enumerate(index)
    )
    return chain(entries, preallocated(len(index) * size, index.zero_tail)), damages
