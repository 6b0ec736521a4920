"""Retention would go by file times, and these were lost in a copy."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where

from .context import PartitionContext
from .evidence import in_flight, lacks_time_index
from .manual import INFO, NONE, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("K18", INFO, "the time index is missing and the files' times are newer than their records", NONE),
)
PAGE = Page(
    meaning="""
        Without a time index a broker takes the modification time of the `.log` for the time of its newest
        record. A copy without `-p` or a restore gives every file the time of the copy.""",
    broker="""
        It keeps the segment until retention.ms after the copy, or deletes it at once if the copy made it look
        old. "... based on the last modified time of the segment".""",
    advice="Rebuild the indexes; then the records' own time counts again.",
    kafka="LogSegment.largestTimestamp.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT
applies = lacks_time_index

DAY_MS = 86_400_000


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """Only where the file's time decides: no time index that a start would make anew with `.index`."""
    if view.file("timeindex") is not None or view.file("index") is None or in_flight(view):
        return
    newest, modified = view.scan.max_timestamp, view.log.stat().mtime_ns // 1_000_000
    if 0 <= newest < modified - DAY_MS:
        days = (modified - newest) // DAY_MS
        message = f"without a time index the file's time counts: {days} days after the newest record"
        yield context.finding("K18", message, Where(view.log.name), remedy=context.repair())
