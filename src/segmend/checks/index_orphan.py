"""An index file has no log.

Codes
    I22  an .index, .timeindex or .txnindex stands alone

What it means
    The log of this segment was deleted, moved or lost. (If it was the last segment, N10
    tells of it.)
What the broker does
    It deletes the file: "Found an orphaned index file ..., with no corresponding log
    file." If the log was lost, its offsets are missing without a word.
What to do
    Look for the log in .deleted files, other log dirs and other replicas before the start.
Kafka
    LogLoader.loadSegmentFiles.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext
from .levels import Level, Scope

CODES = {"I22": Severity.WARNING}
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """From names alone."""
    above = set(context.orphans_above)
    for entry in partition.orphans:
        if entry.name in above or _is_a_directory(partition, entry.name):
            continue
        yield context.finding(
            "I22",
            "there is no log beside it; the next start deletes it",
            file=entry.name,
            offset=entry.parsed.base_offset,
            broker_says=f"Found an orphaned index file {entry.name}, with no corresponding log file.",
            remedy=context.set_aside(entry.name),
        )


def _is_a_directory(partition: PartitionDir, name: str) -> bool:
    """Whether a directory stands where the log should be: I23."""
    return partition.entries.get(name.partition(".")[0] + ".log") in ("dir", "link-dir")
