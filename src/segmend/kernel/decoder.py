"""What an engine does to records: append those of a window to columns, stop at what it cannot."""

from __future__ import annotations

from typing import Final, Protocol

from segmend.formats.batch import RecordBatch
from segmend.kernel.columns import RecordColumns
from segmend.kernel.walker import Stop

END: Final = 0
"""Nothing is left to decode."""
MORE: Final = 1
"""`need` bytes from `position` are wanted."""
DAMAGE: Final = 2
"""There is no sound batch at `position`; `kind` says why."""
NO_MEMORY: Final = 3
FULL: Final = 4
"""The buffers are full, or if they are empty too small: `take`, and go on."""
PAYLOAD: Final = 5
"""The batch has to be decompressed by `formats.codec`: then `decode_payload`."""
LEGACY: Final = 6
"""A compressed wrapper of magic 0 or 1: nothing for an engine. Then `skip`."""
RECORDS: Final = 7
"""The records of the batch do not fit it; `kind` and `detail` say how. Then `skip`."""
CODEC: Final = 8
"""The codec of the batch does not exist. Then `skip`."""


class RecordDecoder(Protocol):
    """Decodes the records of one file in order."""

    end: int
    """Readable size of the file; lowered by the driver when the file turns out to be shorter."""

    @property
    def position(self) -> int:
        """Where the next batch begins."""

    @property
    def rows(self) -> int:
        """Records in the buffers."""

    def decode(self, window: memoryview, window_start: int) -> Stop:
        """Append the records of `window`, whose first byte is byte `window_start` of the file."""

    def decode_payload(self, batch: RecordBatch, payload: bytes) -> Stop:
        """Append the records of the batch at `position`; END if it went well, FULL or RECORDS."""

    def skip(self, end: int) -> None:
        """Go on at `end`."""

    def take(self) -> RecordColumns | None:
        """The records so far, None if there are none (then the next buffers are larger)."""
