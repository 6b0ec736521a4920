"""`leader-epoch-checkpoint`: where each leader epoch begins."""

from __future__ import annotations

from segmend.formats import epoch_checkpoint
from segmend.report.fields import ShownField
from segmend.report.files import Rows

KIND = "leader-epochs"
NAMES = (epoch_checkpoint.FILE_NAME,)
FIELDS = (ShownField("epoch", "EPOCH"), ShownField("start_offset", "START OFFSET"))


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001
    """One row a line, in file order."""
    checkpoint, damages = epoch_checkpoint.parse(data)
    return ({"type": "leader-epoch", **entry._asdict()} for entry in checkpoint.entries), damages
