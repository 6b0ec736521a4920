"""A symbolic link to nothing, a FIFO, a socket or a device stands where a file of a log should be."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from segmend.findings import Finding, Where
from segmend.logdir.partition_dir import PartitionDir

from . import remedies
from .context import PartitionContext
from .manual import ERROR, LOSES, Code, Level, Page, Scope

CODES = (
    Code("N29", ERROR, "a symbolic link to nothing, or what is no file, in place of a file of the log", LOSES,
         unplayed=True, in_the_way=True, explains=("N08", "N10", "N11", "K14b")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        What the link leads to is not there: a volume that is not mounted, a file that was moved away. What
        was in it is not part of the log now.""",
    broker="""
        Depends on the file. A linked `.log` does not exist for it: its indexes are deleted as orphans, and
        its offsets are gone. It fails where it wants to write or read such a file (an index, a snapshot,
        the epochs): the log dir goes offline, or the broker does not start; at a FIFO it waits for ever.""",
    advice="Mount what the link leads to, or bring the file back, before a broker starts.",
    kafka="LogLoader.loadSegmentFiles (File.exists), ProducerStateManager, CheckpointFile.",
)
LINK = "a symbolic link to nothing; what it led to is not part of the log"
NO_FILE = (
    "a FIFO, a socket or a device; nothing of it is part of the log, and a start may wait for it for ever"
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """From names alone."""
    for name in sorted(partition.layout.dangling):
        link, path = partition.entries[name] == "link-broken", shlex.quote(f"{partition.path}/{name}")
        yield context.finding(
            "N29",
            LINK if link else NO_FILE,
            Where(name),
            remedy=remedies.advice(f"readlink -m {path}" if link else f"ls -l {path}"),
        )
