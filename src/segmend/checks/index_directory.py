"""A directory stands where a segment's file should be."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import READ_FAILED
from segmend.findings import Finding, Severity, Where
from segmend.formats.names import parse_file_name
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .manual import ERROR, INFO, OFFLINE, WARNING, Code, Level, Page, Scope

CODES = (
    Code("I23", ERROR, "a directory is named like a log, an index or a snapshot", OFFLINE,
         explains_beside=("N08", "P03")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        Something created it by mistake: a container mount, a script, an unpacked archive.""",
    broker="""
        It does not see it while loading. A directory in place of a log: the segment does not exist, and its
        indexes are deleted.""",
    more="""
        In place of an index: the first read from the segment takes the whole log dir offline ("Exception
        while reading from t-0 in dir ...", "Is a directory"). In place of a producer snapshot: the log dir
        goes offline when one is to be written there, which a stop and a roll do at the log end, and a
        recovery at the beginning of each segment, which 4.0 and later then empty, and delete what follows.
        Anywhere else it is a note: nothing looks there.""",
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
            severity = _severity(name, partition, context)
            yield context.finding(
                "I23",
                "a directory stands where a file of a segment should be",
                Where(name),
                broker_says=None if severity else READ_FAILED.say(context.release, partition.name),
                remedy=context.set_aside(name),
                severity=severity,
            )


def _severity(name: str, partition: PartitionDir, context: PartitionContext) -> Severity | None:
    """That of the code where a segment has such a file, or this recovery writes it; a note where nobody will.

    A later stop, roll or recovery may write one at the log end or at the beginning of a segment.
    """
    base, logs = parse_file_name(name).base_offset, partition.layout.logs
    snapshot = name.endswith(".snapshot")
    if base is None or name.endswith(".log") or (base in logs and not snapshot):
        return None
    if base not in logs and base < max(logs, default=0):
        return INFO
    below = max((each for each in logs if each < base), default=None)
    recovered = snapshot and below is not None and context.dir.recovers(partition, below)
    return None if recovered else WARNING
