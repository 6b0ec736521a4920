"""A renamed or linked partition directory that stays on the disk.

Codes
    N18  a `-future` directory whose current replica is nowhere
    N19  a `-delete` directory: removed a minute after the next start
    N20  a `-stray` directory: kept for ever, loaded at every start
    N23  a partition directory that is a symbolic link

What it means
    A broker renames a partition to `-delete` before it removes it, copies a replica
    to another log dir under the name `-future`, and sets a replica that the cluster
    does not expect aside as `-stray`. A `-future` without its current replica may be
    the only copy left on this broker. A linked directory works, but deletion renames
    the link and leaves what it points to.
What the broker does
    N18: since 3.8 it promotes it if the metadata assigns this dir ("Attempting to recover
    abandoned future log"), otherwise the move starts again. N19: it deletes it after
    file.delete.delay.ms (60 s): "Deleted log for partition ...". N20: it loads it and leaves
    it ("Loaded stray log: ..."). N23: it follows the link.
What to do
    Nothing, unless you miss the data: `segmend plan adopt` brings the directory back, and
    before a broker starts is the time for it. Where nobody misses it, `segmend plan free`
    takes it off the disk.
Kafka
    LogManager.asyncDelete (0.10.2), KIP-113 (1.1), KAFKA-14616 (3.7.1), KAFKA-16082 (3.8).
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Remedy, Severity
from segmend.logdir.tree import PartitionDir

from . import remedies
from .context import PartitionContext
from .levels import Level, Scope

CODES = {"N18": Severity.INFO, "N19": Severity.INFO, "N20": Severity.INFO, "N23": Severity.INFO}
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """What the directory's name and type say."""
    if partition.kind == "future" and not context.dir.broker.has_current(context.key):
        message = "a future replica whose current replica is in none of the log dirs looked at"
        says = f"Attempting to recover abandoned future log for {partition.topic}-{partition.partition}"
        yield context.finding("N18", message, broker_says=says, remedy=_look(context))
    elif partition.kind == "delete":
        message = "marked for deletion; removed 60 s after the next start"
        yield context.finding("N19", message, remedy=_look(context))
    elif partition.kind == "stray":
        says = f"Loaded stray log: {partition.path}"
        message = "set aside as stray; never removed and loaded at every start"
        yield context.finding("N20", message, broker_says=says, remedy=_look(context))
    if partition.is_link:
        yield context.finding("N23", "the partition directory is a symbolic link", remedy=_look(context))


def _look(context: PartitionContext) -> Remedy:
    return remedies.show(context.dir.path, context.partition.name)
