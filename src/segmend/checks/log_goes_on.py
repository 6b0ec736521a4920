"""A log that is longer than its broker left it as it stopped."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.stops import ended_at

from .context import PartitionContext
from .manual import NONE, WARNING, WRONG, Code, Level, Page, Scope

CODES = (Code("C15", WARNING, "the log goes on behind where its broker stopped in order", NONE, WRONG),)
PAGE = Page(
    meaning="""
        A broker that stops in order writes the recovery point of each log at its end, and then the marker. So
        this is another log (a topic made anew, a copy of another moment), or somebody wrote the marker over
        the logs of a broker that was killed.""",
    broker="""
        It skips recovery and takes the log as it is.""",
    advice="""
        If the broker was killed, remove the marker before it starts; else look for the log that belongs to
        the checkpoints.""",
    kafka="LogManager.shutdown.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """As the forecast asks (`loading.reached.gone_on`)."""
    if partition.kind != "current" or not context.views or context.running or not context.dir.clean:
        return
    at, end = ended_at(*map(context.checkpointed, (RECOVERY_POINT, HIGH_WATERMARK))), context.log_end_offset
    if at is not None and at < end:
        words = f"the log ends at {end}, and ended at {at} when its broker stopped in order"
        yield context.finding("C15", words, Where(offset=at), detail={"log_end_offset": end})
