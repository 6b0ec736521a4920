"""The last bytes of a log are no whole batch."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import INVALID_MESSAGES
from segmend.findings import Finding, Severity, Where
from segmend.formats.batch import HEADER_SIZE_UP_TO_MAGIC
from segmend.wording import plural

from .batch_faults import whole_at_end
from .context import PartitionContext
from .evidence import healed_at_start, in_flight, too_small
from .manual import ERROR, LOSES, NONE, REFUSES, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("L01", ERROR, "the last batch is shorter than its size field says", LOSES, NONE, trimmed=True,
         explains=("C04", "C10b", "E06")),
    Code("L02", ERROR, "up to 17 bytes follow the last batch, less than a header", LOSES, NONE, trimmed=True,
         explains=("C04", "C10b", "E06")),
    Code("L03", ERROR, "the log ends in zero bytes", REFUSES, NONE, trimmed=True,
         explains=("C04", "C10b", "E06")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The broker died, or the machine lost power, while a batch was written or while the file system had
        given the file its length and not yet its bytes; a preallocated log (`log.preallocate=true`) ends in
        zeros until it is rolled. Or the file was copied from a running broker. What follows the last whole
        batch is not data.""",
    broker="""
        Without the clean marker it cuts the active segment at the last whole batch and says "Found invalid
        messages in log segment F at byte offset P.". What was there no file tells: a batch that was never
        whole (kill -9), or acknowledged ones that had not reached the disk (power cut): a warning. Zeros up
        to segment.bytes are those of a preallocated log: a note, nothing is lost. Where the index goes into
        the zeros, there were batches: L25.""",
    more="""
        With the marker nothing is cut. After L01 and L02 it appends behind the torn bytes, and whatever comes
        from then on can never be read: "Found record size 0 smaller than minimum record overhead (14) in file
        ...". On L03 it dies while loading. In a rolled segment, below the recovery point, nothing is ever
        cut: readers stop there and go on with the next segment; the records that stood there are lost. A
        note, where none can have stood there: the next segment begins with the next offset.""",
    advice="""
        With the marker: cut the log at the last whole batch (`segmend plan trim`) before the broker starts,
        or remove the marker and let it recover. Rolled segment: take what is missing from another replica
        (`segmend plan repair --from`, `segmend plan graft`); else cut it.""",
    kafka="FileLogInputStream.nextBatch, LogSegment.recover, LogSegment.readNextOffset.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.STARTUP

_CODE_OF = {"torn-tail": "L01", "header-fragment": "L02", "zero-tail": "L03"}


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """Judge what ends the file; at --startup only where a broker looks."""
    if context.partition.kind == "cluster-metadata" or in_flight(view):
        return  # K07
    startup = context.level == Level.STARTUP
    if startup and not view.has_problems:
        return
    zeros = startup and view.meets_zeros
    tail = ("zero-tail", view.tail.position, view.size) if zeros else _seen_by_the_scan(view)
    if tail is not None and whole_at_end(view) is None:  # else L08 to L12
        yield _finding(view, context, *tail)


def _seen_by_the_scan(view: SegmentView) -> tuple[str, int, int] | None:
    tail = view.scan.tail
    if tail is None:
        return None
    short = tail.end - tail.position <= HEADER_SIZE_UP_TO_MAGIC  # no broker looks at so few, zeros or not
    return "header-fragment" if short else tail.kind, tail.position, tail.end


def _finding(view: SegmentView, context: PartitionContext, kind: str, position: int, end: int) -> Finding:
    healed = healed_at_start(view)
    length = end - position
    words = {
        "torn-tail": f"the last batch is cut short: {plural(length, 'byte')} of it are there",
        "header-fragment": f"{plural(length, 'byte')} after the last batch",
        "zero-tail": f"{plural(length, 'zero byte')} after the last batch",
    }
    missing = _missing(view)
    cut = INVALID_MESSAGES.format(view.segment.name, position)
    # Readers go on with the next segment, but for zeros: a note if that follows at once, as in the forecast.
    unread = kind == "header-fragment" and not view.is_active
    spare = not view.is_active and missing is None and kind != "zero-tail"
    return context.finding(
        _CODE_OF[kind],
        f"{words[kind]}; {_consequence(view, kind, healed, missing)}",
        Where(view.segment.name, position=position),
        broker_says=cut if healed else None if unread or spare else too_small(view, 0),
        remedy=context.trim() if missing is None else context.good_batches(otherwise=context.trim()),
        severity=Severity.INFO if spare else None,
        detail={"bytes": length} if missing is None else {"bytes": length, "missing": list(missing)},
    )


def _missing(view: SegmentView) -> tuple[int, int] | None:
    """First and last offset that a rolled segment should have behind its batches: a replica may have them."""
    following, end = view.segment.next_base_offset, view.scan.next_offset
    return (end, following - 1) if following is not None and end < following else None


def _consequence(view: SegmentView, kind: str, healed: bool, missing: tuple[int, int] | None) -> str:
    if not view.is_active:
        return "the next segment goes on" if missing is None else "the rest of this rolled segment is lost"
    if healed:
        return "the next start cuts them off"
    if kind == "zero-tail":
        return "the clean marker is there, so the broker dies on them"
    return "the clean marker is there, so the next append lands behind them and can never be read"
