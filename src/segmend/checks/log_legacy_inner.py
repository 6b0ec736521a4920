"""A compressed message of the old formats holds inner messages that do not quite fit it."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where

from .context import PartitionContext
from .evidence import first, problems
from .manual import INFO, NONE, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L21", INFO, "an inner message has another magic than its wrapper, or a wrong CRC of its own", NONE),
)
PAGE = Page(
    meaning="""
        Brokers before 0.10.2 could wrap messages of one format in a wrapper of another (KAFKA-4298). The
        wrapper's own CRC is right.""",
    broker="It tolerates this, and its cleaner writes such messages anew.",
    advice="Nothing.",
    kafka="AbstractLegacyRecordBatch.DeepRecordsIterator, LogCleaner, KAFKA-4298.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEEP
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for problem in first(problems(view.scan, "legacy-inner")):
        told = ", ".join(f"{name} {value}" for name, value in problem.detail)
        yield context.finding(
            "L21",
            f"an inner message does not fit its wrapper ({told})",
            Where(view.segment.name, position=problem.position, offset=problem.offset),
            detail=problem.facts,
        )
