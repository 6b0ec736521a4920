"""The segments of a partition do not follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from segmend.findings import Finding, Where
from segmend.formats.offset_checkpoint import CLEANER_OFFSET
from segmend.kernel.holes import holes, is_sound
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import SegmentScan
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.scans import deep_scan
from segmend.logdir.second_looks import look_again

from .compaction_leftovers import finished_swaps
from .context import PartitionContext
from .evidence import MOST_BATCHES
from .manual import ERROR, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("N07", ERROR, "two segments hold the same offsets", WRONG, ignored=True),
    Code("N08", ERROR, "offsets are missing between two segments", WRONG, ignored=True,
         explains_beside=("I22",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        N07: a segment was copied or put back, or a split or compaction was undone half-way; a reader gets
        offsets twice or jumps back. N08: a segment, or the end of one, is gone. Nothing in this partition was
        compacted, so records are lost.""",
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


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Compare each pair of neighbours that are sound in themselves."""
    cleaned = context.checkpointed(CLEANER_OFFSET) is not None
    scanned = [(view.base_offset, scan) for view, scan in zip(context.views, context.scans, strict=False)]
    swaps = finished_swaps(partition.layout)
    missing = {
        base: first
        for first, base in holes(
            partition.topic, scanned, compacted=cleaned, counted=lambda number: _counted(context, number)
        )
        if not any(first <= swap < base for swap in swaps)
    }
    for (earlier, before), (view, scan) in pairwise(zip(context.views, context.scans, strict=False)):
        if before is None or scan is None or not (is_sound(before) and is_sound(scan)):
            continue
        if before.last_offset is not None and before.last_offset >= view.base_offset and _plausible(before):
            yield _overlap(context, before, earlier, view)
        elif view.base_offset in missing:
            yield _hole(context, missing[view.base_offset], view)


def _counted(context: PartitionContext, number: int) -> SegmentScan | None:
    """With the inner messages of compressed ones of the old formats, which levels below DEEP leave alone."""
    view, scan = context.views[number], context.scans[number]
    if scan is None or scan.records_exact or not is_sound(scan):
        return scan
    return deep_scan(view.log, base_offset=view.base_offset, offset_index=None)


def _plausible(scan: SegmentScan) -> bool:
    """Not when a lone batch at the end claims an offset far away: that is the batch's damage (L15)."""
    span = (scan.last_offset or 0) - (scan.first_offset or 0) + 1
    return not scan.records or span <= 2 * scan.records


def _overlap(
    context: PartitionContext, before: SegmentScan, earlier: SegmentView, view: SegmentView
) -> Finding:
    """Where the two differ, one is of another log, which a leader's differs from: then all of that helps."""
    return context.finding(
        "N07",
        f"the segment before ends at offset {before.last_offset}, this one begins at {view.base_offset}",
        Where(view.segment.name, offset=view.base_offset),
        remedy=context.graft(whole=_differ(earlier, view)),
    )


def _differ(earlier: SegmentView, view: SegmentView) -> bool:
    """Whether two segments have other batches at the same offsets, as far as either is looked through."""
    try:
        with look_again(view.log) as reader, look_again(earlier.log) as other:
            walk = islice(iter_batches(other, base_offset=earlier.base_offset), MOST_BATCHES)
            known = {batch.base_offset: batch.crc for batch in walk}
            return any(
                known.get(batch.base_offset, batch.crc) != batch.crc
                for batch in islice(iter_batches(reader), MOST_BATCHES)
            )
    except Unreadable:
        return False


def _hole(context: PartitionContext, first: int, view: SegmentView) -> Finding:
    return context.finding(
        "N08",
        f"offsets {first} to {view.base_offset - 1} are missing",
        Where(view.segment.name, offset=first),
        remedy=context.graft(),
        detail={"missing": view.base_offset - first},
    )
