"""A segment has no offset index."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import NO_INDEX
from segmend.broker.sanity import REBUILDS_MISSING_INDEX
from segmend.findings import Finding, Where

from .context import PartitionContext
from .evidence import in_flight
from .manual import SLOW, WARNING, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("I01", WARNING, "the .index file of a segment is missing", SLOW, explains_beside=("I17",)),)
PAGE = Page(
    meaning="It was deleted, by hand or by a crash in the middle of a replacement.",
    broker="""
        Every start reads the whole segment, checks each CRC and rebuilds all three indexes: "Could not find
        offset index file corresponding to log file F, recovering segment and rebuilding index files...".""",
    more="If a batch is bad (L06), it cuts the segment there.",
    advice="""
        Run `segmend check --deep` on the partition; if the log is sound, the start is merely slower, or the
        index can be rebuilt before it.""",
    kafka="LogSegment.sanityCheck, LogLoader.loadSegmentFiles.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP


def applies(context: PartitionContext) -> bool:
    names = context.partition.layout
    return not names.logs.keys() <= names.index.keys()


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """From names alone; a broker that rolls a segment makes the log first, then its indexes."""
    if in_flight(view):
        return
    if view.file("index") is None and view.named("index") not in context.partition.entries:
        looked_for = REBUILDS_MISSING_INDEX.of(context.release)
        rebuilt = looked_for or context.dir.recovers(context.partition, view.base_offset)
        what = "rescans it and rebuilds its indexes" if rebuilt else "makes an empty one and never fills it"
        yield context.finding(
            "I01",
            f"the segment has no offset index; the next start {what}",
            Where(view.named("index"), offset=view.base_offset),
            broker_says=NO_INDEX.say(context.release, view.segment.name) if looked_for else None,
            remedy=context.repair(),
        )
