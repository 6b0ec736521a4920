"""The leader-epoch-checkpoint cannot be read, or contradicts itself.

Codes
    E01  wrong count, number of tokens or version: the log dir goes offline
    E02  a token that is no number: the broker does not start
    E03  a negative epoch or offset: the broker does not start
    E05  epochs or offsets that do not increase: earlier entries are dropped

What it means
    The file says at which offset each leader epoch began. Replicas compare epochs to
    find where their histories part, and truncate there.
What the broker does
    E01: the whole log dir goes offline. E02, E03: the broker does not start. E05: it
    keeps the last of the entries that conflict, so peers truncate at wrong offsets.
What to do
    Write the file anew from the epochs in the batches.
Kafka
    LeaderEpochCheckpointFile, LeaderEpochFileCache.assign, KIP-101 (0.11).
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity
from segmend.formats.epoch_checkpoint import FILE_NAME
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext
from .levels import Level, Scope

CODES = {
    "E01": Severity.ERROR,
    "E02": Severity.ERROR,
    "E03": Severity.ERROR,
    "E05": Severity.WARNING,
}
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_CODES = {"not-a-number": "E02", "negative-entry": "E03", "not-increasing": "E05"}
# Loading fails on these, so nothing else in the file matters.
FATAL = frozenset({"E01", "E02", "E03"})


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """The first damage that stops the reader, else the first entry out of order."""
    if context.epochs is None:
        return
    found = [(_CODES.get(damage.kind, "E01"), damage) for damage in context.epochs[1]]
    fatal = [item for item in found if item[0] in FATAL]
    for code, damage in (fatal or found)[:1]:
        yield context.finding(
            code,
            damage.reason,
            file=FILE_NAME,
            position=damage.position,
            broker_says=damage.reason,
            remedy=context.repair(),
        )
