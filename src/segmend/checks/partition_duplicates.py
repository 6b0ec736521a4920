"""The same partition lies in two directories."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.failures import DUPLICATE
from segmend.findings import Finding, Safety, Where
from segmend.logdir.tree import PartitionDir

from . import remedies
from .context import BrokerContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (Code("N17", ERROR, "two directories are the same partition: the broker does not start", REFUSES),)
PAGE = Page(
    meaning="""
        A move between log dirs was interrupted, a disk was copied or put back, or `t-0` and `t-00` lie side
        by side: a broker reads both as partition 0.""",
    broker="It does not start.",
    advice="""
        Compare the two with `segmend show`, keep the one that has the higher leader epoch and then the higher
        log end offset, and move the other out of the log dirs.""",
    kafka="""
        LogManager.loadLog. Two `-future` directories of a partition are refused the same way.""",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    futures: dict[tuple[str, int], list[PartitionDir]] = {}
    for log_dir in broker.dirs:
        for partition in log_dir.partitions:
            if partition.kind == "future":
                futures.setdefault(partition.key, []).append(partition)
    for groups in (context.current, futures):
        for same in groups.values():
            for other in same[1:]:
                yield _finding(broker, same[0], other)


def _finding(broker: BrokerContext, first: PartitionDir, other: PartitionDir) -> Finding:
    name = f"{other.topic}-{other.partition}"
    return broker.of(other.log_dir).finding(
        "N17",
        f"{name} lies in {first.path} too",
        Where(other.name),
        of=other.key,
        broker_says=DUPLICATE.of(broker.release).format(name, first.path, other.path),
        remedy=remedies.set_aside(other.log_dir.path, other.name, safety=Safety.LOSSY),
    )
