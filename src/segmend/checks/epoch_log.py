"""The leader-epoch-checkpoint does not tell the epochs that the batches have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from segmend.broker.checkpoints import LEADER_EPOCHS
from segmend.findings import Finding, Severity, Where
from segmend.formats.epoch_checkpoint import FILE_NAME, EpochEntry
from segmend.formats.offset_checkpoint import LOG_START_OFFSET
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .epoch_file import mend
from .manual import INFO, NONE, WARNING, WRONG, Code, Level, Page, Scope

CODES = (
    Code("E04", WARNING, "the file is missing or empty although the batches have epochs", WRONG),
    Code("E06", INFO, "the last epoch begins beyond the log end offset", NONE, explains=("P05",)),
    Code("E07", WARNING, "the first epoch begins after batches that have an epoch", WRONG),
    Code("E08", WARNING, "the epoch falls from one segment to the next", WRONG),
)
PAGE = Page(
    meaning="""
        Each batch carries the epoch of the leader that wrote it; the file lists where each began. E08 is a
        history that two leaders wrote, or a segment from another replica.""",
    own={
        "E04, E07": """
            a follower that finds no epoch truncates to the high watermark, a leader cannot tell peers where
            an epoch ended.""",
        "E06": """
            it drops the entry. Without a high watermark of the partition this is all that tells of records
            that are gone, and an error.""",
        "E08": "it ignores the lower epoch.",
    },
    advice="""
        E04, E07: write the file anew from the batches. E06: nothing. E08: compare the replicas; nothing on
        this disk says which history is right.""",
    kafka="LeaderEpochFileCache, KIP-101 (0.11), KIP-279 (2.0).",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """The file's entries against those that the scans saw, by offset."""
    seen = [epoch for scan in context.scans if scan for epoch in scan.epochs[:1]]
    if not LEADER_EPOCHS.of(context.release) or partition.kind == "stray" or not context.views:
        return
    yield from _beyond(context)
    if not seen:
        return
    yield from _falling(context)
    file = context.epochs
    entries = file.value.entries if file.value else ()
    if file.damages:
        return
    if not entries:
        if not _all_deleted(context):
            yield _missing(context, seen[0])
        return
    late = entries[0].start_offset > seen[0][1]
    if late and not _moved_up(context, entries[0]) and not _forgotten(context, entries[0]):
        message = (
            f"the first epoch listed begins at offset {entries[0].start_offset}, but batches from offset "
        )
        message += f"{seen[0][1]} on have epoch {seen[0][0]}"
        yield context.finding("E07", message, Where(FILE_NAME, offset=seen[0][1]), remedy=mend(context))


def _beyond(context: PartitionContext) -> Iterator[Finding]:
    file = context.epochs
    last = file.value.entries[-1] if file.value and file.value.entries and not file.damages else None
    if last is None or last.start_offset <= context.log_end_offset or context.running:
        return
    message = f"epoch {last.epoch} begins at {last.start_offset}, the log ends at {context.log_end_offset}"
    where = Where(FILE_NAME, offset=last.start_offset)
    if not context.unmarked:
        yield context.finding("E06", f"{message}; the broker drops the entry", where)
        return
    message += ": records are missing at its end, and no high watermark tells of them"
    yield context.finding("E06", message, where, severity=Severity.ERROR, remedy=context.graft())


def _all_deleted(context: PartitionContext) -> bool:
    """Whether no record is left (DeleteRecords up to the end), and with them no epoch.

    The start after that drops the one entry that there is, for it begins at the log end offset.
    A log start offset beyond the end is no such thing (C08).
    """
    return context.checkpointed(LOG_START_OFFSET) == context.log_end_offset


def _moved_up(context: PartitionContext, first: EpochEntry) -> bool:
    """Whether the log start offset explains the late entry (LeaderEpochFileCache.truncateFromStart).

    Its checkpoint says so; a killed broker may not have written it yet, but then the epoch
    is seen in batches before the entry's offset as well.
    """
    start = context.checkpointed(LOG_START_OFFSET)
    if start is not None and first.start_offset <= start:
        return True
    if LOG_START_OFFSET in context.dir.log_dir.dangling:  # N32: it may say so
        return True
    starts = (
        offset for scan in context.scans if scan for epoch, offset in scan.epochs if epoch == first.epoch
    )
    return not context.clean and min(starts, default=first.start_offset) < first.start_offset


def _forgotten(context: PartitionContext, first: EpochEntry) -> bool:
    """Whether batches before it have a higher epoch: who begins to lead in a lower one forgets these.

    So it is where a topic that was made anew has the records of the old one (L17 or E08 tells); what a
    repair would write, the next leader would forget again.
    """
    return any(
        epoch > first.epoch and offset < first.start_offset
        for scan in context.scans
        if scan
        for epoch, offset in scan.epochs
    )


def _missing(context: PartitionContext, first: tuple[int, int]) -> Finding:
    what = "is missing" if context.epochs.missing else "is empty"
    rebuilt = context.dir.recovers(context.partition, context.views[0].base_offset)
    return context.finding(
        "E04",
        f"{FILE_NAME} {what}, but batches from offset {first[1]} on have epoch {first[0]}",
        Where(FILE_NAME, offset=first[1]),
        severity=Severity.WARNING if rebuilt else None,
        remedy=mend(context),
    )


def _falling(context: PartitionContext) -> Iterator[Finding]:
    scans = zip(context.views, context.scans, strict=False)
    sound = [(view, scan) for view, scan in scans if scan and scan.epochs and not scan.problems]
    for (_, before), (view, scan) in pairwise(sound):
        if before.epochs[-1][0] > scan.epochs[0][0] >= 0:
            message = f"the epoch falls from {before.epochs[-1][0]} to {scan.epochs[0][0]}"
            yield context.finding(
                "E08", message, Where(view.log.name, offset=scan.epochs[0][1]), remedy=context.look()
            )
