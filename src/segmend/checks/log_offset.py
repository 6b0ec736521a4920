"""A sound batch stands at a wrong offset."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.recovery import INVALID_OFFSET, SPLIT_REFUSED
from segmend.findings import Finding, Where
from segmend.formats.offset_index import ENTRY_SIZE
from segmend.formats.offset_index import parse as parse_index

from .context import PartitionContext
from .evidence import first, headers_before, in_flight
from .manual import ERROR, LOSES, REFUSES, WRONG, Code, Level, Page, Scope
from .offset_faults import OffsetFault, offset_faults, one_bit
from .segment_view import SegmentView

CODES = (
    Code("L13", ERROR, "a batch's base offset lies outside its segment", WRONG, REFUSES,
         explains=("C04", "C10b", "C15", "E06", "L17"), explains_beside=("I09",)),
    Code("L14", ERROR, "a batch's base offset breaks the order of offsets", WRONG, LOSES,
         explains=("C04", "C10b", "E06"), explains_beside=("I09",)),
    Code("L15", ERROR, "the base offsets of the last batches are too high", WRONG,
         explains=("C15", "I16", "N15"), explains_beside=("I09", "I11")),
)  # fmt: skip
PAGE = Page(
    meaning="""
        The base offset is not covered by the CRC; the batch is sound in everything else. Its neighbours say
        where it belongs: the offset in the message. At the end of a log, where no batch follows, an entry
        of its index says so, or the recovery point of a clean stop.""",
    broker="""
        It serves the batch under the wrong offset; consumers see duplicates or skip records.""",
    own={
        "L13": """
            a recovery of this segment kills the broker ("Split operation is only permitted for segments with
            overflow, and the problem path is ...").""",
        "L14": """
            a recovery that has to index this batch empties the whole segment ("Found invalid offset during
            recovery. Deleting the corrupt segment and creating an empty one with starting offset B") and
            deletes the later ones.""",
        "L15": """
            in the active segment the log end offset jumps there, in every kind of start; a consumer of a
            rolled one goes on behind it and skips what lies between.""",
    },
    advice="""
        Write the right offset back; it is not under the CRC, so nothing else changes. `segmend plan repair`
        does where what stands around them proves it, also for many in a row; else take a replica's.""",
    kafka="""
        LogSegment.recover, LogSegment.readNextOffset, UnifiedLog.splitOverflowedSegment.""",
)
SCOPE = Scope.SEGMENT
LEVEL = Level.DEFAULT

# A smaller jump may be what a compacted leader left to a follower.
_FAR = 1 << 16


def run(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """One finding for each batch whose neighbours put it elsewhere."""
    if view.misnamed:  # N05: all of the segment is elsewhere, not one batch
        return
    faults = [*offset_faults(view, view.scan, "L13", "L14", "L15")]
    proven = [fault for fault in faults if fault.proven]  # of a run all, so that one repair mends it
    for fault in (*proven, *first(fault for fault in faults if not fault.proven)):
        yield _finding(view, context, fault)
    if not in_flight(view) and not faults:
        yield from _far_away(view, context)


def _finding(view: SegmentView, context: PartitionContext, fault: OffsetFault) -> Finding:
    code, batch, expected = fault.code, fault.batch, fault.expected
    of_metadata = context.partition.kind == "cluster-metadata"
    words = {
        "L13": SPLIT_REFUSED.say(context.release, f"{context.partition.path}/{view.segment.name}"),
        "L14": INVALID_OFFSET.format(view.base_offset),
    }
    return context.finding(
        code,
        f"the batch says base offset {batch.base_offset}, its neighbours say {expected}",
        Where(view.segment.name, position=batch.position, offset=batch.base_offset),
        broker_says=words.get(code),
        remedy=context.repair() if fault.proven and not of_metadata else context.graft(),
        expected=expected,
        proven=fault.proven,
    )


def _far_away(view: SegmentView, context: PartitionContext) -> Iterator[Finding]:
    """The last batch jumped by a power of two, as a flipped bit makes it."""
    scan = view.scan
    if scan.problem_counts or scan.batches < 2 or scan.last_offset is None:
        return
    if view.next_base is not None and scan.last_offset < view.next_base:
        return
    last_two = headers_before(view, scan.end, start=_near_the_end(view))
    if len(last_two) < 2:
        return
    before, last = last_two
    expected = before.last_offset + 1
    if last.base_offset - expected >= _FAR and one_bit(last.base_offset, expected):
        yield _finding(view, context, OffsetFault(code="L15", batch=last, expected=expected, proven=True))


def _near_the_end(view: SegmentView) -> int:
    """A batch boundary before the last two batches: the last but one entry of a sound index."""
    match, built = view.scan.offset_index, view.scan.built
    if built is not None and len(built.offset_index) >= 2 * ENTRY_SIZE:
        return parse_index(built.offset_index[-2 * ENTRY_SIZE :])[0][0].position
    if match is None or match.mismatched or match.entries < 2:
        return 0
    index, _ = parse_index(view.offset_index or b"")
    return index[match.entries - 2].position
