"""A renamed or linked partition directory that stays on the disk."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.strays import ABANDONED_FUTURE, LOADED_STRAY
from segmend.findings import Finding, Remedy
from segmend.logdir.tree import PartitionDir

from . import remedies
from .context import PartitionContext
from .levels import Level, Scope
from .manual import INFO, NONE, Code, Page

CODES = (
    Code("N18", INFO, "a `-future` directory whose current replica is nowhere", NONE),
    Code("N19", INFO, "a `-delete` directory: removed a minute after the next start", NONE),
    Code("N20", INFO, "a `-stray` directory: kept for ever, loaded at every start", NONE),
    Code("N23", INFO, "a partition directory that is a symbolic link", NONE),
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


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """What the directory's name and type say."""
    if partition.kind == "future" and not context.dir.broker.has_current(context.key):
        message = "a future replica whose current replica is in none of the log dirs looked at"
        says = ABANDONED_FUTURE.say(context.release, f"{partition.topic}-{partition.partition}")
        yield context.finding("N18", message, broker_says=says, remedy=_look(context))
    elif partition.kind == "delete":
        message = "marked for deletion; removed 60 s after the next start"
        yield context.finding("N19", message, remedy=_look(context))
    elif partition.kind == "stray":
        says = LOADED_STRAY.say(context.release, partition.path)
        message = "set aside as stray; never removed and loaded at every start"
        yield context.finding("N20", message, broker_says=says, remedy=_look(context))
    if partition.is_link:
        yield context.finding("N23", "the partition directory is a symbolic link", remedy=_look(context))


def _look(context: PartitionContext) -> Remedy:
    return remedies.show(context.dir.path, context.partition.name)
