"""`.txnindex`: aborted transactions."""

from __future__ import annotations

from segmend.formats import txn_index
from segmend.report.fields import ShownField
from segmend.report.files import Rows

KIND = "txnindex"
NAMES = (".txnindex",)
FIELDS = (
    ShownField("at", "AT", style="dim"),
    ShownField("version", "VERSION"),
    ShownField("producer_id", "PRODUCER"),
    ShownField("first_offset", "FIRST OFFSET"),
    ShownField("last_offset", "LAST OFFSET"),
    ShownField("last_stable_offset", "LAST STABLE OFFSET"),
)


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001, offsets in it are absolute
    """One row an aborted transaction."""
    index, damages = txn_index.parse(data)
    aborted = (
        {"type": "aborted-transaction", "at": i * txn_index.ENTRY_SIZE, **entry._asdict()}
        for i, entry in enumerate(index.entries)
    )
    return aborted, damages
