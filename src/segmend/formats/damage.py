"""Where and why bytes are not what their format says; the answer of every parser."""

from __future__ import annotations

from segmend.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Damage:
    """One located defect: `position` in bytes from the start of the parsed bytes.

    `reason` is a short sentence for people, `kind` a stable word for programs
    (`count-mismatch`, `bad-crc`, `truncated`, ...), unique within its format.
    """

    kind: str
    position: int
    reason: str
