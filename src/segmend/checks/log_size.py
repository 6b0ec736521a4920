"""The size field of a batch is wrong; its CRC proves what it should be."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import CORRUPTION
from segmend.findings import Finding, Where

from .batch_faults import Break, breaks
from .context import PartitionContext
from .evidence import first, too_small
from .manual import ERROR, LOSES, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L08", ERROR, "the size field points past the end of the log", WRONG, LOSES,
         explains=("C04", "C10b", "E06")),
    Code("L09", ERROR, "the size field is smaller than the smallest batch", WRONG, LOSES,
         explains=("C04", "C10b", "E06")),
    Code("L10", ERROR, "the size field points into the middle of this or a later batch", WRONG, LOSES,
         explains=("C04", "C10b", "E06", "L04")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The size is not covered by the CRC. With the size that leads to the next batch, or to the end of the
        log, the CRC is right, so nothing but these four bytes is damaged and no record is lost.""",
    own={
        "L08": """
            it takes this place for the end of the segment; the rest of the segment is invisible, and recovery
            cuts it here without even a warning about the batch.""",
        "L09": "reads that begin before it fail.",
        "L10": """
            it goes on in the middle of a batch. A start without the clean marker whose recovery point is at
            or below this segment cuts the segment here and deletes all later segments.""",
    },
    advice="Write the right size back: `segmend plan repair` does.",
    kafka="FileLogInputStream.nextBatch, LogSegment.recover.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP
OF_PROBLEMS = True

_CONSEQUENCE = {
    "L08": "a broker sees nothing of the segment after it",
    "L09": "reads that come upon it fail",
    "L10": "a reader goes on in the middle of a batch",
}


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for damage in first(breaks(view, view.scan, *(code.name for code in CODES))):
        right = damage.end - damage.position - 12
        yield context.finding(
            damage.code,
            f"the size field says {damage.size}, the CRC proves {right}; {_CONSEQUENCE[damage.code]}",
            Where(view.segment.name, position=damage.position + 8, offset=damage.offset),
            broker_says=_words(view, damage),
            remedy=context.repair(deep=damage.code == "L10"),
            stored_size=damage.size,
            right_size=right,
        )


def _words(view: SegmentView, damage: Break) -> str:
    if damage.code == "L09":
        return too_small(view, damage.size)
    return CORRUPTION.format(view.base_offset, damage.offset)
