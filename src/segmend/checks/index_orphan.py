"""An index file has no log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import ORPHAN
from segmend.findings import Finding, Where
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .manual import NONE, WARNING, Code, Level, Page, Scope

CODES = (
    Code("I22", WARNING, "an .index, .timeindex or .txnindex stands alone", NONE, explains_beside=("I22",)),
)
PAGE = Page(
    meaning="""
        The log of this segment was deleted, moved or lost. (If it was the last segment, N10 tells of it.)""",
    broker="""
        It deletes the file: "Found an orphaned index file ..., with no corresponding log file."
    """,
    more="If the log was lost, its offsets are missing without a word.",
    advice="""
        Look for the log in .deleted files, other log dirs and other replicas before the start.""",
    kafka="LogLoader.loadSegmentFiles.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """From names alone."""
    above = set(context.orphans_above)
    left = [
        entry
        for entry in partition.orphans
        if entry.name not in above and not _is_something_else(partition, entry.name)
    ]
    for entry in left:
        same = [each.name for each in left if each.parsed.base_offset == entry.parsed.base_offset]
        yield context.finding(
            "I22",
            "there is no log beside it; the next start deletes it",
            Where(entry.name, offset=entry.parsed.base_offset),
            broker_says=ORPHAN.say(context.release, entry.name),
            remedy=context.set_aside(*same),
        )


def _is_something_else(partition: PartitionDir, name: str) -> bool:
    """Whether a directory stands where the log should be (I23), or a link to nothing (N29)."""
    log = name.partition(".")[0] + ".log"
    return partition.entries.get(log) in ("dir", "link-dir", "link-broken")
