"""A snapshot of the cluster's metadata is damaged or missing."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.metadata_log import BAD_SNAPSHOT, INCONSISTENT
from segmend.findings import Finding, Where
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_copy import snapshot_damage

from . import metadata_mends
from .context import PartitionContext
from .manual import ERROR, INFO, NONE, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("K08", ERROR, "a snapshot of the metadata without its footer, or with a damaged batch", REFUSES),
    Code("K09", ERROR, "the log begins after offset 0 and no snapshot covers what came before", REFUSES),
    Code("K10", INFO, "leftovers of snapshots: removed by the next start", NONE),
)
PAGE = Page(
    meaning="""
        A `<end offset>-<epoch>.checkpoint` holds the whole metadata as of that offset, from a header record
        to a footer record. The log before it is deleted in time.""",
    own={
        "K08": """
            since 3.6 the process exits over the newest snapshot if it is empty or a batch of it is damaged.
            One that is cut off is read as far as it goes: what it lacks ends the process or makes strays. Up
            to 3.5 it is read only if the log begins after offset 0; older snapshots are not read.""",
        "K09": '"Inconsistent snapshot state".',
        "K10": "it removes `.part` and `.deleted` files.",
    },
    advice="""
        `plan quorum` sets a damaged snapshot aside where an older one, or none, and the whole log after it
        remain. Else (K09, too) it takes both from another controller or broker: `--from`.""",
    kafka="KafkaMetadataLog.recoverSnapshots, RecordsSnapshotReader, KIP-630.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_LEFTOVERS = (".checkpoint.part", ".checkpoint.deleted")


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Every snapshot with its CRCs: they are small, and one of them is loaded first; raises `Unreadable`."""
    if partition.kind != "cluster-metadata":
        return
    snapshots = partition.kraft_snapshots
    first = min(partition.layout.logs, default=0)
    if first > 0 and not any((entry.parsed.base_offset or 0) >= first for entry in snapshots):
        message = f"the log begins at offset {first} and no snapshot reaches it"
        remedy, says = metadata_mends.mend(context), INCONSISTENT.format(first)
        yield context.finding("K09", message, Where(offset=first), broker_says=says, remedy=remedy)
    leftovers = sorted(name for name in partition.entries if name.endswith(_LEFTOVERS))
    if leftovers and not context.running:
        message = f"{len(leftovers)} leftover snapshot files; the next start removes them"
        yield context.finding("K10", message, Where(leftovers[0]))
    for entry in snapshots:
        reason = snapshot_damage(entry)
        if reason:
            yield _damaged(context, entry, *reason, newest=entry is snapshots[-1])


def _damaged(
    context: PartitionContext, entry: FileEntry, position: int, reason: str, *, newest: bool
) -> Finding:
    return context.finding(
        "K08",
        f"the snapshot cannot be loaded: {reason}",
        Where(entry.name, position=position),
        broker_says=BAD_SNAPSHOT.say(context.release, entry.parsed.base_offset),
        remedy=metadata_mends.mend(context) if newest else context.set_aside(entry.name),
    )
