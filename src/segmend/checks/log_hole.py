"""A stretch of a log is no batch, and batches follow after it."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Remedy, Where
from segmend.kernel.types import CHAIN_KINDS
from segmend.logdir.scans import whole_scan
from segmend.wording import plural

from .batch_faults import Break, breaks
from .context import PartitionContext
from .evidence import first, healed_at_start, problems, size_field, too_small, was_cut
from .manual import ERROR, LOSES, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L04", ERROR, "bytes in the middle of the log are zeros or garbage", WRONG, LOSES,
         explains=("C04", "C10b", "E06"), explains_beside=("I16",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A block of the disk was lost, zeroed or overwritten, or a write went to the wrong place. The batches
        that stood there are gone; the ones after it are sound.""",
    broker="""
        A read that begins before the hole fails ("Found record size N smaller than minimum record overhead
        (14)") or jumps over it, until the offset index leads a reader past it.""",
    more="""
        A start without the clean marker whose recovery point is at or below this segment cuts the segment at
        the hole and deletes everything after it, in this segment and in all later ones.""",
    advice="""
        Look for the batches on another replica first: `segmend plan repair DIR --from REPLICA_DIR`. Otherwise
        `--blank` puts one empty batch over the offsets of the hole and mends the indexes; everything after it
        is kept. Not where transactions are.""",
    kafka="FileLogInputStream.nextBatch, LogSegment.recover.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for hole in first(breaks(view, view.scan, "L04")):
        length = hole.end - hole.position
        behind = _behind(view, hole)
        size = size_field(view, hole.position)
        yield context.finding(
            "L04",
            f"{plural(length, 'byte')} are no batch; {behind}",
            Where(view.segment.name, position=hole.position, offset=hole.offset),
            broker_says=too_small(view, size) if size < 14 else None,
            remedy=_remedy(view, context, hole),
            bytes=length,
            end=hole.end,
        )


def _behind(view: SegmentView, hole: Break) -> str:
    """What comes after it, and what becomes of that."""
    if view.is_active and hole.end >= view.scan.end:
        return "nothing follows them"
    if healed_at_start(view):
        return "the next start deletes everything after it in this partition"
    return "sound batches follow it"


def _remedy(view: SegmentView, context: PartitionContext, hole: Break) -> Remedy:
    """What nothing follows can be cut off, unless something tells that there were batches."""
    if not view.is_active or hole.end < view.scan.end or not _is_cut_off(view, hole):
        return context.good_batches()
    return context.good_batches(otherwise=context.trim()) if was_cut(view, view.scan) else context.trim()


def _is_cut_off(view: SegmentView, hole: Break) -> bool:
    """Whether no batch goes with it, were it one with a wrong checksum, as `trim` sees it."""
    scan = whole_scan(view.log, base_offset=view.base_offset)
    broken = problems(scan, *CHAIN_KINDS)
    return all(each.position >= hole.position and each.kind != "crc-mismatch" for each in broken)
