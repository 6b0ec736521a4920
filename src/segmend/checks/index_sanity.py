"""An index fails the sanity check that brokers up to 2.2 made at every start."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import CORRUPT_INDEX
from segmend.broker.sanity import INDEX_SANITY, IndexSanity, offset_index_fault, time_index_fault
from segmend.findings import Finding, Where
from segmend.formats import offset_index, time_index
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import ends
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release

from .context import PartitionContext
from .evidence import in_flight
from .manual import INFO, SLOW, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("I25", INFO, "a broker up to 2.2 takes the segment's index for corrupt and rebuilds it", SLOW),)
PAGE = Page(
    meaning="""
        Brokers up to 2.2 looked at the first and last entry of each index while loading. The zeros that a
        killed broker leaves in its active segments fail this check in releases up to 1.1, so after a crash
        these messages are normal. Since 2.3 no broker looks.""",
    broker="""
        "Found a corrupted index file corresponding to log file ... due to ..., recovering segment and
        rebuilding index files...": it scans the segment and rebuilds its indexes.""",
    more="Only time is lost. Before 0.9 it did not start.",
    advice="Nothing.",
    kafka="OffsetIndex.sanityCheck, TimeIndex.sanityCheck, KAFKA-6324, KAFKA-7283.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Only at --startup, and in directories marked for deletion, too: a broker loads these as well."""
    if context.level == Level.STARTUP and INDEX_SANITY.of(context.release) != IndexSanity.NONE:
        for view in context.views:
            if not in_flight(view):  # a broker trims them when it stops
                yield from _check(view, context)


def _check(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """At most one finding a segment, since the broker stops at the first reason."""
    index, times = view.segment.index, view.segment.timeindex
    reason = (index and offset_reason(context.release, view.base_offset, index)) or (
        index and times and time_reason(view.base_offset, times)
    )
    if not index or not reason:
        return
    yield context.finding(
        "I25",
        f"brokers up to 2.2 rebuild the indexes of this segment: {reason}",
        Where(view.segment.name, offset=view.base_offset),
        broker_says=CORRUPT_INDEX.of(context.release).format(why=reason, files="...", log=view.segment.name),
    )


def offset_reason(release: Release, base_offset: int, index: FileEntry) -> str | None:
    """Why a broker of that release takes an offset index for corrupt; raises `Unreadable`."""
    return offset_index_fault(release, index.name, base_offset, ends(index, offset_index.ENTRY_SIZE))


def time_reason(base_offset: int, times: FileEntry) -> str | None:
    """Why such a broker takes a time index for corrupt, where it looks at it; raises `Unreadable`."""
    return time_index_fault(times.name, base_offset, ends(times, time_index.ENTRY_SIZE))
