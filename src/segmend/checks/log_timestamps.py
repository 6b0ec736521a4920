"""The largest timestamp in a batch's header is not that of its records."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where

from .context import PartitionContext
from .evidence import first, problems
from .manual import NONE, WARNING, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L22", WARNING, "maxTimestamp is not the largest timestamp of the records", NONE, explains=("I16",)),
)
PAGE = Page(
    meaning="The header was written wrong by a client or a tool; its CRC is right.",
    broker="""
        It believes the header: the time index, retention by time and lookups by time follow it.""",
    more="""
        Records are deleted too early or kept too long ("contains future timestamp(s), making it ineligible to
        be deleted").""",
    advice="Nothing can be written back without a new CRC. Mind it when retention surprises.",
    kafka="DefaultRecordBatch.maxTimestamp, UnifiedLog.deleteRetentionMsBreachedSegments.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEEP
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for problem in first(problems(view.scan, "timestamp-mismatch")):
        told = ", ".join(f"{name} {value}" for name, value in problem.detail)
        yield context.finding(
            "L22",
            f"maxTimestamp is not the largest timestamp of the records ({told})",
            Where(view.segment.name, position=problem.position + 35, offset=problem.offset),
            remedy=context.look(view.segment.name),
            detail=problem.facts,
        )
