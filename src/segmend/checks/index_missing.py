"""A segment has no offset index.

Codes
    I01  the .index file of a segment is missing

What it means
    It was deleted, by hand or by a crash in the middle of a replacement.
What the broker does
    Every start reads the whole segment, checks each CRC and rebuilds all three indexes:
    "Could not find offset index file corresponding to log file F, recovering segment and
    rebuilding index files...". If a batch is bad (L06), it cuts the segment there.
What to do
    Run `segmend check --deep` on the partition; if the log is sound, the start is merely
    slower, or the index can be rebuilt before it.
Kafka
    LogSegment.sanityCheck, LogLoader.loadSegmentFiles.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity

from .context import PartitionContext
from .evidence import in_flight
from .levels import Level, Scope
from .segment_view import SegmentView

CODES = {"I01": Severity.WARNING}
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP


def applies(context: PartitionContext) -> bool:
    """Whether any log lacks its index."""
    names = context.partition.layout
    return not names.logs.keys() <= names.index.keys()


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """From names alone; a broker that rolls a segment makes the log first, then its indexes."""
    if in_flight(view):
        return
    if view.segment.index is None and f"{view.base_offset:020d}.index" not in context.partition.entries:
        yield context.finding(
            "I01",
            "the segment has no offset index; the next start rescans it and rebuilds its indexes",
            file=f"{view.base_offset:020d}.index",
            offset=view.base_offset,
            broker_says=f"Could not find offset index file corresponding to log file {view.segment.name},"
            " recovering segment and rebuilding index files...",
            remedy=context.repair(),
        )
