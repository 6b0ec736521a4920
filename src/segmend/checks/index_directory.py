"""A directory stands where a segment's file should be."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import READ_FAILED
from segmend.findings import Finding, Where
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext
from .manual import ERROR, OFFLINE, Code, Level, Page, Scope

CODES = (
    Code("I23", ERROR, "a directory is named like a log, an index or a snapshot", OFFLINE,
         explains_beside=("N08",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        Something created it by mistake: a container mount, a script, an unpacked archive.""",
    broker="""
        It does not see it while loading. A directory in place of a log: the segment does not exist, and its
        indexes are deleted.""",
    more="""
        In place of an index: the first read from the segment takes the whole log dir offline ("Exception
        while reading from t-0 in dir ...", "Is a directory").""",
    advice="Move the directory out of the log dirs.",
    kafka="LogLoader (listFiles, isFile), AbstractIndex.createAndAssignMmap.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """From names alone."""
    for name in sorted(partition.layout.directories):
        if name.endswith(_SUFFIXES) and partition.entries[name] in FOLDERS:
            yield context.finding(
                "I23",
                "a directory stands where a file of a segment should be",
                Where(name),
                broker_says=READ_FAILED.say(context.release, partition.name),
                remedy=context.set_aside(name),
            )
