"""A compacted topic has records without a key."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import NULL_KEYS
from segmend.findings import Finding, Where
from segmend.wording import plural

from .context import PartitionContext
from .evidence import compacted
from .manual import WARNING, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("L27", WARNING, "records without a key in a compacted topic", WRONG),)
PAGE = Page(
    meaning="""
        Compaction keeps the last record of each key, so a record without a key has no place there. Brokers
        refuse them today; they come from old brokers, from a time when the topic was not compacted, or from a
        tool.""",
    broker="""
        The cleaner drops them: "Found N invalid messages during compaction." Some releases cannot load a
        partition of __consumer_offsets that has one.""",
    advice="Read the records out before the cleaner comes by, if they matter.",
    kafka="LogCleaner, LogValidator.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEEP


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    if not compacted(context) or not view.scan.null_keys:
        return
    count = view.scan.null_keys
    yield context.finding(
        "L27",
        f"{plural(count, 'record')} without a key in a compacted topic",
        Where(view.segment.name, offset=view.scan.first_offset),
        broker_says=NULL_KEYS.say(context.release, count),
        remedy=context.look(view.segment.name),
        records=count,
    )
