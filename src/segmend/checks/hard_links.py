"""A segment's file has a second name on the disk."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where

from .context import PartitionContext
from .manual import INFO, NONE, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("K17", INFO, "a `.log` with more than one hard link: a backup that is none", NONE, ignored=True),
)
PAGE = Page(
    meaning="""
        A backup made with hard links (`cp -al`) shares its bytes with the log. A broker appends and truncates
        in place, so the "backup" of an active segment changes too.""",
    broker="Nothing special. When it truncates the log, the other name sees the same loss.",
    advice="""
        Nothing on the broker's side. Copy the active segments of such a backup for real before you rely on
        it, and before any surgery.""",
    kafka="FileRecords.truncateTo, LogSegment.append.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """Only the active segment: sealed ones do not change any more, so a link to them is a backup."""
    if view.is_active and (links := view.log.stat().nlink) > 1:
        message = f"the active segment has {links} hard links; a backup made that way changes with it"
        yield context.finding("K17", message, Where(view.log.name))
