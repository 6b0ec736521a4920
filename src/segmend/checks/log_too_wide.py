"""A segment is larger than a broker can address."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import MAX_FILE_BYTES, OVERFLOW, TOO_LARGE
from segmend.findings import Finding, Severity, Where

from .context import PartitionContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope
from .offset_faults import offset_faults
from .segment_view import SegmentView

CODES = (
    Code("L23", ERROR, "a log is above 2147483647 bytes, or spans more than 2147483647 offsets", REFUSES),
)
PAGE = Page(
    meaning="""
        Compaction before 1.1.1 could merge segments that lie more than 2^31-1 offsets apart (KAFKA-6264), and
        index entries hold offsets relative to the base in 31 bits. A log of 2 GiB or more was not written by
        a broker.""",
    broker="""
        Too many bytes: it dies while loading; one before 2.1 only of a length of up to 4 GiB, and of a longer
        log it reads as many bytes as the lower 32 bits of the length say. Too many offsets: nothing, until a
        recovery, a compaction or an append touches the segment; then "Caught segment overflow error: ...
        Split segment and retry.", which works and keeps every record.""",
    advice="Split the segment at a batch boundary.",
    kafka="""
        FileRecords, LogSegmentOffsetOverflowException, UnifiedLog.splitOverflowedSegment.""",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """The length at every level; the offsets where headers are read."""
    if view.size > MAX_FILE_BYTES:
        yield context.finding(
            "L23",
            f"the log is {view.size:,} bytes long, a broker reads at most {MAX_FILE_BYTES:,}",
            Where(view.segment.name),
            broker_says=TOO_LARGE.say(context.release, "...", view.size),
            remedy=context.look(view.segment.name),
        )
    elif context.level > Level.STARTUP:
        for fault in offset_faults(view, view.scan, "L23"):
            yield context.finding(
                "L23",
                f"offset {fault.batch.last_offset} is more than {MAX_FILE_BYTES:,} above the base offset",
                Where(view.segment.name, position=fault.batch.position, offset=fault.batch.base_offset),
                broker_says=OVERFLOW.of(context.release),
                remedy=context.look(view.segment.name),
                severity=Severity.WARNING,
            )
