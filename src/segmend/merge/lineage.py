"""Which leader epoch owns which offsets: the branch of the newest leader, back to its beginning.

A replica that has batches or a checkpoint line of an epoch followed its leader, and had truncated its log to
the leader's before that (KIP-101): what it has below that epoch is the branch, too. So the branch is
found from the newest epoch downwards, each time by those who have the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    while epoch is not None:
        first = min(each[epoch] for each in claims if epoch in each)
        epochs.append(Epoch(epoch=epoch, first_offset=first, last_offset=last))
        last = first - 1 if last is None else min(last, first - 1)
        before = _before(epoch, (each for each in claims if epoch in each), first)
        if before is None and (before := _before(epoch, claims, first)) is not None:
            doubts.append(
                f"no replica tells which epoch came before epoch {epoch} at offset {first}; "
                f"epoch {before} is taken for it"
            )
        epoch = before
    return tuple(reversed(epochs)), tuple(doubts)


def _before(epoch: int, claims: Iterable[Claims], first: int) -> int | None:
    """The newest epoch that began earlier."""
    older = (other for each in claims for other, start in each.items() if other < epoch and start < first)
    return max(older, default=None)


def claims_of(replica: Replica) -> Claims:
    """What its batches say, and the lines of its checkpoint that its batches do not contradict."""
    claims: Claims = {}
    for run in replica.runs:
        claims.setdefault(run.epoch, run.first_offset)
    for epoch, start in replica.epochs:
        if epoch >= 0 and start >= 0 and _may_begin(epoch, start, replica):
            claims[epoch] = min(start, claims.get(epoch, start))
    return claims


def _may_begin(epoch: int, start: int, replica: Replica) -> bool:
    open_end = any(each.last_offset is None for each in replica.damaged) or replica.unreadable
    if start > replica.log_end_offset and not open_end:
        return False  # of a log that was cut since
    return all(_agrees(run, epoch, start) for run in replica.runs)


def _agrees(run: Run, epoch: int, start: int) -> bool:
    """Whether an epoch that begins at `start` leaves this run where it is."""
    if run.epoch == epoch:
        return run.first_offset >= start
    return run.last_offset < start if run.epoch < epoch else run.first_offset > start
