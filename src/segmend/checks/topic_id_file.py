"""The partition.metadata file, which holds the topic's id, cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.checkpoints import TOPIC_IDS
from segmend.broker.strays import NO_TOPIC_ID
from segmend.findings import Finding, Remedy, Safety, Where
from segmend.formats.partition_metadata import FILE_NAME
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.topic_identity import twin_of

from . import remedies
from .context import PartitionContext
from .manual import ERROR, LOSES, OFFLINE, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("M01", ERROR, "the file is missing: in KRaft mode the directory becomes a stray", LOSES),
    Code("M02", ERROR, "the file is empty or has one line: the broker does not start", REFUSES, fatal=True),
    Code("M03", ERROR, "the topic id is no id: the broker does not start", REFUSES, fatal=True),
    Code(
        "M04", ERROR, "a line is malformed or the id is zero: the log dir goes offline", OFFLINE, fatal=True
    ),
)
PAGE = Page(
    meaning="""
        Since 2.8 each partition directory says which topic it belongs to, by id. A disk that was full while
        the file was written leaves it empty.""",
    own={
        "M01": """
            since 3.7.1 a KRaft broker renames the directory to `-stray` and creates an empty replica; 3.0 to
            3.7.0 refuse to start; in ZooKeeper mode the file is written anew.""",
        "M02, M03": "it does not start.",
        "M04": "the log dir goes offline.",
    },
    advice="""
        Write the file with the topic's id, which another partition or replica of the topic or
        `__cluster_metadata-0` knows.""",
    kafka="PartitionMetadataFile, KIP-516 (2.8), KAFKA-16814, KAFKA-20177.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_CODES = {"too-short": "M02", "bad-uuid": "M03", "malformed": "M04"}


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Missing, or its first damage."""
    if not TOPIC_IDS.of(context.release):
        return
    file = partition.partition_metadata.readable()
    if file.missing:
        # An empty directory is N11, a foreign one N02: they have more to say.
        expected = context.broker_dirs.kraft and partition.kind == "current" and partition.layout.logs
        if expected and not (context.running and _is_new(partition.afresh())):
            yield _missing(partition, context)
        return
    for damage in file.damages[:1]:
        yield context.finding(
            _CODES[damage.kind],
            _message(damage.kind, damage.reason),
            Where(FILE_NAME, position=damage.position),
            broker_says=damage.reason,
            remedy=_remedy(partition, context),
        )


def _is_new(partition: PartitionDir) -> bool:
    """Whether it came with a topic that was made just now: it is written before the first record."""
    return FILE_NAME in partition.entries or partition.unreadable is not None or not partition.size


def _message(kind: str, reason: str) -> str:
    return f"{FILE_NAME} has fewer than two lines" if kind == "too-short" else reason


def _missing(partition: PartitionDir, context: PartitionContext) -> Finding:
    says = NO_TOPIC_ID.say(context.release, partition.path)
    message = f"{FILE_NAME} is missing: the broker does not know which topic this is"
    remedy = _remedy(partition, context)
    return context.finding("M01", message, Where(FILE_NAME), broker_says=says, remedy=remedy)


def _remedy(partition: PartitionDir, context: PartitionContext) -> Remedy:
    """Repair, where something on these disks tells the topic's id; else the cluster has to be asked.

    With an id beside a twin that has it the broker would not start.
    """
    broker, topic, here = context.broker_dirs, partition.topic, partition.log_dir.path
    if partition.kind == "current" and twin_of(broker, partition) is not None:
        return remedies.set_aside(here, partition.name, safety=Safety.LOSSY)
    tellers = {other.log_dir.path for other, _ in context.dir.broker.topic_ids if other.topic == topic}
    if broker.metadata is not None and broker.metadata_dir is not None and topic in broker.metadata.ids:
        tellers.add(broker.metadata_dir.path)
    if here in tellers:
        return context.repair()
    if tellers:
        return remedies.repair_together(*(each.path for each in broker.dirs))
    return remedies.describe(topic)
