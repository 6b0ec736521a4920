"""`.snapshot`: the producers a partition knows."""

from __future__ import annotations

from segmend.formats import producer_snapshot
from segmend.report import text
from segmend.report.fields import ShownField
from segmend.report.files import Rows

KIND = "snapshot"
NAMES = (".snapshot",)
FIELDS = (
    ShownField("at", "AT", style="dim"),
    ShownField("producer_id", "PRODUCER"),
    ShownField("producer_epoch", "EPOCH"),
    ShownField("last_sequence", "LAST SEQUENCE"),
    ShownField("last_offset", "LAST OFFSET"),
    ShownField("offset_delta", "DELTA"),
    ShownField("timestamp", "UTC", lambda ms: text.when(ms, precise=True)),
    ShownField("coordinator_epoch", "COORDINATOR"),
    ShownField(
        "current_txn_first_offset", "OPEN TRANSACTION", lambda offset: "-" if offset == -1 else str(offset)
    ),
)


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001, offsets in it are absolute
    """One row a producer."""
    snapshot, damages = producer_snapshot.parse(data)
    header, size = producer_snapshot.HEADER.size, producer_snapshot.ENTRY.size
    producers = (
        {"type": "producer", "at": header + i * size, **entry._asdict()}
        for i, entry in enumerate(snapshot.entries)
    )
    return producers, damages
