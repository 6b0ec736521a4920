"""`.kafka_cleanshutdown`: the marker of a clean stop."""

from __future__ import annotations

from segmend.formats import clean_shutdown
from segmend.report.fields import ShownField
from segmend.report.files import Rows

KIND = "clean-shutdown"
NAMES = (clean_shutdown.FILE_NAME,)
FIELDS = (ShownField("version", "VERSION"), ShownField("broker_epoch", "BROKER EPOCH"))


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001
    """One row; both cells are `-` for the empty file of 3.6 and before."""
    value, damages = clean_shutdown.parse(data)
    row = {"type": "clean-shutdown", "version": value.version, "broker_epoch": value.broker_epoch}
    return [row], damages
