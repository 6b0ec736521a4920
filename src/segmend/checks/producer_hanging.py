"""A transaction is open that nobody will end.

Codes
    P07  a transaction has been open for longer than any may last
    P08  an open transaction began before the log does

What it means
    A producer wrote after its transaction was ended elsewhere (KIP-890), or the marker was
    lost. P07 is judged by the log: records came more than 15 minutes
    (transaction.max.timeout.ms) after the producer's last one. P08: retention removed the
    beginning, so its first offset is below the log start offset.
What the broker does
    The last stable offset stays at the transaction's first offset: consumers that read
    committed records get nothing from there on, and compaction stops there. An ABORT of a
    P08 transaction cannot be entered in the transaction index.
What to do
    On the running cluster: `kafka-transactions.sh find-hanging`, then `abort`.
Kafka
    ProducerStateManager.firstUnstableOffset, KIP-664, KIP-890.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.findings import Finding, Severity
from segmend.kernel.types import ProducerState
from segmend.logdir.tree import PartitionDir

from . import remedies
from .context import PartitionContext
from .evidence import compacted
from .levels import Level, Scope
from .producer_replay import replay_of

CODES = {"P07": Severity.WARNING, "P08": Severity.WARNING}
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT

LOG_START: Final = "log-start-offset-checkpoint"
LONGEST_MS: Final = 15 * 60 * 1000


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """One finding for each producer."""
    if compacted(context) or not context.views:
        return
    start = max(context.views[0].base_offset, context.checkpointed(LOG_START) or 0)
    now = _last_append_ms(context)
    for state in replay_of(context).states.values():
        first = state.current_txn_first_offset
        if first < 0:
            continue
        if first < start:
            words = f"began at offset {first}, before the log start offset {start}"
            yield _finding(context, "P08", state, words)
        elif state.timestamp >= 0 and now - state.timestamp > LONGEST_MS:
            minutes = (now - state.timestamp) // 60_000
            words = f"is open since offset {first}, its last record is {minutes:,} minutes older than the log"
            yield _finding(context, "P07", state, words)


def _last_append_ms(context: PartitionContext) -> int:
    """The time of the newest records, by the log and by the file's clock, whichever is earlier:
    producers may write timestamps of the future."""
    stamps = [scan.max_timestamp for scan in context.scans if scan and scan.batches]
    written = context.views[-1].log.stat().mtime_ns // 1_000_000
    return min(stamps[-1] if stamps else -1, written)


def _finding(context: PartitionContext, code: str, state: ProducerState, words: str) -> Finding:
    topic, partition = context.key
    command = (
        f"kafka-transactions.sh --bootstrap-server ... find-hanging --topic {topic} --partition {partition}"
    )
    return context.finding(
        code,
        f"the transaction of producer {state.producer_id} {words}",
        offset=state.current_txn_first_offset,
        remedy=remedies.advice(command),
        producer_id=state.producer_id,
        producer_epoch=state.epoch,
        last_timestamp_ms=state.timestamp,
    )
