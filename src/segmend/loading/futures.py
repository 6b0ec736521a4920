"""Moves between log dirs that a start goes on with: the future replica takes the place of the current one.

Follows `ReplicaManager.maybeAddLogDirFetchers`, `ReplicaAlterLogDirsThread` and
`Partition.maybeReplaceCurrentWithFutureReplica`. What is left to copy is copied; what the future replica
lacks below its own end is not, and goes with the current one. Beside an empty log that takes the place of
one that is gone, it is emptied as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from segmend.broker.failures import REPLACED
from segmend.frozen import replace
from segmend.kernel.scan import iter_batches
from segmend.loading.reads import Budget
from segmend.loading.replicas import Loaded
from segmend.loading.values import Effect, Later, PartitionOutcome, Service
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.second_looks import look_again


def replaced(loaded: Sequence[Loaded], budget: Budget) -> list[Loaded]:
    """The same; of each partition that is being moved what comes of it."""
    futures: dict[tuple[str | None, int | None], Loaded] = {
        one.key[1:]: one for one in loaded if one.key is not None and one.key[0] == "future"
    }
    return [_replaced(one, futures.get((one.outcome.topic, one.outcome.partition)), budget) for one in loaded]


def _replaced(one: Loaded, future: Loaded | None, budget: Budget) -> Loaded:
    outcome = one.outcome
    if future is None or future.dir_state is one.dir_state or future.dir_state.offline:
        return one
    if (
        one.dir_state.offline
        or not isinstance(outcome, PartitionOutcome)
        or outcome.outcome not in (Service.SERVED, Service.EMPTY)
    ):
        return one
    theirs = future.dir_state.log_dir.partition(future.outcome.name)
    mine = one.dir_state.log_dir.partition(outcome.name)
    if theirs is None:
        return one
    says = REPLACED.format(outcome.name)
    anew = mine is None or outcome.outcome == Service.EMPTY
    move = Later(
        dir=one.dir_state.path, file=outcome.name, what="directory replaced", seconds=None,
        why=f"a move goes on: {future.path} {'is emptied, and ' * anew}takes its place", topic=outcome.topic,
        partition=outcome.partition, broker_says=says,
    )  # fmt: skip
    one = replace(one, later=(*one.later, move))
    if mine is None or anew:
        return one  # Of the log that is made anew there is nothing to copy.
    try:
        if not budget.takes(_size(mine) + _size(theirs)):
            words = (
                f"{future.path}: whether it has all records of {outcome.name}, whose place it takes (--deep)"
            )
            return replace(one, unknown=one.unknown or words)
        lacking = list(_lacking(mine, theirs))
    except Unreadable as refused:
        return replace(one, unknown=one.unknown or str(refused))
    if not lacking:
        return one
    effect = Effect(
        effect="reads-fail", file=outcome.name, offset=lacking[0][0], broker_says=says,
        records_lost=sum(records for _, records, _ in lacking), bytes_lost=sum(size for *_, size in lacking),
    )  # fmt: skip
    return replace(one, outcome=replace(outcome, effects=(*outcome.effects, effect)))


def _size(partition: PartitionDir) -> int:
    files = (partition.file(name) for name in partition.layout.logs.values())
    return sum(file.size for file in files if file is not None)


def _lacking(mine: PartitionDir, theirs: PartitionDir) -> Iterator[tuple[int, int, int]]:
    """(offset, records, bytes) of the batches that end below the future replica's end and are not in it."""
    there = list(_batches(theirs))
    if not there:
        return
    starts = [first for first, _, _, _ in there]
    if theirs.leader_epochs.entry is None:  # it is copied anew from its start on
        there = []
    end = there[-1][1] if there else starts[0] - 1
    for first, last, records, size in _batches(mine):
        at = bisect_right(starts, first) - 1
        held = bool(there) and at >= 0 and last <= there[at][1]
        if last <= end and records and not held:
            yield first, records, size


def _batches(partition: PartitionDir) -> Iterator[tuple[int, int, int, int]]:
    """(base offset, last offset, records, bytes) of each batch; a control batch has no records."""
    logs = partition.layout.logs
    for base in sorted(logs):
        file = partition.file(logs[base])
        if file is None:
            continue
        with look_again(file) as reader:
            for batch in iter_batches(reader, base_offset=base):
                count = 0 if batch.is_control else batch.last_offset - batch.base_offset + 1
                yield batch.base_offset, batch.last_offset, count, batch.end - batch.position
