"""Which leader epoch owns which offsets: the branch of the newest leader, back to its beginning.

A replica that has batches or a checkpoint line of an epoch followed its leader, and had truncated its log to
the leader's before that (KIP-101): what it has below that epoch is the branch, too. So the branch is
found from the newest epoch downwards, each time by those who have the epoch.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from segmend.merge.packed import Packed
from segmend.merge.values import Epoch, Replica, Run

Claims = dict[int, int]
"""The first offset of each epoch, as one replica knows it."""


def lineage(
    replicas: Sequence[Replica], prefer: int | None = None
) -> tuple[tuple[Epoch, ...], tuple[str, ...]]:
    """The epochs of the branch, the oldest first, and what of it could not be proven.

    It ends in the newest epoch of all, or of the replica `prefer`, if that has any.
    """
    claims = [claims_of(replica) for replica in replicas]
    known = sorted({epoch for each in claims for epoch in each}, reverse=True)
    if not known:
        return (), ()
    if prefer is not None and claims[prefer]:
        known = [max(claims[prefer])]
    epochs: list[Epoch] = []
    doubts: list[str] = []
    epoch: int | None = known[0]
    last: int | None = None
    ascending = [sorted(each.items()) for each in claims]
    while epoch is not None:
        first = min(each[epoch] for each in claims if epoch in each)
        epochs.append(Epoch(epoch=epoch, first_offset=first, last_offset=last))
        last = first - 1 if last is None else min(last, first - 1)
        knowing = (known for known, each in zip(ascending, claims, strict=True) if epoch in each)
        before = _before(epoch, knowing, first)
        if before is None and (before := _before(epoch, ascending, first)) is not None:
            doubts.append(
                f"no replica tells which epoch came before epoch {epoch} at offset {first}; "
                f"epoch {before} is taken for it"
            )
        epoch = before
    return tuple(reversed(epochs)), tuple(doubts)


def _before(epoch: int, claims: Iterable[Sequence[tuple[int, int]]], first: int) -> int | None:
    """The newest epoch that began earlier; each of the claims ascends."""
    epochs = (_newest_before(epoch, each, first) for each in claims)
    return max((each for each in epochs if each is not None), default=None)


def _newest_before(epoch: int, claims: Sequence[tuple[int, int]], first: int) -> int | None:
    below = range(bisect_left(claims, (epoch,)) - 1, -1, -1)
    return next((claims[at][0] for at in below if claims[at][1] < first), None)


def claims_of(replica: Replica) -> Claims:
    """What its batches say, and the lines of its checkpoint that its batches do not contradict."""
    claims: Claims = {}
    runs = replica.runs
    for epoch, first in zip(runs.column("epoch"), runs.column("first_offset"), strict=True):
        claims.setdefault(epoch, first)
    open_end = any(each.last_offset is None for each in replica.damaged) or replica.unreadable
    leaves = _EpochBounds(runs)
    for epoch, start in replica.epochs:
        if start > replica.log_end_offset and not open_end:
            continue  # of a log that was cut since
        if epoch >= 0 and start >= 0 and leaves.agree(epoch, start):
            claims[epoch] = min(start, claims.get(epoch, start))
    return claims


class _EpochBounds:
    """Between which offsets each epoch can begin that leaves all runs where they are."""

    def __init__(self, runs: Packed[Run]) -> None:
        spans: dict[int, tuple[int, int]] = {}
        columns = (runs.column(name) for name in ("epoch", "first_offset", "last_offset"))
        for epoch, begin, end in zip(*columns, strict=True):
            first, last = spans.get(epoch, (begin, end))
            spans[epoch] = min(first, begin), max(last, end)
        self._epochs = sorted(spans)
        self._firsts = [spans[each][0] for each in self._epochs]
        self._lasts = [*accumulate((spans[each][1] for each in self._epochs), max)]
        self._later = [*accumulate(reversed(self._firsts), min)][::-1]

    def agree(self, epoch: int, start: int) -> bool:
        """Whether it may begin there: behind all that is older, with or before its own, before all newer."""
        at, behind = bisect_left(self._epochs, epoch), bisect_right(self._epochs, epoch)
        return (
            (not at or self._lasts[at - 1] < start)
            and (at == behind or self._firsts[at] >= start)
            and (behind == len(self._epochs) or self._later[behind] > start)
        )
