"""The length of an index is no multiple of its entry."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.formats import offset_index, time_index
from segmend.wording import plural

from .context import PartitionContext
from .evidence import in_flight
from .manual import INFO, NONE, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("I03", INFO, "an .index is no multiple of 8 bytes long, or a .timeindex of 12", NONE),)
PAGE = Page(
    meaning="A copy or a crash cut the last entry.",
    broker="""
        Since 2.3 it rounds the length down and goes on. Up to 2.2 it rebuilds the indexes of the segment
        ("... is corrupt, found N bytes which is neither positive nor a multiple of 8").""",
    advice="Nothing; a rebuild makes it right.",
    kafka="AbstractIndex, OffsetIndex.sanityCheck, KAFKA-7283.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    if in_flight(view):
        return
    for name, unit in (("index", offset_index.ENTRY_SIZE), ("timeindex", time_index.ENTRY_SIZE)):
        size = view.length(name) or 0
        if size % unit:
            yield context.finding(
                "I03",
                f"{plural(size % unit, 'byte')} after the last whole entry",
                Where(view.named(name), position=size - size % unit),
                remedy=context.repair(),
            )
