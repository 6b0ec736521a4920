"""A future replica in the log dir that has its current one."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.failures import CANNOT_RENAME
from segmend.broker.strays import knows
from segmend.findings import Finding, Safety
from segmend.logdir.partition_dir import PartitionDir

from . import remedies
from .context import PartitionContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (
    Code(
        "N33", ERROR, "a `-future` directory beside its current replica, in one log dir", REFUSES, always=True
    ),
)
PAGE = Page(
    meaning="""
        A move copies a replica to another log dir. Both lie in one only where a disk was copied into another,
        or a directory put back: the broker gives the future replica the name of the current one, and that
        is taken.""",
    broker="since 3.8 it does not start; before, the log dir goes offline once the copy has caught up.",
    advice="""
        Compare the two with `segmend show`. The current one is what is served: move the other out of the log
        dirs.""",
    kafka="LogManager.recoverAbandonedFutureLogs (KAFKA-16082, 3.8), replaceCurrentWithFutureLog (KIP-113).",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    if partition.kind != "future" or not knows(partition.kind, context.release):
        return
    home = partition.log_dir.path
    if any(other.log_dir.path == home for other in context.dir.broker.current.get(context.key, ())):
        yield context.finding(
            "N33",
            f"{partition.topic}-{partition.partition} itself lies in this log dir too",
            broker_says=CANNOT_RENAME.format(f"{partition.topic}-{partition.partition}", home),
            remedy=remedies.set_aside(home, partition.name, safety=Safety.LOSSY),
        )
