"""The leader-epoch-checkpoint cannot be read, or contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Remedy, Where
from segmend.formats.epoch_checkpoint import FILE_NAME
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_image import MetadataImage
from segmend.node.tiered import may_be_tiered

from . import remedies
from .context import PartitionContext
from .manual import ERROR, OFFLINE, REFUSES, WARNING, WRONG, Code, Level, Page, Scope

CODES = (
    Code("E01", ERROR, "wrong count, number of tokens or version: the log dir goes offline", OFFLINE,
         fatal=True),
    Code("E02", ERROR, "a token that is no number: the broker does not start", REFUSES, fatal=True),
    Code("E03", ERROR, "a negative epoch or offset: the broker does not start", REFUSES, fatal=True),
    Code("E05", WARNING, "epochs or offsets that do not increase: earlier entries are dropped", WRONG),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The file says at which offset each leader epoch began. Replicas compare epochs to find where their
        histories part, and truncate there.""",
    own={
        "E01": "the whole log dir goes offline.",
        "E02, E03": "the broker does not start.",
        "E05": """
            it keeps the last of the entries that conflict, so peers truncate at wrong offsets.""",
    },
    advice="Write the file anew from the epochs in the batches.",
    kafka="LeaderEpochCheckpointFile, LeaderEpochFileCache.assign, KIP-101 (0.11).",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_COPY = "the leader-epoch-checkpoint of another replica of {} in the place of this one"
_CODES = {"not-a-number": "E02", "negative-entry": "E03", "not-increasing": "E05"}
# Loading fails on these, so nothing else in the file matters.
_FATAL = frozenset(code.name for code in CODES if code.fatal)


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """The first damage that stops the reader, else the first entry out of order."""
    coded = [(_CODES.get(damage.kind, "E01"), damage) for damage in context.epochs.damages]
    fatal = [item for item in coded if item[0] in _FATAL]
    for code, damage in (fatal or coded)[:1]:
        yield context.finding(
            code,
            damage.reason,
            Where(FILE_NAME, position=damage.position),
            broker_says=damage.reason,
            remedy=mend(context),
        )


def mend(context: PartitionContext) -> Remedy | None:
    """The file made anew, but never that of a replica that is being moved here.

    Without the file it is copied anew and nothing is lost; with it, it takes over whatever it lacks.
    Nor that of a log whose older epochs only remote storage has: a replica's is told to be taken.
    """
    if context.partition.kind == "future":
        return context.set_aside(FILE_NAME) if context.epochs.damages else None
    if may_be_tiered(context.partition, context.broker_dirs.metadata or MetadataImage()):
        return remedies.advice(_COPY.format(context.partition.name))
    return context.repair()
