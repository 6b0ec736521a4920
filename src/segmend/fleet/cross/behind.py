"""A replica ends before another one does."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.checks import remedies
from segmend.checks.manual import NONE, WARNING, Code, Page
from segmend.findings import Finding, Severity, Where
from segmend.fleet.cross.replica import Group

CODES = (
    Code(
        "R01", WARNING, "a replica is behind: records are on another broker's disk and not on this one", NONE
    ),
)
PAGE = Page(
    meaning="""
        The log of this replica ends at a lower offset than the reference's. Below the highest recorded high
        watermark it was out of the ISR when the brokers stopped (warning); above it the difference was never
        committed, and is ordinary for brokers that did not stop in the same instant (info).""",
    broker="""
        After the start the replica fetches what it lacks from the leader. If it is elected leader uncleanly
        before that, the records it lacks are gone.""",
    advice="""
        Start the broker that has most first, or let it lead: see which with the offsets in the finding. Keep
        `unclean.leader.election.enable=false` until the replica has caught up.""",
    kafka="Partition.maybeShrinkIsr, ReplicaFetcherThread.",
)


def run(group: Group) -> Iterator[Finding]:
    """One finding for each replica that ends early; an empty or unreadable one too."""
    committed, reference = group.high_watermark, group.reference
    for replica in group.replicas[1:]:
        end = replica.log_end_offset
        if end is None or end >= (reference.log_end_offset or 0):
            continue
        lagged = committed is not None and end < committed
        behind = (reference.log_end_offset or 0) - end
        yield replica.finding(
            "R01",
            Severity.WARNING if lagged else Severity.INFO,
            f"{group.name} on broker {replica.broker} ends at offset {end}, {behind} behind broker "
            f"{reference.broker}" + (f"; committed up to {committed}" if lagged else ", uncommitted"),
            Where(offset=end),
            remedy=remedies.show(reference.dir, reference.dir_name),
            behind=behind,
            reference=reference.broker,
        )
