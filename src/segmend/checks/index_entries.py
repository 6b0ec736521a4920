"""Entries of an offset index do not agree with the batches."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding, Severity, Where
from segmend.formats.offset_index import ENTRY_SIZE
from segmend.kernel.types import ASTRAY_KINDS, IndexMatch, IndexMismatch
from segmend.wording import plural

from .context import PartitionContext
from .evidence import in_flight, too_small
from .manual import ERROR, INFO, NONE, WRONG, Code, Level, Page, Scope
from .segment_view import SegmentView

CODES = (
    Code("I07", INFO, "an entry has a negative position", NONE),
    Code("I08", ERROR, "entries of a rolled segment point past the end of its log", WRONG, derived=True),
    Code("I09", ERROR, "entries point behind the batch that holds their offset", WRONG, derived=True),
    Code("I10", ERROR, "most entries point into the middle of batches: the index is not of this log", WRONG,
         derived=True),
    Code("I11", ERROR, "single entries are out of order or point into the middle of a batch", WRONG,
         derived=True),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The index was copied from another segment or another generation of this one (I10), shifted (I09), or a
        few of its bits flipped (I11). The records are all there. An entry whose offset lies beyond the batch
        at its position is normal: followers and older leaders make one entry for a whole append.""",
    broker="""
        It looks at no entry but the last of the active segment, so it notices nothing; indexes of segments
        that a start recovers are rebuilt. A lookup that comes upon such an entry begins to read at a wrong
        place.""",
    own={
        "I08, I09": "records are skipped without a word.",
        "I10, I11": """
            the read fails or returns nonsense ("Found record size ... smaller than minimum record overhead").
        """,
        "I07": "it takes it for 0, which costs time only.",
    },
    advice="Rebuild the index from the log. Nothing is lost.",
    kafka="OffsetIndex.lookup, LogSegment.translateOffset, LogSegment.append.",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT

_WORDS = {
    "I07": "{n} with a negative position",
    "I08": "{n} pointing past the end of the log: records after them are skipped",
    "I09": "{n} pointing behind the records they stand for: these are skipped",
    "I10": "{n} that do not fit this log: the index belongs to another one",
    "I11": "{n} out of order or pointing into the middle of a batch",
}
_ORDER = frozenset(
    {"position-order", "offset-order", "offset-before-base", "not-a-boundary", "offset-past-end"}
)


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """One finding for each index: what is worst about it."""
    match = view.scan.offset_index
    if match is None or not match.mismatches or in_flight(view):
        return
    wrong = _left_to_us(view, match)
    if not wrong:
        return
    code = _code(match, wrong)
    number = match.mismatched - (len(match.mismatches) - len(wrong))
    one = wrong[0]
    yield context.finding(
        code,
        _WORDS[code].format(n=f"{plural(number, 'entry', 'entries')} of {match.entries:,}"),
        Where(view.named("index"), position=one.entry * ENTRY_SIZE, offset=one.offset),
        broker_says=too_small(view) if code in ("I10", "I11") else None,
        remedy=context.repair(deep=view.is_hidden("index", ENTRY_SIZE)),
        severity=None if code == "I07" else _severity(wrong),
        entries=match.entries,
        mismatched=number,
        points_to=one.position,
        kind=one.kind,
    )


def _severity(wrong: list[IndexMismatch]) -> Severity:
    """An error where a lookup can be led past records; a warning where it only begins too early."""
    return Severity.WARNING if ASTRAY_KINDS.isdisjoint(one.kind for one in wrong) else Severity.ERROR


def _left_to_us(view: SegmentView, match: IndexMatch) -> list[IndexMismatch]:
    """All but the last entry of the active segment (I04 to I06), and what a cut log leaves behind."""
    last = match.entries - 1
    wrong = [
        m
        for m in match.mismatches
        if not (view.is_active and m.entry == last and m.kind != "position-negative")
    ]
    if view.scan.tail or not view.size or view.is_active:
        cut_off = set(_past_end(match))
        wrong = [m for m in wrong if m.entry not in cut_off]
    return wrong


def _past_end(match: IndexMatch) -> Iterator[int]:
    """The entries, from the last one back, that all lie beyond the end of the log."""
    expected = match.entries - 1
    for mismatch in reversed(match.mismatches):
        if mismatch.entry != expected or mismatch.kind not in ("position-past-end", "offset-past-end"):
            return
        yield mismatch.entry
        expected -= 1


def _code(match: IndexMatch, wrong: list[IndexMismatch]) -> str:
    kinds = {m.kind for m in wrong}
    if kinds == {"position-negative"}:
        return "I07"
    off = sum(m.kind in ("not-a-boundary", "position-past-end") for m in wrong)
    most = 2 * match.mismatched > match.entries > 2 and 2 * off > len(wrong)
    if "not-a-boundary" in kinds and most:
        return "I10"
    if "position-past-end" in kinds:
        return "I08"
    return "I09" if "offset-behind" in kinds and not kinds & _ORDER else "I11"
