"""A large segment has an empty offset index."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where

from .context import PartitionContext
from .manual import SLOW, WARNING, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (Code("I02", WARNING, "the .index file has 0 bytes although the log is large", SLOW, derived=True),)
PAGE = Page(
    meaning="""
        The index was truncated, or created anew by a tool: kafka-dump-log makes an empty `.index` when it is
        given a `.timeindex` without one. Below 2 MiB of log an empty index is normal and not looked at.""",
    broker="""
        It accepts the index and never rebuilds it. Every read from this segment scans it from the beginning.
    """,
    advice="Rebuild the index.",
    kafka="OffsetIndex.lookup, LogSegment.read.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT

# A follower may append 1 MiB (replica.fetch.max.bytes) without making an entry for it.
_LARGE = 2 << 20


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    index = view.file("index")
    if index is None or view.length("index") or view.size <= _LARGE or view.scan.batches < 3:
        return
    yield context.finding(
        "I02",
        f"the index is empty, the log has {view.size:,} bytes: every read scans it from the beginning",
        Where(index.name, offset=view.base_offset),
        remedy=context.repair(),
    )
