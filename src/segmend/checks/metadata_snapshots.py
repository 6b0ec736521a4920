"""A snapshot of the cluster's metadata is damaged or missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from segmend.broker.metadata_log import BAD_SNAPSHOT, INCONSISTENT
from segmend.findings import Finding
from segmend.kernel.scan import iter_batches
from segmend.logdir.files import FileEntry
from segmend.logdir.scans import whole_scan
from segmend.logdir.second_looks import look_again
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext
from .levels import Level, Scope
from .manual import ERROR, INFO, NONE, REFUSES, Code, Page

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
        K08: with other controllers, move the directory away and let it replicate; alone, move the snapshot
        out only if an older one and the whole log after it remain. K09: take the snapshot from another
        controller.""",
    kafka="KafkaMetadataLog.recoverSnapshots, RecordsSnapshotReader, KIP-630.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

_LEFTOVERS = (".checkpoint.part", ".checkpoint.deleted")


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Every snapshot with its CRCs: they are small, and one of them is loaded first."""
    if partition.kind != "cluster-metadata":
        return
    snapshots = partition.kraft_snapshots
    for entry in snapshots:
        reason = _damage(entry)
        if reason:
            yield _damaged(context, entry, *reason)
    first = min(partition.layout.logs, default=0)
    if first > 0 and not any((entry.parsed.base_offset or 0) >= first for entry in snapshots):
        message = f"the log begins at offset {first} and no snapshot reaches it"
        yield context.finding("K09", message, offset=first, broker_says=INCONSISTENT.format(first))
    leftovers = sorted(name for name in partition.entries if name.endswith(_LEFTOVERS))
    if leftovers and not context.running:
        message = f"{len(leftovers)} leftover snapshot files; the next start removes them"
        yield context.finding("K10", message, file=leftovers[0])


def _damage(entry: FileEntry) -> tuple[int, str] | None:
    """(position, reason), None for a whole snapshot."""
    scan = whole_scan(entry, base_offset=0)
    if scan.problems:
        return scan.problems[0].position, scan.problems[0].kind
    with look_again(entry) as reader:
        last = deque(iter_batches(reader), maxlen=1)
    if not last or not last[0].is_control:
        return reader.size, "the footer is missing"
    return None


def _damaged(context: PartitionContext, entry: FileEntry, position: int, reason: str) -> Finding:
    return context.finding(
        "K08",
        f"the snapshot cannot be loaded: {reason}",
        file=entry.name,
        position=position,
        broker_says=BAD_SNAPSHOT.say(context.release, entry.parsed.base_offset),
        remedy=context.set_aside(entry.name),
    )
