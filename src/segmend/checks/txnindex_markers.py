"""A transaction index does not agree with the ABORT markers of its segment."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import ABORTS_BACKWARDS
from segmend.findings import Finding, Where
from segmend.formats.txn_index import ENTRY_SIZE
from segmend.logdir.partition_dir import PartitionDir
from segmend.wording import plural

from .context import PartitionContext
from .manual import ERROR, WRONG, Code, Level, Page, Scope
from .producer_replay import TxnIndexFacts, replay_of

CODES = (
    Code("I17", ERROR, "aborted transactions are missing from the index, or the index is missing", WRONG,
         derived=True),
    Code("I21", ERROR, "the index has entries that no ABORT marker stands for", WRONG, derived=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        I17: the file was deleted or emptied, or an entry says that none follows (its last stable offset is
        beyond the beginning of a later one). A segment without aborted transactions has no `.txnindex`, so
        nobody but the markers in the log can tell. I21: the file belongs to another segment, or its entries
        were damaged.""",
    broker="It believes the index.",
    own={
        "I17": "consumers that read committed records are given aborted ones.",
        "I21": """
            they miss committed ones, or are given aborted ones. Segments that a start recovers get a new
            index.""",
    },
    advice="""
        Rebuild the transaction index. It needs the producer state at the segment's beginning: its snapshot,
        or a replay of the segments before.""",
    kafka="TransactionIndex.collectAbortedTxns, LogSegment.updateProducerState, KIP-98.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    for facts in replay_of(context).txn_indexes:
        yield _surplus(context, facts) if facts.surplus else _missing(context, facts)


def _missing(context: PartitionContext, facts: TxnIndexFacts) -> Finding:
    first = facts.missing[0]
    number = plural(len(facts.missing), "aborted transaction")
    where = (
        "the index is missing"
        if facts.entries is None
        else f"brokers find {facts.entries} of {facts.expected} entries there"
    )
    return context.finding(
        "I17",
        f"{number} of this segment not in the transaction index ({where}); the first, of producer"
        f" {first.producer_id}, ends at offset {first.last_offset}",
        Where(facts.view.named("txnindex"), offset=first.last_offset),
        remedy=context.repair(),
        producer_id=first.producer_id,
        missing=len(facts.missing),
    )


def _surplus(context: PartitionContext, facts: TxnIndexFacts) -> Finding:
    row, entry = facts.surplus[0]
    return context.finding(
        "I21",
        f"{plural(len(facts.surplus), 'entry', 'entries')} that no ABORT marker here stands for; the first:"
        f" producer {entry.producer_id}, offsets {entry.first_offset} to {entry.last_offset}",
        Where(facts.view.named("txnindex"), position=row * ENTRY_SIZE, offset=entry.last_offset),
        broker_says=ABORTS_BACKWARDS.of(context.release),
        remedy=context.repair(),
        producer_id=entry.producer_id,
        surplus=len(facts.surplus),
    )
