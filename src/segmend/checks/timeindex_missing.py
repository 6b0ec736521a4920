"""A segment has no time index."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.deletions import BY_MTIME, going
from segmend.findings import Finding, Where
from segmend.kernel.scan import iter_batches

from .context import PartitionContext
from .evidence import in_flight, lacks_time_index
from .manual import LOSES, WARNING, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code(
        "I13", WARNING, "the .timeindex file of a segment is missing", LOSES, derived=True, explains=("K18",)
    ),
)
PAGE = Page(
    meaning="""
        It was deleted. (Before 0.10.1 there are none, which matters only to messages that have timestamps:
        those of magic 0, which brokers before 0.10 wrote, do not. Where `.index` is missing as well, I01
        tells of both.)""",
    broker="""
        It creates an empty one and never fills it, unless the start recovers the segment.""",
    more="""
        Retention then goes by the modification time of the log: a copied log is kept too long, an old one
        deleted at once ("... based on the last modified time of the segment"). Lookups by time find nothing
        here.""",
    advice="""
        Rebuild it from the log before the start, or delete `.index`, too: then the start rebuilds both.""",
    kafka="LogSegment.sanityCheck, LogSegment.largestTimestamp, KIP-33.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP
applies = lacks_time_index


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """From names, and of the logs that lack one from the first batch."""
    name = view.named("timeindex")
    if view.file("index") is None or name in context.partition.entries or in_flight(view):
        return
    if not context.partition.layout.timeindex and _has_no_times(view, context):
        return
    yield context.finding(
        "I13",
        "the segment has no time index; retention will go by the modification time of the log",
        Where(name, offset=view.base_offset),
        broker_says=going(BY_MTIME, context.release, "..."),
        remedy=context.repair(),
    )


def _has_no_times(view: SegmentView, context: PartitionContext) -> bool:
    """Whether a broker before 0.10 left it: without a record, or with none that has a timestamp."""
    first = next(iter_batches(view.reader), None)
    if first is None:
        return view.size == 0
    return first.magic == 0 and (context.level == Level.STARTUP or view.scan.max_timestamp < 0)
