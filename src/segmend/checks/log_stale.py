"""Batches that stand in the log a second time, or belong to an older history."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Remedy, Where

from .context import PartitionContext
from .evidence import first, in_flight, is_sound
from .manual import ERROR, LOSES, WARNING, WRONG, Code, Level, Page, Scope
from .offset_faults import OffsetFault, offset_faults
from .segment_view import SegmentView

CODES = (
    Code("L16", WARNING, "the same batch stands in the log twice", WRONG, explains=("I10",)),
    Code("L26", ERROR, "an older or foreign batch stands behind newer ones", LOSES,
         explains=("C04", "C10b", "E06")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A write was repeated (L16), or a write that should have gone elsewhere, or long ago, landed here
        (L26). Every such batch is sound in itself: its CRC is right.""",
    broker="It objects to nothing, with or without the clean marker.",
    own={
        "L16": "a reader may get records twice.",
        "L26": """
            the log end offset is taken from the physically last batch, so it goes back; producers append the
            offsets after it a second time, with other records, and the producer state above it is dropped.
        """,
    },
    advice="""
        L16: `segmend plan repair` cuts the second copy out and mends the indexes. L26: do not start the
        broker; cut the backward batch off first, or move the directory away and let it replicate.""",
    kafka="LogSegment.readNextOffset, LogLoader.recoverLog.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for fault in first(offset_faults(view, view.scan, *(code.name for code in CODES))):
        if not in_flight(view):
            yield context.finding(
                fault.code,
                _message(view, fault),
                Where(view.segment.name, position=fault.batch.position, offset=fault.batch.base_offset),
                remedy=_remedy(view, context, fault),
                expected=fault.expected,
            )


def _remedy(view: SegmentView, context: PartitionContext, fault: OffsetFault) -> Remedy:
    """A second copy goes; of one that is damaged nothing tells that it is one."""
    if fault.code != "L16":
        return context.graft()
    return context.repair() if is_sound(view, fault.batch.position) else context.good_batches()


def _message(view: SegmentView, fault: OffsetFault) -> str:
    batch = fault.batch
    where = f"offsets {batch.base_offset} to {batch.last_offset}"
    if fault.code == "L16":
        return f"the batch of {where} stands here a second time"
    follow = f"{where} follow offset {(fault.expected or 0) - 1}"
    if view.is_active and batch.end >= view.scan.end:
        return f"{follow}: the log end offset goes back to {batch.last_offset + 1}"
    return f"{follow}: an older history begins here"
