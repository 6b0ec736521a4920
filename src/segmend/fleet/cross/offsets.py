"""The offsets that brokers remember of a partition cannot all be true."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.checks import remedies
from segmend.checks.manual import ERROR, NONE, WARNING, Code, Page
from segmend.findings import Finding, Severity, Where
from segmend.fleet.cross.replica import Group

CODES = (
    Code(
        "R05",
        ERROR,
        "committed records are on no disk: a high watermark lies above every replica's end",
        NONE,
    ),
    Code("R06", WARNING, "a replica begins after another one ends: they have no record in common", NONE),
)
PAGE = Page(
    meaning="""
        R05: some broker recorded that records up to the high watermark were on all in-sync replicas, and no
        audited replica has them any more. R06: the log start offset of one replica is above the log end
        offset of another, so the other cannot catch up record by record.""",
    own={
        "R05": """
            the high watermark is lowered to the log end offset in silence; consumers that were further get
            OffsetOutOfRange.""",
        "R06": """
            the follower truncates fully and starts again at the leader's log start offset
            (OFFSET_OUT_OF_RANGE in ReplicaFetcherThread).""",
    },
    advice="""
        R05: look for a further copy (a snapshot, a broker that was not audited, `.deleted` files) before any
        broker starts. R06: nothing, unless the old records matter.""",
    kafka="UnifiedLog.updateHighWatermark, AbstractFetcherThread.fetchOffsetAndTruncate.",
)


def run(group: Group) -> Iterator[Finding]:
    """R05 for the replica that remembers most, R06 for each replica that ends too early."""
    if len(group.replicas) < 2:
        return
    yield from _lost(group)
    start = max((replica.log_start_offset or 0 for replica in group.replicas), default=0)
    for replica in group.replicas:
        end = replica.log_end_offset
        if end is not None and 0 < end < start:
            yield replica.finding(
                "R06",
                Severity.WARNING,
                f"{group.name} on broker {replica.broker} ends at offset {end}, another replica begins "
                f"at {start}",
                Where(offset=end),
                remedy=remedies.show(replica.dir, replica.dir_name),
                other_start=start,
            )


def _lost(group: Group) -> Iterator[Finding]:
    end, committed = group.log_end_offset, group.high_watermark
    unread = any(replica.log_end_offset is None for replica in group.replicas)
    if committed is None or committed <= end or unread:
        return
    holder = next(replica for replica in group.replicas if replica.high_watermark == committed)
    yield holder.finding(
        "R05",
        Severity.ERROR,
        f"{group.name} was committed up to offset {committed} and no replica goes beyond {end}: "
        f"{committed - end} records are on no disk",
        Where(offset=end),
        remedy=remedies.show(holder.dir, holder.dir_name),
        high_watermark=committed,
    )
