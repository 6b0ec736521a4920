"""What a consumer meets after the start in segments that the start did not look into.

Only with `--deep`: every batch of every segment is read and its CRC checked. A consumer gets
an error where a batch is damaged, and silently misses records where an index leads it past them.
"""

from __future__ import annotations

from segmend.forecast.load import LoadedLog
from segmend.forecast.segment import Lost, Prefix, Segment
from segmend.kernel.scan import scan_log
from segmend.kernel.types import CHAIN_KINDS, KINDS, SegmentScan
from segmend.logdir.disk import Unreadable

_MOST = 20
"""Effects told of one segment; the first ones say what is wrong."""
_INDEX_LIMIT = 64 << 20
_SKIPPING = frozenset(
    {"offset-behind", "position-past-end", "not-a-boundary", "position-order", "offset-order"}
)


def note_failing_reads(loaded: LoadedLog) -> None:
    """Add a `reads-fail` for each place between log start and log end that cannot be read as it should."""
    for segment in loaded.state.segments:
        if segment.log is None or not segment.size:
            continue
        try:
            _note(loaded, segment)
        except Unreadable as error:
            loaded.state.note("reads-fail", segment.name, offset=segment.base_offset, says=str(error))


def _note(loaded: LoadedLog, segment: Segment) -> None:
    if segment.log is None:
        return
    index = None if segment.index is None else segment.index.read(_INDEX_LIMIT)
    with segment.log.reader() as reader:
        found = scan_log(Prefix(reader, segment.size), base_offset=segment.base_offset, offset_index=index)
    for problem in [p for p in found.problems if p.kind in CHAIN_KINDS][:_MOST]:
        last = segment is loaded.state.segments[-1]
        if last and problem.end >= found.size and problem.kind != "crc-mismatch":
            continue
        offset = (
            problem.offset if problem.kind == "crc-mismatch" else _offset_before(segment, problem.position)
        )
        lost = Lost(bytes=problem.end - problem.position)
        says = KINDS[problem.kind]
        loaded.state.note("reads-fail", segment.name, offset=offset, says=says, lost=lost)
    _note_index(loaded, segment, found)


def _note_index(loaded: LoadedLog, segment: Segment, found: SegmentScan) -> None:
    wrong = found.offset_index.mismatches if found.offset_index else ()
    first = next((each for each in wrong if each.kind in _SKIPPING), None)
    if first is not None:
        name = f"{segment.base_offset:020d}.index"
        loaded.state.note("reads-fail", name, offset=first.offset)


def _offset_before(segment: Segment, position: int) -> int:
    """The offset that follows the last batch before `position`."""
    if segment.log is None or position == 0:
        return segment.base_offset
    with segment.log.reader() as reader:
        found = scan_log(
            Prefix(reader, segment.size), base_offset=segment.base_offset, stop=position, crc=False
        )
    return segment.base_offset if found.last_offset is None else found.last_offset + 1
