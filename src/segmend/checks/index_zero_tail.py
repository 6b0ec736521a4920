"""An offset index still has the zeros it was preallocated with."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.formats.offset_index import ENTRY_SIZE
from segmend.wording import plural

from .context import PartitionContext
from .evidence import healed_at_start, in_flight
from .manual import SLOW, WARNING, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("I12", WARNING, "the .index file ends in zeros and the next start does not trim it", SLOW,
         derived=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker preallocates the index of the active segment and trims it when it rolls the segment or stops.
        After a crash the zeros of the active segment are normal, and so they are while the broker runs; in a
        rolled segment, or beside a clean shutdown marker, they say that the roll or the marker came from
        another time.""",
    broker="""
        It takes the zeros for entries: the index counts as full, so that the segment is rolled at once, and
        lookups may land in the zeros and scan the segment from its start.""",
    advice="""
        Trim the index after its last entry, or rebuild it. Beside a clean marker: look at I14, which deletes
        data.""",
    kafka="AbstractIndex.trimToValidSize, LogSegment.onBecomeInactiveSegment.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """The zeros of an active segment that will be recovered are as they should be."""
    match = view.scan.offset_index
    if match is None or not match.padding or in_flight(view) or (view.is_active and healed_at_start(view)):
        return
    yield context.finding(
        "I12",
        f"{plural(match.padding, 'zero entry', 'zero entries')} after the last one, as preallocated",
        Where(view.named("index"), position=match.entries * ENTRY_SIZE, offset=view.base_offset),
        remedy=context.repair(),
        zero_entries=match.padding,
    )
