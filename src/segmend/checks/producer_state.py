"""A producer snapshot says something else than the log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity, Where
from segmend.logdir.partition_dir import PartitionDir
from segmend.wording import plural

from .context import PartitionContext
from .manual import ERROR, WRONG, Code, Level, Page, Scope
from .producer_replay import replay_of

CODES = (Code("P06", ERROR, "a snapshot is intact, but the log contradicts it", WRONG),)
PAGE = Page(
    meaning="""
        The file is older than the log, or was copied from another partition or replica: a replay of the
        batches before its offset gives another state.""",
    broker="""
        It trusts the newest snapshot. A transaction that is open in the log and not in the snapshot is
        forgotten: the last stable offset jumps past it and its records become visible.""",
    more="""
        One that is open only in the snapshot holds the last stable offset for ever. A wrong epoch or sequence
        fences producers ("InvalidProducerEpoch") or refuses their batches ("OUT_OF_ORDER_SEQUENCE_NUMBER").
    """,
    advice="""
        Regenerate the snapshot from the log, or delete it if an older one is good: then the start replays.
    """,
    kafka="ProducerStateManager.loadFromSnapshot, ProducerStateEntry.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """From the replay of the partition. Only the newest snapshot is loaded; the others are spares."""
    newest = partition.snapshots[-1][0] if partition.snapshots else -1
    for facts in replay_of(context).snapshots:
        producer_id, what, _ = facts.contradictions[0]
        others = len(facts.contradictions) - 1
        grave = any(grave for _, _, grave in facts.contradictions)
        yield context.finding(
            "P06",
            f"producer {producer_id}: {what}"
            + (f" (and {plural(others, 'other producer')})" if others else ""),
            Where(facts.file.name, offset=facts.offset),
            remedy=context.repair(),
            severity=Severity.ERROR if grave and facts.offset == newest else Severity.WARNING,
            producer_id=producer_id,
            producers=len(facts.contradictions),
        )
