"""A segment's file has a second name on the disk.

Codes
    K17  a `.log` with more than one hard link: a backup that is none

What it means
    A backup made with hard links (`cp -al`) shares its bytes with the log. A broker
    appends and truncates in place, so the "backup" of an active segment changes too.
What the broker does
    Nothing special. When it truncates the log, the other name sees the same loss.
What to do
    Nothing on the broker's side. Copy the active segments of such a backup for real
    before you rely on it, and before any surgery.
Kafka
    FileRecords.truncateTo, LogSegment.append.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity

from .context import PartitionContext
from .levels import Level, Scope
from .segment_view import SegmentView

CODES = {"K17": Severity.INFO}
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """Only the active segment: sealed ones do not change any more, so a link to them is a backup."""
    if view.is_active and (links := view.log.stat().nlink) > 1:
        message = f"the active segment has {links} hard links; a backup made that way changes with it"
        yield context.finding("K17", message, file=view.log.name)
