"""A transaction is open that nobody will end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from segmend.findings import Finding, Where
from segmend.formats.batch import LOG_APPEND_TIME
from segmend.formats.offset_checkpoint import LOG_START_OFFSET
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.kernel.scan import iter_batches
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.second_looks import look_again

from . import remedies
from .context import PartitionContext
from .evidence import MOST_BATCHES, compacted
from .manual import WARNING, WRONG, Code, Level, Page, Scope
from .producer_replay import replay_of

CODES = (
    Code("P07", WARNING, "a transaction has been open for longer than any may last", WRONG),
    Code("P08", WARNING, "an open transaction began before the log does", WRONG),
)
PAGE = Page(
    meaning="""
        A producer wrote after its transaction was ended elsewhere (KIP-890), or the marker was lost. P07 is
        judged by what brokers' clocks wrote into the log after the producer's last record, the times of other
        transactions' markers and of records with append time: they span more than 15 minutes
        (transaction.max.timeout.ms). P08: retention removed the beginning, so its first offset is below the
        log start offset.""",
    broker="""
        The last stable offset stays at the transaction's first offset: consumers that read committed records
        get nothing from there on, and compaction stops there.""",
    more="An ABORT of a P08 transaction cannot be entered in the transaction index.",
    advice="On the running cluster: `kafka-transactions.sh find-hanging`, then `abort`.",
    kafka="ProducerStateManager.firstUnstableOffset, KIP-664, KIP-890.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT

LONGEST_MS: Final = 15 * 60 * 1000


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    if compacted(context) or not context.views:
        return
    start = max(context.views[0].base_offset, context.checkpointed(LOG_START_OFFSET) or 0)
    for state in replay_of(context).states.values():
        first = state.current_txn_first_offset
        if 0 <= first < start:
            words = f"began at offset {first}, before the log start offset {start}"
            yield _finding(context, "P08", state, words)
        elif first >= 0 and _outlived(context, max(first, state.last_offset)):
            words = f"is open since offset {first}; the log went on for more than 15 minutes without it"
            yield _finding(context, "P07", state, words)


def _outlived(context: PartitionContext, last_offset: int) -> bool:
    """Whether the clocks of brokers went on for longer than a transaction may, behind this offset."""
    stamps = islice(_clock_stamps(context, last_offset), MOST_BATCHES)
    earliest = next(stamps, None)
    return earliest is not None and any(stamp - earliest > LONGEST_MS for stamp in stamps)


def _clock_stamps(context: PartitionContext, after: int) -> Iterator[int]:
    """Times written by a broker's own clock; those of producers may be of any age."""
    views = [view for view in context.views if view.next_base is None or view.next_base > after]
    for view in views:
        with look_again(view.log) as reader:
            for batch in islice(iter_batches(reader), MOST_BATCHES):
                if batch.base_offset > after and (
                    batch.is_control or batch.timestamp_type == LOG_APPEND_TIME
                ):
                    yield batch.max_timestamp


def _finding(context: PartitionContext, code: str, state: ProducerStateEntry, words: str) -> Finding:
    topic, partition = context.key
    return context.finding(
        code,
        f"the transaction of producer {state.producer_id} {words}",
        Where(offset=state.current_txn_first_offset),
        remedy=remedies.find_hanging(topic, partition),
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        last_timestamp_ms=state.timestamp,
    )
