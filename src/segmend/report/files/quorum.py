"""`quorum-state`: a KRaft voter's vote and leader."""

from __future__ import annotations

from dataclasses import fields

from segmend.formats import quorum_state
from segmend.report.fields import ShownField, short
from segmend.report.files import Rows

KIND = "quorum-state"
NAMES = (quorum_state.FILE_NAME,)
FIELDS = (ShownField("key", "FIELD", right=False), ShownField("value", "VALUE", short, right=False))


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001
    """One row a field that is there."""
    state, damages = quorum_state.parse(data)
    if state is None:
        return (), damages
    pairs = ((field.name, getattr(state, field.name)) for field in fields(state))
    return [
        {"type": "field", "key": key, "value": value} for key, value in pairs if value is not None
    ], damages
