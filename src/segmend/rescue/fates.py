"""How transactions ended: which records of the merged log are of aborted ones, and of which nobody knows.

The producers are replayed over the chosen pieces as a broker does. Where offsets are lost, a marker may
be among them: of a transaction that was open before such a hole nothing is believed but what an index of
aborted transactions of a replica says of exactly this one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.frozen import frozen
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import SegmentScan
from segmend.logdir.transactions import AbortedIndexes
from segmend.logdir.tree import PartitionDir
from segmend.merge.pieces import Piece

_CARRIED: Final = 1 << 24
"""Open transactions handed from one piece to the next, all in all: half a minute's work."""
Fate = Literal["aborted", "unknown", "committed"]


class FateSpan(NamedTuple):
    """Offsets of one producer that have the same fate."""

    first: int
    last: int
    fate: Fate


@frozen
class Fates:
    """The spans of each producer that were not committed, ascending; a later one wins over an earlier."""

    spans: dict[int, tuple[FateSpan, ...]]
    whole: bool = True
    """False if there were more transactions than can be replayed: then nothing is known of any."""

    def of(self, producer_id: int, offset: int) -> bool | None:
        """Whether a transactional record there is of an aborted transaction; None if nobody knows."""
        if not self.whole:
            return None
        mine = self.spans.get(producer_id, ())
        at = bisect_right(mine, offset, key=lambda span: span.first) - 1
        if at < 0 or mine[at].last < offset:
            return False
        return True if mine[at].fate == "aborted" else None

    @property
    def any(self) -> bool:
        """Whether there is anything to say of some record."""
        return bool(self.spans) or not self.whole


class _Replay:
    def __init__(self, confirmed: frozenset[tuple[int, int]]) -> None:
        self._confirmed = confirmed
        self._carried = 0
        self.states: tuple[ProducerStateEntry, ...] = ()
        """Of the producers whose transactions are open."""
        self.spans: dict[int, list[FateSpan]] = defaultdict(list)
        self._doubtful: dict[int, list[FateSpan]] = defaultdict(list)

    def take(self, scan: SegmentScan) -> bool:
        """What the next piece says; False if that is more than can be replayed."""
        for row in scan.aborted:
            self.spans[row.producer_id].append(FateSpan(row.first_offset, row.last_offset, "aborted"))
        self.states = tuple(each for each in scan.producers if each.current_txn_first_offset >= 0)
        self._carried += len(self.states)
        return not scan.unreplayable and self._carried <= _CARRIED

    def hole(self, begin: int) -> None:
        """Offsets from here on are lost: what is open may have ended in there."""
        for state in self.states:
            first = state.current_txn_first_offset
            known = self._doubtful[state.producer_id]
            if not any(each.first <= first <= each.last for each in known):
                aborted = (state.producer_id, first) in self._confirmed
                known.append(FateSpan(first, begin - 1, "aborted" if aborted else "unknown"))
            elif known[-1].last < begin - 1:
                goes_on = known[-1].fate == "unknown"
                since = known.pop().first if goes_on else known[-1].last + 1
                known.append(FateSpan(since, begin - 1, "unknown"))

    def finish(self, end: int) -> Fates:
        """The end of the log: what is open there has no marker yet."""
        for state in self.states:
            self.spans[state.producer_id].append(FateSpan(state.current_txn_first_offset, end, "unknown"))
        named = {**self.spans, **self._doubtful}
        laid_over = {each: _laid_over(self.spans[each], self._doubtful[each]) for each in named}
        return Fates(spans={each: spans for each, spans in laid_over.items() if spans})


def _laid_over(known: Sequence[FateSpan], doubtful: Sequence[FateSpan]) -> tuple[FateSpan, ...]:
    """`known` where nothing is in doubt, in parts that do not overlap."""
    laid = list(doubtful)
    for span in known:
        first = span.first
        for each in doubtful:
            if each.first <= first <= each.last:
                first = each.last + 1
        if first <= span.last:
            laid.append(FateSpan(first, span.last, span.fate))
    return tuple(sorted(laid))


def fates(
    pieces: Iterable[Piece], missing: Iterable[tuple[int, int]], replicas: Sequence[PartitionDir]
) -> Fates:
    """The fates of all transactions of a merged log; raises `Unreadable`."""
    holes = deque(sorted(missing))
    told = (each for replica in replicas if holes for each in AbortedIndexes(replica).entries)
    replay = _Replay(frozenset((each.producer_id, each.first_offset) for each in told))
    last = -1
    for piece in pieces:
        last = piece.last
        while holes and holes[0][0] <= piece.first:
            replay.hole(holes.popleft()[0])
        with piece.log.reader() as reader:
            scan = scan_log(
                reader,
                ScanTask(
                    base_offset=piece.base_offset,
                    start=piece.start,
                    stop=piece.stop,
                    crc=False,
                    producers=replay.states,
                ),
            )
        if not replay.take(scan):
            return Fates(spans={}, whole=False)
    for begin, _ in holes:
        replay.hole(begin)
    return replay.finish(last)
