"""The checksum of a batch does not match its bytes."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.sanity import REBUILDS_MISSING_INDEX
from segmend.broker.serving import BAD_CRC
from segmend.findings import Finding, Severity, Where

from .batch_faults import Break, breaks
from .context import PartitionContext
from .evidence import first, healed_at_start, in_flight
from .manual import ERROR, LOSES, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L05", ERROR, "a batch in a rolled segment has a wrong CRC", WRONG, LOSES,
         explains=("I21", "P11"), explains_beside=("I16",)),
    Code("L06", ERROR, "a batch has a wrong CRC and the segment has no offset index", LOSES,
         explains_beside=("I01", "I16")),
    Code("L07", ERROR, "a batch in the active segment has a wrong CRC", WRONG, LOSES,
         explains=("C04", "C10b", "E06", "I21", "P11"), explains_beside=("I16",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        Bytes of the batch changed after it was written: a failing disk or memory, a lost or misdirected
        write, a bad copy. Its header is readable and the batches after it are sound; the records in it cannot
        be trusted.""",
    broker="""
        It sends the batch to consumers and followers as it is. They refuse it ("Record is corrupt (stored crc
        = ..., computed crc = ...)") and stay at that offset for ever.""",
    more="""
        A start without the clean marker whose recovery point is at or below this segment cuts the segment
        here and deletes all later segments of the partition. A missing `.index` (L06) makes any start rescan
        this segment and cut it here; later segments are kept, so that the records between vanish without a
        word.""",
    advice="""
        Look for the same batch on another replica first: `segmend plan repair DIR --from REPLICA_DIR` takes
        it if the batches around it prove it. If this replica is not needed, move the directory away and let
        it replicate. Otherwise `--blank` makes the batch an empty one: its offsets stay, its records are
        gone. L06: do not start the broker before.""",
    kafka="DefaultRecordBatch.ensureValid, LogSegment.recover, LogLoader.loadSegmentFiles.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEEP
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """One finding for each batch; the last one of an active segment may still be in flight."""
    for damage in first(breaks(view, view.scan, *(code.name for code in CODES))):
        if not (in_flight(view) and damage.end >= view.scan.end):
            yield _finding(view, context, damage)


def _finding(view: SegmentView, context: PartitionContext, damage: Break) -> Finding:
    torn = view.is_active and healed_at_start(view) and damage.end >= view.scan.end
    size = damage.end - damage.position
    return context.finding(
        damage.code,
        f"the batch of {size} bytes has a wrong CRC; {_consequence(view, damage, torn)}",
        Where(view.segment.name, position=damage.position, offset=damage.offset),
        broker_says=BAD_CRC.format(damage.stored, damage.computed),
        remedy=context.good_batches(),
        severity=Severity.WARNING if torn else None,
        stored_crc=damage.stored,
        computed_crc=damage.computed,
        bytes=size,
    )


def _consequence(view: SegmentView, damage: Break, torn: bool) -> str:
    if torn:
        return "it is the last one, and the next start cuts it off"
    if healed_at_start(view):
        return "the next start cuts the segment here and deletes all later segments"
    if damage.code == "L06" and REBUILDS_MISSING_INDEX.of(view.context.release):
        return "and .index is missing, so the next start cuts the segment here and keeps the later ones"
    return "consumers and followers cannot get past it"
