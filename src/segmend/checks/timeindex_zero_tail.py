"""A time index still has the zeros it was preallocated with."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.deletions import BY_RECORDS, NO_TIME, going
from segmend.findings import Finding, Where
from segmend.formats.time_index import ENTRY_SIZE
from segmend.wording import plural

from .context import PartitionContext
from .evidence import healed_at_start, in_flight
from .manual import ERROR, LOSES, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("I14", ERROR, "the .timeindex file ends in zeros and the next start does not trim it", LOSES,
         derived=True, always=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        As I12: normal in the active segment of a running or killed broker, wrong in a rolled segment and
        beside a clean shutdown marker.""",
    broker="""
        It takes the last entry for the largest timestamp of the segment. That is 0, the year 1970, so
        retention by time deletes the segment some 30 seconds after the start; and as each segment looks like
        that, the whole log: "Deleting segment ... largestTime=0 ... due to retention time ..."
        (`largestRecordTimestamp` since 2.7).""",
    more="Segments that the start recovers are mended first.",
    advice="""
        Do not start the broker before the file is trimmed or rebuilt. Or remove the clean marker, which mends
        the segments from the recovery point on.""",
    kafka="TimeIndex.lastEntry, UnifiedLog.deleteRetentionMsBreachedSegments.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """The zeros of an active segment that will be recovered are as they should be."""
    match = view.scan.time_index
    if match is None or not match.padding or in_flight(view) or (view.is_active and healed_at_start(view)):
        return
    yield context.finding(
        "I14",
        f"{plural(match.padding, 'zero entry', 'zero entries')} at the end: a broker takes 1970 for the"
        " largest timestamp, and retention by time deletes the segment",
        Where(view.named("timeindex"), position=match.entries * ENTRY_SIZE, offset=view.base_offset),
        broker_says=going(BY_RECORDS, context.release, "...", segments=NO_TIME.say(context.release) or "..."),
        remedy=context.repair(),
        zero_entries=match.padding,
    )
