"""The end of a transaction is gone."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .evidence import first
from .manual import ERROR, WRONG, Code, Level, Page, Scope
from .producer_replay import replay_of

CODES = (Code("P09", ERROR, "a transaction marker was removed from the log", WRONG),)
PAGE = Page(
    meaning="""
        One offset is missing in a log that was never compacted, while a transaction was open: there stood
        its COMMIT or ABORT marker (at the end of a segment only an ABORT that the index has is known).
        Surgery that cut a batch out took the marker with it.""",
    broker="""
        It takes the producer's next transaction for a part of this one. If that is committed, aborted records
        count as committed; if it is aborted, committed records are lost to consumers that read committed
        ones.""",
    advice="""
        Put a marker back: from another replica, or a new one with the epochs of its neighbours.""",
    kafka="ProducerAppendInfo.appendEndTxnMarker, KIP-98.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    for lost in first(replay_of(context).lost_markers):
        who = ", ".join(str(producer) for producer in lost.producer_ids[:5])
        kind = "an ABORT marker" if lost.was_abort else "a transaction marker"
        yield context.finding(
            "P09",
            f"{kind} of producer {who} is missing at offset {lost.offset}",
            Where(lost.view.segment.name, position=lost.position, offset=lost.offset),
            remedy=context.graft(),
            producer_ids=list(lost.producer_ids[:5]),
        )
