"""The producer state of a partition, replayed over its segments and compared. Not a check.

A scan folds the producers of one segment from nothing; `composed` joins what came before
with it, so no segment is read twice. Only a segment whose aborted transactions began
earlier, or whose offsets have holes while a transaction is open, is looked at again.

Where bytes are damaged, or the cleaner has been at work, the log no longer proves what
the state was; from there on nothing is compared.

Follows ProducerStateManager and ProducerAppendInfo.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from segmend.formats.producer_snapshot import LIMIT, ProducerSnapshot, ProducerStateEntry
from segmend.formats.producer_snapshot import parse as parse_snapshot
from segmend.formats.txn_index import AbortedTxn
from segmend.formats.txn_index import parse as parse_txn_index
from segmend.frozen import dataclass, field, frozen
from segmend.kernel.types import SegmentScan
from segmend.logdir.files import FileEntry
from segmend.logdir.txnindex_rows import aborted_rows, composed, screened_rows, surplus_rows

from .context import PartitionContext
from .evidence import compacted, in_flight, was_cut
from .lost_markers import LostMarker, lost_between, lost_markers
from .segment_view import SegmentView

States = dict[int, ProducerStateEntry]


@frozen
class TxnIndexFacts:
    """One segment's `.txnindex` against its ABORT markers.

    `entries` are those that a broker comes to, None when the file is missing.
    """

    view: SegmentView
    entries: int | None
    expected: int
    missing: tuple[AbortedTxn, ...]
    surplus: tuple[tuple[int, AbortedTxn], ...]


@frozen
class SnapshotFacts:
    """A valid snapshot whose content the log contradicts: per producer, what and how bad."""

    file: FileEntry
    offset: int
    contradictions: tuple[tuple[int, str, bool], ...]


@frozen
class Regress:
    """Something of a producer that goes back, or breaks off, between two segments."""

    view: SegmentView
    producer_id: int
    what: str
    before: int
    after: int


@dataclass(slots=True, kw_only=True)
class Replay:
    """What a replay of the whole partition shows; `states` are those at the log end offset."""

    states: States = field(default_factory=dict)
    sound: bool = True
    txn_indexes: list[TxnIndexFacts] = field(default_factory=list)
    snapshots: list[SnapshotFacts] = field(default_factory=list)
    lost_markers: list[LostMarker] = field(default_factory=list)
    regresses: list[Regress] = field(default_factory=list)


_REPLAYS: WeakKeyDictionary[PartitionContext, Replay] = WeakKeyDictionary()


def replay_of(context: PartitionContext) -> Replay:
    """The partition's replay; made once. For partition checks above --startup."""
    replay = _REPLAYS.get(context)
    if replay is None:
        replay = _REPLAYS[context] = _Replayer(context).run()
    return replay


def snapshot_of(entry: FileEntry) -> ProducerSnapshot | None:
    """A snapshot that a broker would load, None for a damaged one."""
    snapshot, damages = parse_snapshot(entry.read(LIMIT))
    return None if damages else snapshot


class _Replayer:
    """Walks the segments once, in order."""

    def __init__(self, context: PartitionContext) -> None:
        self._context = context
        self._found = Replay()
        self._snapshots = dict(context.partition.snapshots)
        self._compacted = compacted(context)
        self._start = context.views[0].base_offset if context.views else 0
        # Producers whose lost marker explains whatever else is odd about them.
        self._merged: set[int] = set()

    def run(self) -> Replay:
        replay = self._found
        pairs = list(zip(self._context.views, self._context.scans, strict=False))
        end = self._start
        for number, (view, scan) in enumerate(pairs):
            if number and view.base_offset != end and not self._lost_between(*pairs[number - 1], view):
                replay.sound = False
            if number == 0:
                self._begin(view)
            else:
                self._compare_snapshot(view.base_offset)
            if scan is None:
                replay.sound = False
                continue
            self._look_at(view, scan)
            self._advance(view, scan)
            end = scan.next_offset
        if pairs:
            self._compare_at_the_end(*pairs[-1])
        return replay

    def _lost_between(self, before: SegmentView, scan: SegmentScan | None, view: SegmentView) -> bool:
        """Whether the offset between two segments is that of a lost marker."""
        if scan is None or not self._found.sound or self._compacted:
            return False
        lost = lost_between(before, scan, view, self._found.states)
        if lost is not None:
            self._found.lost_markers.append(lost)
            self._merged.update(lost.producer_ids)
        return lost is not None

    def _compare_at_the_end(self, view: SegmentView, scan: SegmentScan | None) -> None:
        whole = scan is not None and not scan.tail and not in_flight(view)
        if scan is not None and whole and scan.next_offset > view.base_offset:
            self._compare_snapshot(scan.next_offset)

    def _begin(self, view: SegmentView) -> None:
        """The state before the first segment is what its snapshot says, if there is one."""
        entry = self._snapshots.get(view.base_offset)
        snapshot = snapshot_of(entry) if entry else None
        for row in snapshot.entries if snapshot else ():
            self._found.states[row.producer_id] = row

    def _look_at(self, view: SegmentView, scan: SegmentScan) -> None:
        sound = not (scan.damaged_batches or scan.tail or scan.bounded or was_cut(view, scan))
        if sound and self._found.sound and not self._compacted:
            for lost in lost_markers(view, scan, self._found.states):
                self._found.lost_markers.append(lost)
                self._merged.update(lost.producer_ids)
        if not self._compacted and not in_flight(view):
            self._compare_txn_index(view, scan, sound=sound)

    def _advance(self, view: SegmentView, scan: SegmentScan) -> None:
        states = self._found.states
        for state in scan.producers:
            before = states.get(state.producer_id)
            if before is not None:
                self._found.regresses.extend(_regresses(view, before, state))
            states[state.producer_id] = composed(before, state)
        out_of_order = {kind for kind, _ in scan.problem_counts} & {"offset-backwards", "offset-before-base"}
        if scan.damaged_batches or scan.tail or scan.bounded or out_of_order:
            self._found.sound = False

    def _compare_txn_index(self, view: SegmentView, scan: SegmentScan, *, sound: bool) -> None:
        data = view.txn_index
        if not (scan.control.aborts or data) or not view.size:
            return
        index = parse_txn_index(data)[0] if data is not None else None
        if index and any(row.version or row.last_offset < view.base_offset for row in index.entries):
            return  # I18 and I19: no broker gets past these entries
        known = aborted_rows(view.log, view.base_offset, scan, self._found.states)
        rows = index.entries if index else ()
        screened = {number for number, _ in screened_rows(rows)}
        there = {(row.producer_id, row.last_offset) for n, row in enumerate(rows) if n not in screened}
        missing = [
            row for key, row in known.items() if key not in there and row.producer_id not in self._merged
        ]
        odd = surplus_rows(rows, known, view.base_offset, self._start)
        proven = sound and self._found.sound
        surplus = [(n, row) for n, row in odd if row.producer_id not in self._merged] if proven else []
        if missing or surplus:
            facts = TxnIndexFacts(
                view=view,
                entries=len(rows) - len(screened) if index else None,
                expected=len(known),
                missing=tuple(missing),
                surplus=tuple(surplus),
            )
            self._found.txn_indexes.append(facts)

    def _compare_snapshot(self, offset: int) -> None:
        entry = self._snapshots.get(offset)
        if entry is None or not self._found.sound or self._compacted:
            return
        snapshot = snapshot_of(entry)
        if snapshot is None:
            return
        contradictions = tuple(self._contradictions(snapshot, offset))
        if contradictions:
            self._found.snapshots.append(
                SnapshotFacts(file=entry, offset=offset, contradictions=contradictions)
            )

    def _contradictions(self, snapshot: ProducerSnapshot, offset: int) -> Iterator[tuple[int, str, bool]]:
        states = self._found.states
        rows = {row.producer_id: row for row in snapshot.entries}
        for producer_id, state in states.items():
            first = state.current_txn_first_offset
            if producer_id not in rows and first >= 0 and producer_id not in self._merged:
                yield producer_id, f"its transaction open since offset {first} is not there", True
        for producer_id, row in rows.items():
            if producer_id in self._merged:
                continue
            state_or_none = states.get(producer_id)
            if state_or_none is None:
                if self._start <= row.last_offset:
                    yield (
                        producer_id,
                        f"the log has nothing of it, not at offset {row.last_offset} either",
                        True,
                    )
                continue
            first, said = state_or_none.current_txn_first_offset, row.current_txn_first_offset
            if first != said and not (0 <= said < self._start):
                yield (
                    producer_id,
                    f"its open transaction begins at {_or_none(said)}, in the log at {_or_none(first)}",
                    True,
                )
            elif row.last_offset >= offset or _differs(row.producer_epoch, row.last_sequence, state_or_none):
                yield (
                    producer_id,
                    f"epoch {row.producer_epoch} and sequence {row.last_sequence}, in the log"
                    f" {state_or_none.producer_epoch} and {state_or_none.last_sequence}",
                    False,
                )


def _differs(epoch: int, sequence: int, state: ProducerStateEntry) -> bool:
    return epoch != state.producer_epoch or (sequence != state.last_sequence and state.last_offset >= 0)


def _or_none(offset: int) -> str:
    return str(offset) if offset >= 0 else "none"


def _regresses(
    view: SegmentView, before: ProducerStateEntry, segment: ProducerStateEntry
) -> Iterator[Regress]:
    """What must never go back from one segment to the next."""
    first, ended = before.current_txn_first_offset, segment.coordinator_epoch >= 0
    epochs = before.producer_epoch, segment.producer_epoch
    coordinators = before.coordinator_epoch, segment.coordinator_epoch
    for what, (was, now), wrong in (
        ("producer epoch", epochs, epochs[1] < epochs[0]),
        ("coordinator epoch", coordinators, ended and coordinators[1] < coordinators[0]),
        (
            "transaction",
            (first, segment.last_offset),
            first >= 0 and not ended and segment.current_txn_first_offset < 0,
        ),
    ):
        if wrong:
            yield Regress(view=view, producer_id=before.producer_id, what=what, before=was, after=now)
