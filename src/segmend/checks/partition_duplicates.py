"""The same partition lies in two directories."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.failures import DUPLICATE
from segmend.findings import Finding, Safety, Where
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.tail import whole_end_offset
from segmend.node.older import newest_epoch

from . import remedies
from .context import BrokerContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (Code("N17", ERROR, "two directories are the same partition: the broker does not start", REFUSES),)
PAGE = Page(
    meaning="""
        A move between log dirs was interrupted, a disk was copied or put back, or `t-0` and `t-00` lie side
        by side: a broker reads both as partition 0. A KRaft broker that runs while a dir is offline may make
        its replicas anew, empty, in another one: once the dir is back there are two.""",
    broker="It does not start.",
    advice="""
        Compare the two with `segmend show`, keep the one that has records, the higher leader epoch and then
        the higher log end offset, and move the other out of the log dirs: that one is named.""",
    kafka="""
        LogManager.loadLog. Two `-future` directories of a partition are refused the same way.""",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    futures: dict[tuple[str, int], list[PartitionDir]] = {}
    for partition in broker.broker_dirs.partitions:
        if partition.kind == "future":
            futures.setdefault(partition.key, []).append(partition)
    for groups in (context.current, futures):
        for same in groups.values():
            best = max(same, key=_standing) if len(same) > 1 else same[0]
            for other in same:
                if other is not best:
                    yield _finding(broker, best, other)


def _standing(partition: PartitionDir) -> tuple[bool, int, int]:
    """What to keep: records before none, then as replicas are compared.

    A broker whose dir failed makes its replicas anew in another one, as it stops (seen on 3.9.2).
    """
    try:
        return _has_records(partition), newest_epoch(partition), whole_end_offset(partition)
    except Unreadable:
        return _has_records(partition), newest_epoch(partition), 0


def _has_records(partition: PartitionDir) -> bool:
    return any(each.log is None or each.log.size for each in partition.segments)


def _finding(broker: BrokerContext, first: PartitionDir, other: PartitionDir) -> Finding:
    name = f"{other.topic}-{other.partition}"
    lossy = Safety.LOSSY if _has_records(other) else Safety.SAFE
    return broker.of(other.log_dir).finding(
        "N17",
        f"{name} lies in {first.path} too" + ("" if _has_records(other) else ", and has no records here"),
        Where(other.name),
        of=other.key,
        broker_says=DUPLICATE.of(broker.release).format(name, first.path, other.path),
        remedy=remedies.set_aside(other.log_dir.path, other.name, safety=lossy),
    )
