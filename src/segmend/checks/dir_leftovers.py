"""A renamed or linked partition directory that stays on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.broker.strays import (
    ABANDONED_FUTURE,
    LOADED_STRAY,
    PROMOTES_FUTURE,
    STRAYS,
    StrayHandling,
    knows,
    stray_reason,
)
from segmend.findings import Finding, Remedy, Safety, Severity
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage
from segmend.node.topic_identity import of_no_topic, others_that_may_lead

from . import remedies
from .context import PartitionContext
from .manual import INFO, NONE, Code, Level, Page, Scope

CODES = (
    Code("N18", INFO, "a `-future` directory whose current replica is nowhere", NONE, always=True),
    Code("N19", INFO, "a `-delete` directory: removed a minute after the next start", NONE, always=True),
    Code("N20", INFO, "a `-stray` directory: kept for ever, loaded at every start", NONE, always=True),
    Code("N23", INFO, "a partition directory that is a symbolic link", NONE, always=True),
)
PAGE = Page(
    meaning="""
        A broker renames a partition to `-delete` before it removes it, copies a replica to another log dir
        under the name `-future`, and sets a replica that the cluster does not expect aside as `-stray`. A
        `-future` without its current replica may be the only copy left on this broker. A linked directory
        works, but deletion renames the link and leaves what it points to.""",
    own={
        "N18": """
            since 3.8 it promotes it if the metadata assigns this dir ("Attempting to recover abandoned future
            log"), otherwise the move starts again.""",
        "N19": """
            it deletes it after file.delete.delay.ms (60 s): "Deleted log for partition ...".""",
        "N20": 'it loads it and leaves it ("Loaded stray log: ...").',
        "N23": "it follows the link.",
    },
    advice="""
        Nothing, unless you miss the data: `segmend plan adopt` brings the directory back, and before a broker
        starts is the time for it. Where nobody misses it, `segmend plan free` takes it off the disk.""",
    kafka="""
        LogManager.asyncDelete (0.10.2), KIP-113 (1.1), KAFKA-14616 (3.7.1), KAFKA-16082 (3.8).""",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

OWN: Final = ("segmend", 0)
"""The partition whose `-delete` directories are halves of a move that segmend was stopped in."""
_STOPPED: Final = (
    "half of a copy that `segmend apply` or `segmend undo` was stopped in, unless a topic is called segmend: "
    "the same command goes on; `segmend undo` brings back what was (`segmend journal` names it)"
)
_MISSED = "; the metadata here expects this replica, and nothing else of it has records"


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """What the directory's name and type say, and whether it is what the cluster expects to find here."""
    if not knows(partition.kind, context.release):
        return  # N01
    missed = _is_missed(partition, context)
    if partition.kind == "future" and not context.dir.broker.has_current(context.key):
        message = "a future replica whose current replica is in none of the log dirs looked at"
        says = ABANDONED_FUTURE.say(context.release, f"{partition.topic}-{partition.partition}")
        if missed and not _is_promoted(partition, context):
            yield _left(context, "N18", message, missed=True)
        else:
            yield context.finding("N18", message, broker_says=says, remedy=_back(context))
    elif partition.kind == "delete" and partition.key == OWN:
        yield context.finding("N19", _STOPPED, severity=Severity.WARNING, remedy=_look(context))
    elif partition.kind == "delete":
        message = "marked for deletion; removed 60 s after the next start"
        yield _left(context, "N19", message, missed=missed)
    elif partition.kind == "stray":
        says = LOADED_STRAY.say(context.release, partition.path)
        message = "set aside as stray; never removed and loaded at every start"
        yield _left(context, "N20", message, says, missed=missed)
    if partition.is_link:
        remedy = remedies.show(context.dir.path, partition.name)
        yield context.finding("N23", "the partition directory is a symbolic link", remedy=remedy)


def _left(
    context: PartitionContext, code: str, message: str, says: str | None = None, *, missed: bool
) -> Finding:
    return context.finding(
        code,
        message + _MISSED if missed else message,
        broker_says=says,
        remedy=_back(context, missed=missed) if missed or code == "N20" else _look(context),
        severity=Severity.ERROR if missed else None,
    )


def _is_missed(partition: PartitionDir, context: PartitionContext) -> bool:
    """Whether the metadata on these disks expects just this replica here, and no other has a record."""
    image = context.broker_dirs.image
    if partition.kind not in ("delete", "stray", "future") or image is None or not partition.size:
        return False
    if partition.topic_id is None or _others(context):
        return False
    # Brokers cut long names short; under the name of another topic it is a copy of that one's.
    if not image.names.get(partition.topic_id, "").startswith(partition.topic):
        return False
    return not _stray_reason(partition, image, context.broker_dirs.node_id)


def _stray_reason(partition: PartitionDir, image: MetadataImage, node_id: int | None) -> str | None:
    return stray_reason(
        image, topic_id=partition.topic_id, partition=partition.partition, node_id=node_id,
        path=partition.path,
    )  # fmt: skip


def _is_promoted(partition: PartitionDir, context: PartitionContext) -> bool:
    """Whether the start makes the copy of a move the current replica."""
    image, node_id = context.broker_dirs.image, context.broker_dirs.node_id
    if image is None or partition.topic_id is None or not PROMOTES_FUTURE.of(context.release):
        return False
    home = image.directory(partition.topic_id, partition.partition, node_id)
    return home is not None and home == context.dir.log_dir.directory_id


def _others(context: PartitionContext) -> list[PartitionDir]:
    """Current directories of the same partition that have records."""
    return [other for other in context.dir.broker.current.get(context.key, ()) if other.size]


def _back(context: PartitionContext, *, missed: bool = False) -> Remedy:
    """How it becomes the partition again that it was, unless another one is in its place."""
    if _others(context):
        return _look(context)
    partition, broker = context.partition, context.broker_dirs
    replace = context.dir.broker.has_current(context.key)
    if of_no_topic(broker, partition):
        if _may_be_cut(partition, broker):
            return _look(context)
        log_dirs = [each.path for each in broker.dirs]
        return remedies.adopt_for_today(log_dirs, partition.path, replace=replace)
    if _would_be_stray(partition, broker):
        return _look(context)
    # The copy of a move need not be whole.
    safety = Safety.SAFE if missed and partition.kind != "future" else Safety.ADVICE
    return remedies.adopt(context.dir.path, partition.name, replace=replace, safety=safety)


def _may_be_cut(partition: PartitionDir, broker: BrokerDirs) -> bool:
    """Whether another node may lead the topic of today, with other records, or none."""
    today = None if broker.metadata is None else broker.metadata.ids.get(partition.topic)
    return bool(others_that_may_lead(broker, today, partition.partition))


def _would_be_stray(partition: PartitionDir, broker: BrokerDirs) -> bool:
    """Whether the next start would set it aside again, so that nobody is given a plan to adopt it."""
    image = broker.image
    if image is None or not broker.kraft or STRAYS.of(broker.release) is StrayHandling.NONE:
        return False
    return bool(_stray_reason(partition, image, broker.node_id))


def _look(context: PartitionContext) -> Remedy:
    """It, and what is served in its place."""
    paths = [context.partition.path, *(other.path for other in _others(context))]
    return remedies.look(*paths)
