"""A checkpointed offset does not fit the log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import DIRTY_OFFSET_ABOVE_END, START_ABOVE_END
from segmend.findings import Finding, Severity, Where
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.older import mark_is_older

from .context import PartitionContext
from .manual import ERROR, LOSES, NONE, SLOW, WARNING, WRONG, Code, Level, Page, Scope

CODES = (
    Code("C04", WARNING, "the recovery point is beyond the log end offset", NONE, WRONG),
    Code("C08", ERROR, "the log start offset is beyond the log end offset: all segments will be deleted",
         LOSES),
    Code("C10b", ERROR, "the high watermark is beyond the log end offset: records are missing at the end",
         WRONG, explains=("C04",)),
    Code("C11b", WARNING, "the cleaner's offset is beyond the log end offset: it will be reset", SLOW),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The log once reached further than it does now: its end was cut off or lost, segments were put back
        from an older copy, or a line was edited.""",
    own={
        "C08": """
            since 2.3 it deletes all segments of the partition and starts an empty one at the log start
            offset.""",
        "C04, C10b, C11b": """
            it takes the log end offset instead. Records that were acknowledged are missing; a follower
            fetches them again, a leader without followers gives their offsets out a second time.""",
    },
    advice="""
        If another replica is healthy: move the directory away and let it replicate. C08: lower the log start
        offset before the broker starts, unless the records really are gone; then keep the high value, so that
        no offset is given out twice.""",
    kafka="""
        LogLoader.recoverLog (KAFKA-8306, 2.3), UnifiedLog.updateHighWatermark,
        LogCleanerManager.cleanableOffsets.""",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_NAMES = {
    "C04": (RECOVERY_POINT, "recovery point"),
    "C08": (LOG_START_OFFSET, "log start offset"),
    "C10b": (HIGH_WATERMARK, "high watermark"),
    "C11b": (CLEANER_OFFSET, "first dirty offset"),
}


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Only what exceeds the last segment's base needs the log end offset looked up."""
    if partition.kind != "current" or not context.views or context.running:
        return
    base = context.views[-1].base_offset
    for code, (name, what) in _NAMES.items():
        value = context.checkpointed(name)
        if value is not None and value > base and value > context.log_end_offset:
            older = name == HIGH_WATERMARK and mark_is_older(partition, context.broker_dirs.metadata)
            yield _finding(context, code, what, value) if older is False else _older(context, value, older)


def _finding(context: PartitionContext, code: str, what: str, value: int) -> Finding:
    end = context.log_end_offset
    return context.finding(
        code,
        f"the {what} is {value}, but the log ends at {end}",
        Where(offset=value),
        broker_says=_says(context, code, value, end),
        remedy=context.repair() if code in ("C08", "C11b") else context.graft(),
        detail={"log_end_offset": end},
    )


def _older(context: PartitionContext, value: int, sure: bool | None) -> Finding:
    of_whom = "is" if sure else f"is above the end {context.log_end_offset}, and may be"
    words = f"the high watermark {value} {of_whom} of a topic of this name before: its checkpoint is older"
    severity = Severity.INFO if sure else Severity.WARNING
    return context.finding("C10b", words, Where(offset=value), severity=severity)


def _says(context: PartitionContext, code: str, value: int, end: int) -> str | None:
    topic, partition = context.key
    if code == "C08":
        return START_ABOVE_END.say(context.release, end, value)
    if code == "C11b":
        return DIRTY_OFFSET_ABOVE_END.say(context.release, f"{topic}-{partition}", value, end)
    return None
