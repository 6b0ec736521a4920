"""The content of a `.log.swap` is wrong, and the broker will act on it."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import CLEANED_CONDEMNS_SWAP, COMPACTED
from segmend.findings import Finding, Where
from segmend.kernel.types import SegmentScan
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.replaced import Log, not_in_swaps, records_of
from segmend.logdir.scans import whole_scan

from .compaction_leftovers import is_finished
from .context import PartitionContext
from .manual import ERROR, LOSES, Code, Level, Page, Scope

CODES = (
    Code("N15", ERROR, "a damaged `.log.swap`: real segments are deleted to make room for it", LOSES,
         explains=("N14",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A `.swap` file is the output of a compaction, about to replace the segments between its base offset
        and its last offset. Its bytes or its last offset cannot be right, or records of these segments are
        not in it that nothing says were compacted away: it is empty, or another log's.""",
    broker="""
        Since 3.0 it does not look inside: it deletes every segment, index and producer snapshot in that range
        and renames the `.swap`.""",
    more="A last offset that is far too high takes all later segments with it.",
    advice="""
        Move the `.swap` files of this base offset out before the broker starts, if the `.log` of this offset
        is still there. If it is gone, the `.swap` is all that is left of it: copy it away first.""",
    kafka="LogLoader.load (pass 2), since 3.0.",
)
SCOPE = Scope.PARTITION
LEVEL = Level.DEFAULT


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Scan each `.log.swap` with its CRCs: there are few, and they are about to win."""
    if context.running:
        return
    for entry in partition.swap:
        base = entry.parsed.base_offset
        if base is None or not (entry.name.endswith(".log.swap") and entry.parsed.padded):
            continue
        if CLEANED_CONDEMNS_SWAP.of(context.release) and not is_finished(partition.layout, base):
            continue  # N13 has it
        scan = whole_scan(entry, base_offset=base)
        reason = _reason(scan, base, context) or _missing(entry, scan, context)
        if reason:
            yield _finding(context, entry, scan, reason)


def _reason(scan: SegmentScan, base: int, context: PartitionContext) -> str | None:
    if scan.problems:
        problem = scan.problems[0]
        return f"byte {problem.position}: {problem.kind}"
    if base > max(context.partition.layout.logs, default=-1):
        return None  # It is the end of the log itself, and no other file tells where that is.
    end = context.views[-1].base_offset if context.views else base
    if scan.next_offset > max(end, base) and context.views and scan.next_offset > context.log_end_offset:
        return f"its last offset {scan.next_offset - 1} is beyond the log's end {context.log_end_offset}"
    return None


def _missing(entry: FileEntry, scan: SegmentScan, context: PartitionContext) -> str | None:
    """What of the segments that it replaces it does not have."""
    logs = sorted(context.partition.layout.logs.items())
    files = ((base, context.partition.entry(name)) for base, name in logs)
    originals = [Log(base, file, file.size) for base, file in files]
    covered = range(scan.base_offset, max(scan.next_offset, scan.base_offset + 1))
    gone = [each for each in originals if each.base_offset in covered]
    lost = not_in_swaps([Log(scan.base_offset, entry, entry.size)], originals, gone)
    records = sum(records_of(batch) for _, batch in lost)
    return f"{records:,} records of theirs are not in it" if records else None


def _finding(context: PartitionContext, entry: FileEntry, scan: SegmentScan, reason: str) -> Finding:
    original = scan.base_offset in context.partition.layout.logs
    lost = sum(scan.base_offset < v.base_offset < scan.next_offset for v in context.views)
    return context.finding(
        "N15",
        f"the next start puts this damaged file in the place of segments ({reason}); {lost} later segments "
        "lie in its range",
        Where(entry.name, position=scan.problems[0].position if scan.problems else None),
        broker_says=COMPACTED.say(context.release, "..."),
        remedy=context.set_aside(entry.name) if original else context.look(entry.name),
    )
