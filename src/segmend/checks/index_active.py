"""The last entry of the active segment's offset index does not fit its log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity, Where
from segmend.frozen import frozen, replace
from segmend.kernel.holes import ORDER_KINDS
from segmend.kernel.indexes import OFFSET_ENTRY
from segmend.kernel.scan import iter_batches
from segmend.logdir.beyond_end import Beyond, beyond_end

from .context import PartitionContext
from .evidence import (
    batch_at,
    claimed_end,
    ended_there,
    in_flight,
    is_sound,
    problems,
    too_small,
)
from .manual import ERROR, LOSES, NONE, REFUSES, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("I04", ERROR, "its offset is above the last offset in the log", LOSES, NONE, derived=True),
    Code("I05", ERROR, "its position is past the end of the log", LOSES, NONE, derived=True),
    Code("I06", ERROR, "no batch begins at its position", REFUSES, NONE, derived=True),
    Code("L25", ERROR, "the log ends before its index: the end of the log is lost", LOSES, NONE,
         explains=("C04", "C10b", "E06", "I15", "I21", "L03")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker finds the end of the log by reading from this entry. The entry may be wrong (I04 to I06), or
        it is right and the end of the log is gone (L25: a producer snapshot, the recovery point or the high
        watermark lies beyond the end of the log, too, or there are zeros where the entry points). Where only
        this index goes on behind the end of a log that was not stopped cleanly, L25 is a warning: a broker
        appends to the log first, so its end is gone (the machine lost power, a copy is older than the index),
        or the entry is wrong.""",
    broker="""
        Without the clean marker it rebuilds the index, and the log end offset is where the log ends.""",
    more="""
        With the marker: I04, I05, L25: it takes the base offset of the segment for the log end offset;
        producers append these offsets a second time, and followers truncate.""",
    own={
        "I06": """
            it dies while loading ("Found record size N smaller than minimum record overhead (14)"), or takes
            whatever bytes it meets for a batch."""
    },
    advice="""
        I04 to I06: delete or rebuild the index before the start. L25: look for the lost end on another
        replica first; then trim the index to the log.""",
    kafka="LogSegment.readNextOffset, OffsetIndex.lookup.",
)
_DOUBT = "nothing else tells whether the end of the log is gone, or the entry is wrong"
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP


@frozen
class _Last:
    """The last entry before the preallocated zeros, its number, and the offset it stands for."""

    row: int
    position: int
    offset: int


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """Only the active segment, only its last entry: what every start looks at."""
    if not view.is_active or in_flight(view):
        return
    last = _last_entry(view)
    own = [] if last is None or last.position < 0 else [*_of_entry(view, context, last)]
    yield from own or _by_others(view, context)


def _of_entry(view: SegmentView, context: PartitionContext, last: _Last) -> Iterator[Finding]:
    if last.position >= view.size:
        yield _past_end(view, context, last)
    elif not is_sound(view, last.position):
        yield from _off_boundary(view, context, last)
    elif not _reached(view, last):
        words = f"the last entry names offset {last.offset}, the log ends before {view.tail.next_offset}"
        yield _finding(view, context, "I04", words, last)


def _by_others(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """The other indexes may have been written where this one was not."""
    end = (view.tail if context.level == Level.STARTUP else view.scan).next_offset
    if context.level > Level.STARTUP and problems(view.scan, *ORDER_KINDS):
        return  # The last batch is at a wrong offset; the log may well have what the entry is about.
    claimed = context.partition.kind == "cluster-metadata" or claimed_end(context) > end  # K07, C04, C10b
    beyond = None if claimed else _beyond(view, end)
    if beyond is not None:
        words = f"the log ends at offset {end}, {beyond.files[0]} has offset {beyond.offset}"
        last = _Last(row=0, position=view.size, offset=beyond.offset)
        yield replace(_finding(view, context, "L25", f"{words}: {_DOUBT}", last), severity=Severity.WARNING)


def _beyond(view: SegmentView, end: int) -> Beyond | None:
    return None if ended_there(view, end) else beyond_end(view.segment, view.size, end)


def _last_entry(view: SegmentView) -> _Last | None:
    last = view.last_index_entry()
    if last is None:
        return None
    relative, position = OFFSET_ENTRY.unpack(last.data)
    return _Last(row=last.row, position=position, offset=view.base_offset + relative)


def _reached(view: SegmentView, last: _Last) -> bool:
    """Whether a batch from there on holds the entry's offset (LogSegment.translateOffset)."""
    return any(batch.last_offset >= last.offset for batch in iter_batches(view.reader, start=last.position))


def _past_end(view: SegmentView, context: PartitionContext, last: _Last) -> Finding:
    size, end = view.size, view.tail.next_offset
    claimed = claimed_end(context)
    words = f"the log has {size:,} bytes, its index goes to {last.position:,}"
    if claimed > end:
        return _finding(view, context, "L25", f"{words}; offset {claimed} was reached", last)
    beyond = _beyond(view, end)
    if beyond is None:
        words = f"the last entry points to byte {last.position:,}, the log has {size:,}"
        return _finding(view, context, "I05", words, last)
    if len(beyond.files) > 1:
        words = f"{words}; {beyond.files[1]} has offset {beyond.offset}, too"
        return _finding(view, context, "L25", words, last)
    return replace(_finding(view, context, "L25", f"{words}: {_DOUBT}", last), severity=Severity.WARNING)


def _off_boundary(view: SegmentView, context: PartitionContext, last: _Last) -> Iterator[Finding]:
    """A batch with a bad CRC at the right place is the log's fault, not the index's."""
    batch = batch_at(view, last.position)
    if batch is not None and _fits(view, last, batch.base_offset, batch.magic):
        return
    if view.is_zero_from(last.position):
        words = f"zeros to the end of the log, where its index has a batch at byte {last.position:,}"
        yield _finding(view, context, "L25", words, last)
        return
    yield _finding(
        view, context, "I06", f"no batch begins at byte {last.position:,}, where the last entry points", last
    )


def _fits(view: SegmentView, last: _Last, base_offset: int, magic: int) -> bool:
    return view.base_offset <= base_offset <= last.offset and 0 <= magic <= 2


def _finding(view: SegmentView, context: PartitionContext, code: str, words: str, last: _Last) -> Finding:
    return context.finding(
        code,
        words,
        Where(
            view.segment.name if code == "L25" else view.named("index"),
            position=min(view.size, last.position) if code == "L25" else last.row * OFFSET_ENTRY.size,
            offset=last.offset,
        ),
        broker_says=too_small(view) if code == "I06" else None,
        remedy=context.graft() if code == "L25" else context.repair(),
    )
