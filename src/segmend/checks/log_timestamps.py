"""The largest timestamp in a batch's header is not that of its records.

Codes
    L22  maxTimestamp is not the largest timestamp of the records

What it means
    The header was written wrong by a client or a tool; its CRC is right.
What the broker does
    It believes the header: the time index, retention by time and lookups by time follow
    it. Records are deleted too early or kept too long ("contains future timestamp(s),
    making it ineligible to be deleted").
What to do
    Nothing can be written back without a new CRC. Mind it when retention surprises.
Kafka
    DefaultRecordBatch.maxTimestamp, UnifiedLog.deleteRetentionMsBreachedSegments.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity

from .context import PartitionContext
from .evidence import first, problems
from .levels import Level, Scope
from .segment_view import SegmentView

CODES = {"L22": Severity.WARNING}
SCOPE = Scope.SEGMENT
LEVEL = Level.DEEP


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """One finding for each batch."""
    for problem in first(problems(view.scan, "timestamp-mismatch")):
        told = ", ".join(f"{name} {value}" for name, value in problem.detail)
        yield context.finding(
            "L22",
            f"maxTimestamp is not the largest timestamp of the records ({told})",
            file=view.segment.name,
            position=problem.position + 35,
            offset=problem.offset,
            remedy=context.look(view.segment.name),
            detail=problem.facts,
        )
