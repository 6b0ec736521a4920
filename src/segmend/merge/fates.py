"""How transactions ended: which records of the merged log are of aborted ones, and of which nobody knows.

By the rule of `logdir.transactions`, over the chosen bytes of all replicas. Where offsets are lost, a marker
may be among them: of what was open before only the indexes of aborted transactions tell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from segmend.formats.batch import HEADER_SIZE_V2, read_header
from segmend.formats.java_number import LONG_MAX
from segmend.formats.txn_index import AbortedTxn
from segmend.frozen import frozen
from segmend.logdir.aborted_indexes import AbortedIndexes
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.transactions import MARKER_LIMIT, Fold
from segmend.merge.pieces import pieces
from segmend.merge.spans import Span, united
from segmend.merge.values import Merged, Replica

_CARRIED: Final = 1 << 24
"""Open transactions handed over holes, all in all: half a minute's work."""
Fate = Literal["aborted", "unknown", "open"]


class FateSpan(NamedTuple):
    """Offsets of one producer that have the same fate."""

    first: int
    last: int
    fate: Fate


@frozen
class Fates:
    """The spans of each producer that were not committed, ascending."""

    spans: Mapping[int, Sequence[FateSpan]]
    open_from: int | None = None
    """The first offset of those that no marker has ended yet, neither known nor unknown."""
    whole: bool = True
    """False if there were more transactions than can be followed: then nothing is known of any."""

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


class _OfReplicas:
    """What the indexes of all replicas say, each as far as its replica has the merged log."""

    def __init__(self, merged: Merged, replicas: Sequence[PartitionDir]) -> None:
        bounds = [LONG_MAX] * len(replicas)
        for left in merged.diverged:
            bounds[left.replica] = min(bounds[left.replica], left.offset, left.first_offset)
        for conflict in merged.conflicts:
            for number in {each for group in conflict.held for each in group} - {*conflict.taken}:
                bounds[number] = min(bounds[number], conflict.first_offset)
        self._indexes = [
            (AbortedIndexes(each), bound) for each, bound in zip(replicas, bounds, strict=True) if bound > 0
        ]

    def are_gaps_lost(self) -> bool:
        return False  # Never asked: the merge has said which are.

    def ended_in(self, begin: int, end: int) -> Sequence[AbortedTxn]:
        aborted = (each for index, bound in self._indexes for each in index.ended_in(begin, min(end, bound)))
        return list(dict.fromkeys(aborted))

    def has(self, producer_id: int, offset: int) -> bool:
        return any(offset < bound and index.has(producer_id, offset) for index, bound in self._indexes)

    def is_borne_out(self, entry: AbortedTxn) -> bool:
        return any(entry.first_offset < bound and index.is_borne_out(entry) for index, bound in self._indexes)

    def goes_on_behind(self, begin: int, end: int) -> bool:
        return any(bound == LONG_MAX and index.goes_on_behind(begin, end) for index, bound in self._indexes)


def fates(merged: Merged, replicas: Sequence[Replica], dirs: Sequence[PartitionDir]) -> Fates:
    """The fates of all transactions of a merged log; `dirs` are those of the replicas.

    Raises `Unreadable`.
    """
    fold = Fold(told=cache(lambda: _OfReplicas(merged, dirs)), gaps_are_holes=False)
    holes = deque(united([*merged.missing, *merged.left_out]))
    carried = 0

    def lost() -> None:
        nonlocal carried
        first, last = holes.popleft()
        carried += fold.held
        small = _small(first, last, replicas, dirs) if fold.held else None
        if fold.held and small != []:
            fold.hole(first, last + 1, small)

    for piece in pieces(replicas, dirs, merged.ranges):
        while holes and holes[0][0] <= piece.first:
            lost()
        if carried > _CARRIED:
            return Fates(spans={}, whole=False)
        with piece.log.reader() as reader:
            fold.take(reader, piece.start, piece.stop)
    while holes:
        lost()
    spans = defaultdict[int, list[FateSpan]](list)
    transactions = sorted(fold.finished(), key=lambda each: each.first_offset)
    for each in transactions:
        spans[each.producer_id].append(FateSpan(each.first_offset, each.last_offset, each.fate))
    unended = (
        each.first_offset for each in transactions if each.first_offset > fold.ended.get(each.producer_id, -1)
    )
    return Fates(spans=spans, open_from=min(unended, default=None))


def _small(
    first: int, last: int, replicas: Sequence[Replica], dirs: Sequence[PartitionDir]
) -> Sequence[Span] | None:
    """Where among these offsets a marker may have been: some replica has all of it in broken batches.

    The others are too large for one. None if no replica has that.
    """
    spans = (_small_of(first, last, *each) for each in zip(replicas, dirs, strict=True))
    return min((each for each in spans if each is not None), key=len, default=None)


def _small_of(first: int, last: int, replica: Replica, partition: PartitionDir) -> list[Span] | None:
    """Of such broken batches those that are small; None unless they follow each other by their headers."""
    following, small = first, list[Span]()
    for each in replica.damaged:
        if each.first_offset > last or (each.last_offset is not None and each.last_offset < first):
            continue
        if each.kind == "missing":
            return None  # no byte of it is there, nor need the file be that is named
        try:
            with partition.entry(each.file).reader() as reader:
                data = reader.read(HEADER_SIZE_V2, each.position)
        except Unreadable:
            return None
        if len(data) < HEADER_SIZE_V2:
            return None
        batch = read_header(data)
        if (batch.base_offset, batch.size) != (following, each.end - each.position):
            return None
        if batch.size <= MARKER_LIMIT:
            small.append((batch.base_offset, batch.last_offset))
        following = batch.last_offset + 1
    return small if following == last + 1 else None
