"""An index fails the sanity check that brokers up to 2.2 made at every start.

Codes
    I25  a broker up to 2.2 takes the segment's index for corrupt and rebuilds it

What it means
    Brokers up to 2.2 looked at the first and last entry of each index while loading. The
    zeros that a killed broker leaves in its active segments fail this check in releases
    up to 1.1, so after a crash these messages are normal. Since 2.3 no broker looks.
    (This code is not in the catalogue; it stands for what those releases log.)
What the broker does
    "Found a corrupted index file corresponding to log file ... due to ..., recovering
    segment and rebuilding index files...": it scans the segment and rebuilds its indexes.
    Only time is lost. Before 0.9 it did not start.
What to do
    Nothing.
Kafka
    OffsetIndex.sanityCheck, TimeIndex.sanityCheck, KAFKA-6324, KAFKA-7283.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity
from segmend.formats import offset_index, time_index
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import PartitionDir

from .context import PartitionContext, SegmentView
from .levels import Level, Scope

CODES = {"I25": Severity.INFO}
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP

# Of OffsetIndex: up to 1.0, in 1.1, from 2.0 on.
_WORDS = ("no larger than", "no greater than", "less than")


def run(_partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    """Only at --startup, and in directories marked for deletion, too: a broker loads these as well."""
    if context.release < (2, 3) and context.level == Level.STARTUP:
        for view in context.views:
            yield from _check(view, context)


def _check(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """At most one finding a segment, since the broker stops at the first reason."""
    index, times = view.segment.index, view.segment.timeindex
    reason = (index and _offset_reason(view, context, index)) or (
        index and times and _time_reason(view, times)
    )
    if not index or not reason:
        return
    yield context.finding(
        "I25",
        f"brokers up to 2.2 rebuild the indexes of this segment: {reason}",
        file=view.segment.name,
        offset=view.base_offset,
        broker_says=_words(context, view.segment.name, reason),
    )


def _words(context: PartitionContext, log: str, reason: str) -> str:
    if context.release < (1, 1):
        told = f"requirement failed: {reason}}}. deleting ... and rebuilding index..."
        return f"Found a corrupted index file due to {told}"
    told = f"{reason}}}, recovering segment and rebuilding index files..."
    return f"Found a corrupted index file corresponding to log file {log} due to {told}"


def _offset_reason(view: SegmentView, context: PartitionContext, index: FileEntry) -> str | None:
    """OffsetIndex.sanityCheck; 2.0 relaxed it to an offset that may equal the base."""
    count, rest, _, last = _ends(index, offset_index.ENTRY_SIZE)
    offset = view.base_offset + int.from_bytes(last[:4], "big", signed=True)
    strict = context.release < (2, 0)
    if count and (offset < view.base_offset or (strict and offset == view.base_offset)):
        words = _WORDS[(context.release >= (1, 1)) + (context.release >= (2, 0))]
        found = f"Corrupt index found, index file ({index.name}) has non-zero size but the last offset"
        return f"{found} is {offset} which is {words} the base offset {view.base_offset}."
    return _odd_length("Index", index, offset_index.ENTRY_SIZE) if rest else None


def _time_reason(view: SegmentView, times: FileEntry) -> str | None:
    """TimeIndex.sanityCheck."""
    unit = time_index.ENTRY_SIZE
    count, rest, start, last = _ends(times, unit)
    first = int.from_bytes(start[:8], "big", signed=True)
    timestamp = int.from_bytes(last[:8], "big", signed=True)
    offset = view.base_offset + int.from_bytes(last[8:], "big", signed=True)
    found = f"Corrupt time index found, time index file ({times.name}) has non-zero size but the last"
    if count and timestamp < first:
        return f"{found} timestamp is {timestamp} which is less than the first timestamp {first}"
    if count and offset < view.base_offset:
        return f"{found} offset is {offset} which is less than the first offset {view.base_offset}"
    return _odd_length("Time index", times, unit) if rest else None


def _ends(file: FileEntry, unit: int) -> tuple[int, int, bytes, bytes]:
    """(whole entries, bytes after them, first entry, last entry); entries are empty if there is none."""
    with file.reader() as reader:
        count, rest = divmod(reader.size, unit)
        if count == 0:
            return 0, rest, b"", b""
        first = reader.read(unit)
        return count, rest, first, first if count == 1 else reader.read(unit, (count - 1) * unit)


def _odd_length(kind: str, file: FileEntry, unit: int) -> str:
    found = f"{kind} file {file.name} is corrupt, found {file.size} bytes"
    return f"{found} which is neither positive nor a multiple of {unit}."
