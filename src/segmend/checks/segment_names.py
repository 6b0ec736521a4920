"""A segment's file name does not fit the offsets inside it."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import SPLIT_REFUSED
from segmend.findings import Finding, Where

from .context import PartitionContext
from .manual import ERROR, REFUSES, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("N05", ERROR, "the name is higher than the first offset: the segment was renamed", WRONG, REFUSES,
         explains=("I04", "I11", "I19", "I17", "C04", "C10b")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The number in the name is the base offset, and the offsets in the index files count from it. All
        batches of this segment follow each other properly, but they begin before the name says. A name that
        is lower than the first batch is normal.""",
    broker="""
        It looks up wrong places in the indexes, so reads miss. If the segment is recovered, the broker does
        not start.""",
    advice="""
        Rename the segment's files to the offset of its first batch, if no other segment holds these offsets.
    """,
    kafka="LogSegment.recover, LogLoader.splitOverflowedSegment.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """See `SegmentView.misnamed`."""
    if not view.misnamed:
        return
    yield context.finding(
        "N05",
        f"the segment's name says it begins at {view.base_offset}, but its first batch has offset "
        f"{view.scan.first_offset}",
        Where(view.segment.name, position=0, offset=view.scan.first_offset),
        broker_says=SPLIT_REFUSED.say(context.release, f"{context.partition.path}/{view.segment.name}"),
        remedy=context.look(view.segment.name),
    )
