"""Entries of a time index do not agree with the batches."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.deletions import FUTURE
from segmend.broker.serving import TIME_BACKWARDS
from segmend.findings import Finding, Where
from segmend.formats.time_index import ENTRY_SIZE
from segmend.kernel.holes import ORDER_KINDS
from segmend.kernel.types import IndexMatch, IndexMismatch, SegmentScan
from segmend.logdir.index_file import last_entry
from segmend.wording import plural

from .context import PartitionContext
from .evidence import in_flight, problems, was_cut
from .manual import NONE, WARNING, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("I15", WARNING, "the last timestamp is larger than that of any batch", NONE, ignored=True,
         derived=True),
    Code("I16", WARNING, "entries are out of order, outside the segment, or have another batch's timestamp",
         WRONG, ignored=True, derived=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        Bits flipped, or the file belongs to another segment. An entry may name any offset of the batch that
        has its timestamp: leaders before 3.7 name the record.""",
    broker="""
        It notices nothing. The last entry decides about retention: I15 keeps the segment for too long
        ("contains future timestamp(s), making it ineligible to be deleted"), a last timestamp too small lets
        it go early.""",
    more="""
        Lookups by time go wrong. In the active segment an offset too high makes produce requests fail when
        the next entry is due: "Attempt to append an offset (224) to slot 9 no larger than the last offset
        appended".""",
    advice="Rebuild the time index from the log. Nothing is lost.",
    kafka="TimeIndex.maybeAppend, TimeIndex.lookup, LogSegment.largestTimestamp.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    match, scan = view.scan.time_index, view.scan
    if match is None or not match.mismatches or in_flight(view) or not view.size:
        return
    timestamp = _last_timestamp(view)
    whole = not (scan.damaged_batches or scan.tail or was_cut(view, scan) or _holds_magic_0(scan))
    if whole and timestamp > scan.max_timestamp >= 0:
        yield _too_large(view, context, match, timestamp)
    elif _wrong(view, match):
        yield _finding(view, context, match, _wrong(view, match)[0])


def _holds_magic_0(scan: SegmentScan) -> bool:
    """Brokers of 0.10 indexed the timestamps of messages that they then stored in the format without."""
    return any(magic == 0 for magic, _ in scan.magics)


def _last_timestamp(view: SegmentView) -> int:
    last = last_entry(view.segment.timeindex, ENTRY_SIZE)
    return int.from_bytes(last.data[:8], "big", signed=True) if last else -1


def _wrong(view: SegmentView, match: IndexMatch) -> list[IndexMismatch]:
    """All mismatches but those that a cut or damaged log leaves behind."""
    scan = view.scan
    if problems(scan, *ORDER_KINDS):
        return []  # a batch at a wrong offset contradicts a right entry
    if _holds_magic_0(scan):
        return [m for m in match.mismatches if m.kind not in ("timestamp-differs", "timestamp-exceeded")]
    cut = was_cut(view, scan) or scan.tail or scan.damaged_batches
    return [m for m in match.mismatches if not (cut and m.kind in ("offset-past-end", "no-batch"))]


def _too_large(view: SegmentView, context: PartitionContext, match: IndexMatch, timestamp: int) -> Finding:
    return context.finding(
        "I15",
        f"the last timestamp is {timestamp}, the largest in the log is {view.scan.max_timestamp}",
        Where(
            view.named("timeindex"),
            position=(match.entries - 1) * ENTRY_SIZE,
            offset=view.scan.offset_of_max_timestamp,
        ),
        broker_says=FUTURE.say(context.release, segments="..."),
        remedy=context.repair(deep=view.is_hidden("timeindex", ENTRY_SIZE)),
        timestamp_ms=timestamp,
        max_timestamp_ms=view.scan.max_timestamp,
    )


def _finding(view: SegmentView, context: PartitionContext, match: IndexMatch, one: IndexMismatch) -> Finding:
    return context.finding(
        "I16",
        f"{plural(match.mismatched, 'entry', 'entries')} of {match.entries:,} do not agree with the log;"
        f" the first: timestamp {one.timestamp}, offset {one.offset} ({one.kind}, expected {one.expected})",
        Where(view.named("timeindex"), position=one.entry * ENTRY_SIZE, offset=one.offset),
        broker_says=TIME_BACKWARDS.of(context.release) if one.kind == "offset-past-end" else None,
        remedy=context.repair(deep=view.is_hidden("timeindex", ENTRY_SIZE)),
        kind=one.kind,
        mismatched=match.mismatched,
    )
