"""The segments of a partition do not follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from segmend.findings import Finding
from segmend.formats.offset_checkpoint import CLEANER_OFFSET
from segmend.kernel.types import SegmentScan
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext
from .levels import Level, Scope
from .manual import ERROR, WRONG, Code, Page
from .segment_view import SegmentView

CODES = (
    Code("N07", ERROR, "two segments hold the same offsets", WRONG, ignored=True),
    Code("N08", ERROR, "offsets are missing between two segments", WRONG, ignored=True),
)
PAGE = Page(
    meaning="""
        N07: a segment was copied or put back, or a split or compaction was undone half-way; a reader gets
        offsets twice or jumps back. N08: a segment, or the end of one, is gone. Nothing in this partition was
        compacted and no transaction explains a hole, so records are lost.""",
    broker="""
        Nothing: it loads the segments as they are. A consumer jumps over the hole without a word;
        `auto.offset.reset` does not apply.""",
    more="""
        When a broker recovers overlapping segments without the clean marker it may empty one of them.""",
    advice="""
        N07: keep the segment that is complete and valid, cut the other at the boundary. N08: look for the
        segment in .deleted files, other log dirs and other replicas. If another replica has the records, move
        this directory away and let it replicate.""",
    kafka="LogSegments, UnifiedLog.read, LogSegment.recover.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT

# Damage inside a segment has its own codes and explains what is odd at its ends.
_OWN_CODES = frozenset({"offset-backwards", "offset-before-base", "offset-overflow"})


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Compare each pair of neighbours that are sound in themselves."""
    dense = _is_dense(context)
    pairs = pairwise(zip(context.views, context.scans, strict=False))
    for (_, before), (view, scan) in pairs:
        if before is None or scan is None or not (_sound(before) and _sound(scan)):
            continue
        if before.last_offset is None:
            continue
        if before.last_offset >= view.base_offset and _plausible(before):
            yield _overlap(context, before, view)
        elif dense and before.next_offset < view.base_offset:
            yield _hole(context, before, view)


def _sound(scan: SegmentScan) -> bool:
    kinds = {kind for kind, _ in scan.problem_counts}
    return not scan.damaged_batches and not scan.tail and _OWN_CODES.isdisjoint(kinds)


def _plausible(scan: SegmentScan) -> bool:
    """Not when a lone batch at the end claims an offset far away: that is the batch's damage (L15)."""
    span = (scan.last_offset or 0) - (scan.first_offset or 0) + 1
    return not scan.records or span <= 2 * scan.records


def _is_dense(context: PartitionContext) -> bool:
    """Whether offsets have no holes inside segments and nothing was transactional or compacted."""
    cleaned = context.checkpointed(CLEANER_OFFSET) is not None
    if cleaned or context.partition.topic.startswith("__"):
        return False
    return all(_dense(scan) for scan in context.scans)


def _dense(scan: SegmentScan | None) -> bool:
    if scan is None or not _sound(scan) or not scan.records_exact:
        return False
    if scan.first_offset is None or scan.last_offset is None:
        return True
    return scan.last_offset - scan.first_offset + 1 == scan.records and not scan.control.control_batches


def _overlap(context: PartitionContext, before: SegmentScan, view: SegmentView) -> Finding:
    return context.finding(
        "N07",
        f"the segment before ends at offset {before.last_offset}, this one begins at {view.base_offset}",
        file=view.segment.name,
        offset=view.base_offset,
        remedy=context.graft(),
    )


def _hole(context: PartitionContext, before: SegmentScan, view: SegmentView) -> Finding:
    return context.finding(
        "N08",
        f"offsets {before.next_offset} to {view.base_offset - 1} are missing",
        file=view.segment.name,
        offset=before.next_offset,
        remedy=context.graft(),
        detail={"missing": view.base_offset - before.next_offset},
    )
