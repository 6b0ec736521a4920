"""The four offset checkpoints of a log dir."""

from __future__ import annotations

from segmend.formats import offset_checkpoint
from segmend.report.fields import ShownField, short
from segmend.report.files import Rows

KIND = "offset-checkpoint"
NAMES = offset_checkpoint.FILE_NAMES
FIELDS = (
    ShownField("topic", "TOPIC", short, right=False),
    ShownField("partition", "PARTITION"),
    ShownField("offset", "OFFSET"),
)


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001
    """One row a line, in file order."""
    checkpoint, damages = offset_checkpoint.parse(data)
    return ({"type": "checkpoint-entry", **entry._asdict()} for entry in checkpoint.entries), damages
