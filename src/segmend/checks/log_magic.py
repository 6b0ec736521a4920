"""The magic byte of a batch is wrong; its CRC proves that it was 2."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import INVALID_MESSAGES
from segmend.broker.serving import UNKNOWN_MAGIC
from segmend.findings import Finding, Where

from .batch_faults import breaks
from .context import PartitionContext
from .evidence import first
from .manual import ERROR, LOSES, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L11", ERROR, "the magic byte is 3 to 127", WRONG, ignored=True, explains=("C04", "C10b", "E06")),
    Code("L12", ERROR, "the magic byte makes an old-format message of the batch (0, 1 or above 127)", WRONG,
         LOSES, explains=("I16",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The magic byte is not covered by the CRC. Read as version 2 the batch is sound, so nothing but this
        byte is damaged and no record is lost.""",
    own={
        "L11": """
            nothing, not even in recovery; clients and followers fail on it ("Invalid magic found in record:
            3").""",
        "L12": """
            it takes the batch for a message of the old format. A start without the clean marker whose
            recovery point is at or below this segment finds its checksum wrong, cuts the segment here and
            deletes all later segments.""",
    },
    advice="Write the 2 back: `segmend plan repair` does.",
    kafka="FileLogInputStream.nextBatch, ByteBufferLogInputStream, LogSegment.recover.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP
OF_PROBLEMS = True


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    for damage in first(breaks(view, view.scan, *(code.name for code in CODES))):
        refused = UNKNOWN_MAGIC.say(context.release, damage.magic)
        cut = INVALID_MESSAGES.format(view.segment.name, damage.position)
        yield context.finding(
            damage.code,
            f"the magic byte is {damage.magic}, the CRC proves 2",
            Where(view.segment.name, position=damage.position + 16, offset=damage.offset),
            broker_says=refused if damage.code == "L11" else cut,
            remedy=context.repair(deep=damage.code == "L12"),
            magic=damage.magic,
        )
