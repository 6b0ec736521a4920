"""What readers of committed records meet after the start: they believe the indexes of aborted transactions.

All are held against the markers in the log: of a segment that the start recovers the one that it writes, by
what a snapshot says of the transactions that were open before.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from segmend.broker.sanity import TXN_INDEX
from segmend.formats.batch import RecordBatch
from segmend.formats.names import file_prefix
from segmend.formats.producer_snapshot import LIMIT, ProducerStateEntry
from segmend.formats.producer_snapshot import parse as parse_snapshot
from segmend.formats.txn_index import SUFFIX, AbortedTxn, parse
from segmend.kernel.producers import ABORT
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import SegmentScan
from segmend.loading.load import LoadedLog
from segmend.loading.ongoing import Marker, marker_of
from segmend.loading.segment import Prefix, Segment
from segmend.loading.state import LoadState
from segmend.logdir.second_looks import look_again
from segmend.logdir.txnindex_rows import aborted_rows, composed, screened_rows, surplus_rows

GIVEN: Final = "who reads committed records is given aborted ones"
HIDDEN: Final = "who reads committed records misses committed ones"
FORGOTTEN: Final = (
    "who reads committed records is given those of an open transaction, also once it is aborted: the start "
    "knows nothing of its producer"
)
_BACKWARDS: Final = {"offset-backwards", "offset-before-base"}
_RECORDS: Final = -1
_UNREAD: Final = -2
"""Beside the types of markers."""
_LAST: Final = 2**63 - 1


def note_wrong_aborts(loaded: LoadedLog, scans: Sequence[SegmentScan | None]) -> None:
    """Add a `reads-fail` for each index that leaves out an aborted transaction, or has one that was none.

    `scans` are of the segments in order, None where one is not read: from there on nothing tells which
    transactions were open, so that only what an index lacks is told.
    """
    state = loaded.state
    if not TXN_INDEX.of(state.settings.release):
        return
    if any(scan and scan.control.aborts for scan in scans) or any(
        _is_told(state, each) for each in state.names
    ):
        _Aborts(state).run(scans)


def note_forgotten(loaded: LoadedLog, scans: Sequence[SegmentScan | None]) -> None:
    """Add a `reads-fail` for the first open transaction where the start takes the log for one without any.

    Nothing holds back who reads committed records then, and an abort gets no row in an index: seen on 4.3.1.
    Where a segment is not read, or damaged, nothing tells which transactions are open.
    """
    state, states = loaded.state, dict[int, ProducerStateEntry]()
    if not state.forgets_producers:
        return
    for scan in scans:
        if scan is None or scan.problem_counts:
            return
        states |= {each.producer_id: composed(states.get(each.producer_id), each) for each in scan.producers}
    known = {pid for pid, each in state.states.items() if each.current_txn_first_offset >= 0}
    opened = [each.current_txn_first_offset for pid, each in states.items() if pid not in known]
    first = min((offset for offset in opened if offset >= state.settings.log_start), default=-1)
    if first >= 0:
        base = max(each.base_offset for each in state.segments if each.base_offset <= first)
        state.note("reads-fail", f"{file_prefix(base)}.log", offset=first, says=FORGOTTEN)


class _Aborts:
    """`told` is below which offset an index says that there is no more; `sound` until the log proves less."""

    def __init__(self, state: LoadState) -> None:
        self._state = state
        self._start = state.segments[0].base_offset
        self._states = _begun(state)
        self._sound, self._end, self._told = True, self._start, 0

    def run(self, scans: Sequence[SegmentScan | None]) -> None:
        producers = {each.producer_id for scan in scans if scan for each in scan.producers}
        bases = [each.base_offset for each in self._state.segments[1:]]
        for segment, scan, following in zip_longest(self._state.segments, scans, bases):
            self._sound = self._sound and segment.base_offset == self._end
            if scan is None:
                self._sound, self._told = False, 0
                continue
            whole = not (
                scan.damaged_batches or scan.tail or scan.bounded or _lacks_offsets(segment, scan, following)
            )
            self._compare(segment, scan, producers if whole and self._sound else frozenset())
            self._states |= {
                each.producer_id: composed(self._states.get(each.producer_id), each)
                for each in scan.producers
            }
            self._sound, self._end = self._sound and whole, scan.next_offset

    def _compare(self, segment: Segment, scan: SegmentScan, producers: set[int] | frozenset[int]) -> None:
        rows = self._rows(segment)
        if rows is None:
            self._told = 0
            return
        known = aborted_rows(segment.log, segment.base_offset, scan, self._states) if segment.log else {}
        screened = set() if segment.recovered else {n for n, _ in screened_rows(rows, self._told)}
        read = {(row.producer_id, row.last_offset) for n, row in enumerate(rows) if n not in screened}
        surplus = surplus_rows(rows, known, segment.base_offset, self._start)
        left = [row for row in known.values() if row.last_offset < scan.next_offset]  # before it was cut
        self._note(segment, [row for row in left if (row.producer_id, row.last_offset) not in read], GIVEN)
        wrong = [row for _, row in surplus]
        hiding = {*_hiding(segment, rows if _goes_back(scan) else wrong)}
        hiding.update(row for row in wrong if row.producer_id in producers)
        self._note(segment, [*hiding], HIDDEN)
        had = self._on_disk(segment) if segment.recovered else ()
        lost = [row for row in had if (row.producer_id, row.last_offset) not in known]
        later = [each for each in self._state.segments if each.base_offset >= segment.base_offset]
        self._note(segment, [row for row in lost if _outlived(later, row)], GIVEN)
        told = 0 if segment.recovered else max((row.last_stable_offset for row in rows), default=0)
        self._told = min(told, scan.next_offset)

    def _rows(self, segment: Segment) -> tuple[AbortedTxn, ...] | None:
        """Nothing where there is no index; None where there is no log."""
        if segment.recovered or segment.log is None:
            return segment.aborted if segment.log else None
        return self._on_disk(segment)

    def _on_disk(self, segment: Segment) -> tuple[AbortedTxn, ...]:
        name = f"{file_prefix(segment.base_offset)}{SUFFIX}"
        file = self._state.file(name) if name in self._state.names else None
        return parse(file.read())[0].entries if file else ()

    def _note(self, segment: Segment, rows: Sequence[AbortedTxn], says: str) -> None:
        """Of those that end before the segment nobody reads; what begins before the log is not known."""
        start, base = self._state.settings.log_start, segment.base_offset
        firsts = [row.first_offset for row in rows if row.first_offset >= start and row.last_offset >= base]
        if firsts:
            name = f"{file_prefix(segment.base_offset)}{SUFFIX}"
            self._state.note("reads-fail", name, offset=min(firsts), says=says)


def _is_told(state: LoadState, name: str) -> bool:
    """Whether it is an index that has aborted transactions."""
    file = state.file(name) if name.endswith(SUFFIX) else None
    return file is not None and file.size > 0


def _hiding(segment: Segment, rows: Sequence[AbortedTxn]) -> Iterator[AbortedTxn]:
    """Rows for which a consumer leaves out what their producer commits, by the order in the log.

    It leaves out all of its transactions from the first batch on that reaches the row's offset, up to the
    next marker of an abort in the same answer, which is of one segment
    (`CompletedFetch.containsAbortMarker`). What lies before a marker that is gone was aborted: only what is
    committed behind its place tells then.
    """
    reached = array("q")
    own = {row.producer_id: (array("q"), array("q"), array("b")) for row in rows}
    for number, (batch, marker) in enumerate(_batches([segment]) if own else ()):
        reached.append(min(_LAST, max(batch.last_offset, reached[-1] if reached else -1)))
        if batch.is_transactional and batch.producer_id in own:
            numbers, bases, kinds = own[batch.producer_id]
            numbers.append(number)
            bases.append(batch.base_offset)
            kinds.append(_RECORDS if not batch.is_control else _UNREAD if marker is None else marker[0])
    for row in rows if segment.log else ():
        numbers, bases, kinds = own[row.producer_id]
        inside = behind = False
        for at in range(bisect_left(numbers, bisect_left(reached, row.first_offset)), len(numbers)):
            if kinds[at] == _RECORDS:
                inside, behind = True, behind or bases[at] > row.last_offset
            elif kinds[at] in (ABORT, _UNREAD):
                break
            elif behind or (inside and bases[at] <= row.last_offset):
                yield from [row] * (row.last_offset >= segment.base_offset)
                break


def _outlived(segments: Sequence[Segment], row: AbortedTxn) -> bool:
    """Whether the marker of that row is gone, and the producer commits more behind it in these segments.

    A recovery takes them for one transaction that is committed, in whatever segment, and writes no such row.
    Seen on 1.1.0 and 4.3.1.
    """
    if not segments or segments[0].log is None or row.last_offset < segments[0].base_offset:
        return False
    begun = behind = False
    for batch, marker in _batches(segments):
        if batch.base_offset <= row.last_offset <= batch.last_offset:
            return False
        begun = begun or batch.base_offset >= row.first_offset
        if not begun or batch.producer_id != row.producer_id:
            continue
        if batch.is_control:
            if behind or (marker is not None and marker[0] == ABORT):
                return marker is not None and marker[0] != ABORT
        elif batch.is_transactional:
            behind = behind or batch.base_offset > row.last_offset
    return False


def _batches(segments: Sequence[Segment]) -> Iterator[tuple[RecordBatch, Marker | None]]:
    """Each batch, and what it ends if it is a marker; up to a segment without a log."""
    for segment in segments:
        if segment.log is None:
            return
        with look_again(segment.log) as reader:
            log = Prefix(reader, segment.size)
            for batch in iter_batches(log):
                yield batch, marker_of(batch, log) if batch.is_control else None


def _goes_back(scan: SegmentScan) -> bool:
    """Whether a consumer meets offsets in another order than the rows have them."""
    return not _BACKWARDS.isdisjoint(kind for kind, _ in scan.problem_counts)


def _lacks_offsets(segment: Segment, scan: SegmentScan, following: int | None) -> bool:
    """A marker may be gone, or an offset be of no use to tell the order: then an index may be right.

    `following` is where the next segment begins.
    """
    if _goes_back(scan):
        return True
    if following is not None and following > scan.next_offset:
        return True
    last = scan.last_offset
    return last is not None and last - segment.base_offset + 1 > scan.records


def _begun(state: LoadState) -> dict[int, ProducerStateEntry]:
    """The producers before the first segment, if a snapshot of that place is whole."""
    entry = dict(state.partition.snapshots).get(state.segments[0].base_offset)
    snapshot, damages = parse_snapshot(entry.read(LIMIT)) if entry else (None, ())
    return {row.producer_id: row for row in snapshot.entries} if snapshot and not damages else {}
