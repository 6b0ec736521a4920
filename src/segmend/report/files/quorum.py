"""`quorum-state`: a KRaft voter's vote and leader."""

from __future__ import annotations

from segmend.formats import quorum_state
from segmend.frozen import as_dict
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
    found = as_dict(state)
    return [
        {"type": "field", "key": key, "value": value} for key, value in found.items() if value is not None
    ], damages
