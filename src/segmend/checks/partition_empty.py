"""Segments are missing at an end of the partition, or all of them are."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import ORPHAN
from segmend.findings import Finding, Remedy, Safety, Severity, Where
from segmend.formats.names import file_prefix, parse_file_name
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.logdir.partition_dir import PartitionDir

from . import metadata_mends, remedies
from .context import PartitionContext
from .manual import ERROR, INFO, LOSES, NONE, Code, Level, Page, Scope

CODES = (
    Code("N09", INFO, "the checkpointed log start offset lies before the first segment", NONE, ignored=True),
    Code("N10", ERROR, "indexes or snapshots remain of an active segment whose `.log` is gone", LOSES,
         explains=("C04", "C10b", "E06"), explains_beside=("N12",)),
    Code("N11", ERROR, "the directory has no segment at all", LOSES),
)  # fmt: skip
PAGE = Page(
    meaning="""
        N09: the offsets in between are not on this disk; after retention that is normal for a moment, after a
        clean stop it is not. N10: the newest segment's log was removed or not copied. N11: everything was.
    """,
    own={
        "N09": "nothing.",
        "N10": "it deletes the indexes, and gives out the lost offsets a second time.",
        "N11": """
            it creates an empty segment at the log start offset, or at 0; as a leader it makes every follower
            truncate to that.""",
    },
    advice="""
        Find the file: in .deleted, in a backup, in another log dir, on another replica. If another replica is
        healthy, move this directory away and let it replicate; never let this one become the leader.""",
    kafka="LogLoader.loadSegmentFiles, LogLoader.load.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_CHECKPOINTS = (RECOVERY_POINT, HIGH_WATERMARK, LOG_START_OFFSET)


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """What the set of names says, against the checkpoints."""
    if partition.kind not in ("current", "future", "cluster-metadata") or partition.unreadable:
        return
    names = partition.layout
    if above := context.orphans_above:
        yield _active_missing(context, above)
    elif not names.logs and not names.shadowed and not names.swap and not names.foreign:
        yield _empty(context)
    start = context.checkpointed(LOG_START_OFFSET)
    if context.clean and start is not None and names.logs and 0 <= start < min(names.logs):
        message = f"the log start offset is {start}, but the first segment begins at {min(names.logs)}"
        yield context.finding("N09", message, Where(f"{file_prefix(min(names.logs))}.log", offset=start))


def _active_missing(context: PartitionContext, above: list[str]) -> Finding:
    base = parse_file_name(above[0]).base_offset
    name = f"{above[0].partition('.')[0]}.log"
    comes = f"{name}.swap" in above and not context.partition.layout.cleaned
    what = (
        f"but the next start gives its name to {name}.swap, which is all that is left of it"
        if comes else f"but {', '.join(above)} remain; its offsets will be given out again"
    )  # fmt: skip
    otherwise = remedies.play(context.dir.path) if comes else context.graft()
    return context.finding(
        "N10",
        f"{name} is gone, {what}",
        Where(above[0], offset=base),
        broker_says=ORPHAN.say(context.release, f"{context.partition.path}/{above[0]}"),
        remedy=_back(context, name) or otherwise,
        severity=Severity.WARNING if comes else None,
    )


def _back(context: PartitionContext, log: str) -> Remedy | None:
    """Give the log its name back, if it is there and marked for deletion alone."""
    marked = f"{log}.deleted"
    if marked not in context.partition.entries:
        return None
    old, new = (f"{context.partition.name}/{name}" for name in (marked, log))
    return remedies.rename(context.dir.path, old, new, safety=Safety.ADVICE)


def _empty(context: PartitionContext) -> Finding:
    known = {name: value for name in _CHECKPOINTS if (value := context.checkpointed(name))}
    message = "the directory holds no segment"
    if known:
        message += f", but the log once reached offset {max(known.values())}"
    return context.finding(
        "N11",
        message,
        severity=Severity.ERROR if known else Severity.WARNING,
        remedy=_filled(context, known),
        detail=known,
    )


def _filled(context: PartitionContext, known: dict[str, int]) -> Remedy:
    """Of metadata, what fills it again and leaves the vote that is kept beside it."""
    if context.partition.kind == "cluster-metadata":
        return metadata_mends.mend(context)
    return context.graft() if known else context.set_aside()
