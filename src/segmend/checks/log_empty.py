"""A rolled segment has an empty log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.cleanup_policy import UNLESS_COMPACTED
from segmend.findings import Finding, Severity, Where
from segmend.logdir.index_file import has_entries, is_bare

from .context import PartitionContext
from .evidence import compacted
from .manual import ERROR, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("L24", ERROR, "the log of a segment that is not the last one has 0 bytes", WRONG),)
PAGE = Page(
    meaning="""
        A segment is rolled only when there is something in it, so its batches are gone: the file was cut, or
        its length was lost in a crash. In a compacted partition the cleaner may leave such a segment; there
        it counts only if one of its indexes has entries. Where nothing here tells whether the topic is
        compacted (with ZooKeeper, the cleaner-offset-checkpoint lost) and none has any, it is a warning.""",
    broker="""
        It accepts the segment. Readers go on with the next one; the offsets are missing without a word.""",
    advice="""
        Take the segment from another replica, or move this directory away and let it replicate.""",
    kafka="LogSegment.recover, UnifiedLog.read.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    if view.next_base is None or view.size:
        return
    if compacted(context) and not has_entries(view.segment.index, view.segment.timeindex):
        return
    missing = f"offsets {view.base_offset} to {view.next_base - 1} are missing"
    if context.broker_dirs.metadata is None and is_bare(view.segment.index, view.segment.timeindex):
        missing += UNLESS_COMPACTED
        yield context.finding(
            "L24", f"the log is empty; {missing}", Where(view.segment.name, offset=view.base_offset),
            severity=Severity.WARNING, remedy=context.look(),
        )  # fmt: skip
        return
    yield context.finding(
        "L24",
        f"the log is empty; {missing}",
        Where(view.segment.name, offset=view.base_offset),
        remedy=context.graft(whole=True),
    )
