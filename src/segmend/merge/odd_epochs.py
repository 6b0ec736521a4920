"""Leader epochs that cannot be, and last offsets: no checksum covers them, so a flipped bit goes unseen.

Within a file the batches beside it show it (`runs.Walk`). Here are the batch that ends a file, and any that
has an epoch of its own that no checkpoint and no other replica knows, while another has its bytes under
another one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice, pairwise
from typing import Final

from segmend.frozen import replace
from segmend.merge.lineage import claims_of
from segmend.merge.packed import Packed
from segmend.merge.proven_epochs import Lines
from segmend.merge.second_look import Look
from segmend.merge.values import NO_EPOCH, Damaged, Replica, Run

_FEW: Final = 8
"""So many batches with newer epochs than what follows may have flipped, if more follow."""


def in_order(runs: Packed[Run]) -> tuple[Packed[Run], tuple[Damaged, ...]]:
    """The runs of a log without a few batches whose epoch goes up and down again from file to file."""
    epochs = runs.column("epoch")
    if all(before <= epoch for before, epoch in pairwise(epochs)):
        return runs, ()
    kept = Packed(Run)
    odd: list[Run] = []
    for run in runs:
        above = count = 0
        while above < len(kept) and kept[-1 - above].epoch > run.epoch >= 0 and count < _FEW:
            above, count = above + 1, count + kept[-1 - above].batches
        if count == 1 or count < min(run.batches, _FEW):
            odd += reversed(kept[len(kept) - above :])
            kept.drop(above)
        if kept and kept[-1].epoch > run.epoch >= 0 and run.batches == 1:
            odd.append(run)
        else:
            kept.append(run)
    return kept, tuple(map(misplaced, odd))


def without_denied(runs: Packed[Run], lines: Lines) -> tuple[Packed[Run], tuple[Damaged, ...]]:
    """The runs without a last batch of an epoch that the checkpoint beside it denies.

    A new epoch takes away the lines of older ones that begin later (`LeaderEpochFileCache.assign`).
    """
    if len(runs) < 2 or runs[-1].batches > 1 or runs[-2].epoch == runs[-1].epoch:
        return runs, ()
    run = runs[-1]
    newer = any(epoch >= run.epoch for epoch, _ in lines)
    if newer or not any(epoch >= 0 and start > run.last_offset for epoch, start in lines):
        return runs, ()
    runs.drop(1)
    return runs, (misplaced(run),)


def misplaced(run: Run) -> Damaged:
    """A run of one batch, taken for damage."""
    return Damaged(
        first_offset=run.first_offset, last_offset=run.last_offset, file=run.file,
        position=run.first_position, end=run.end_position, kind="misplaced",
    )  # fmt: skip


def believed(replicas: Sequence[Replica], look: Look) -> tuple[list[Replica], list[str]]:
    """The replicas without batches whose epoch nobody else knows, and what of that stays in doubt."""
    replicas = _without_old_lines(replicas)
    trusted = [_placed(number, replicas, look) for number in range(len(replicas))]
    trusted, doubts = [_unspliced(number, trusted, look) for number in range(len(trusted))], list[str]()
    trusted = [_as_others_know(number, trusted) for number in range(len(trusted))]
    backed = _backed(trusted)
    trusted = [_without_flipped(number, trusted, backed, look) for number in range(len(trusted))]
    for number, replica in enumerate(trusted):
        run = replica.runs[-1] if replica.runs else None
        alone = run is not None and run.batches == 1 and len(replica.runs) > 1
        if run is None or not alone or replica.runs[-2].epoch == run.epoch:
            continue
        if not _is_known(run.epoch, number, replicas):
            doubts.append(
                f"{replica.path}: epoch {run.epoch} is told by nothing but one batch at offset "
                f"{run.first_offset}, and no checksum covers an epoch"
            )
    return trusted, doubts


def _without_old_lines(replicas: Sequence[Replica]) -> Sequence[Replica]:
    """The replicas without lines of leaders that wrote magic 0 or 1: these tell nothing of batches.

    Such lines begin below batches without an epoch, of those who followed a leader that the newest one had.
    """
    written = [{*each.runs.column("epoch")} for each in replicas]
    newest = max(chain(*written), default=NO_EPOCH)
    epochs = [own | dict(each.epochs).keys() for own, each in zip(written, replicas, strict=True)]
    shared = {epoch for each in epochs if newest in each for epoch in each}
    ends = (
        end
        for known, each in zip(epochs, replicas, strict=True)
        if newest == NO_EPOCH or known & shared - {NO_EPOCH}
        for epoch, end in zip(each.runs.column("epoch"), each.runs.column("last_offset"), strict=True)
        if epoch == NO_EPOCH
    )
    last = max(ends, default=None)
    if last is None:
        return replicas

    def counts(epoch: int, start: int) -> bool:
        return newest != NO_EPOCH and (epoch > newest or start > last)

    return [replace(each, epochs=tuple(line for line in each.epochs if counts(*line))) for each in replicas]


def _backed(replicas: Sequence[Replica]) -> frozenset[int]:
    """Epochs of which more tells than a few batches of one replica: a checkpoint, many batches, another."""
    told = [Counter[int]() for _ in replicas]
    for count, each in zip(told, replicas, strict=True):
        for epoch, batches in zip(each.runs.column("epoch"), each.runs.column("batches"), strict=True):
            count[epoch] += batches
    lines = (epoch for each in replicas for epoch, _ in each.epochs)
    many = (epoch for count in told for epoch, batches in count.items() if batches > _FEW)
    holders = Counter(epoch for count in told for epoch in count)
    return frozenset((NO_EPOCH, *lines, *many, *(epoch for epoch, count in holders.items() if count > 1)))


def _without_flipped(number: int, replicas: Sequence[Replica], backed: frozenset[int], look: Look) -> Replica:
    """The replica without batches of an epoch that nothing backs, and another has under one that is backed.

    One batch has one epoch on all replicas: its leader wrote it, and followers copy the bytes.
    """
    replica = replicas[number]
    starts = dict(sorted(replica.epochs))
    kept, flipped = Packed(Run), list[Run]()
    for run in replica.runs:
        # Below where the checkpoint beside it has its epoch begin.
        is_early = run.batches <= _FEW and starts.get(run.epoch, 0) > run.last_offset
        doubted = run.epoch not in backed or is_early
        (flipped if doubted and _has_twin(number, run, replicas, backed, look) else kept).append(run)
    if not flipped:
        return replica
    return replace(replica, runs=kept, damaged=with_more(replica.damaged, map(misplaced, flipped)))


def _as_others_know(number: int, replicas: Sequence[Replica]) -> Replica:
    """The replica without a last batch whose epoch was put right, if another one has what is written."""
    replica = replicas[number]
    written = replica.runs[-1].written if replica.runs else None
    others = {e for other, each in enumerate(replicas) if other != number for e in claims_of(each)}
    return replica if written not in others else replace(replica, runs=_but_last(replica.runs))


def _placed(number: int, replicas: Sequence[Replica], look: Look) -> Replica:
    """The replica without a last batch whose bytes another replica has at lower offsets.

    No checksum covers a base offset, and compaction leaves gaps: only the other one shows that this is none.
    """
    replica = replicas[number]
    run = replica.runs[-1] if replica.runs else None
    due = None if run is None else _due(run, replica.runs[-2:-1])
    if run is None or due is None or run.batches > 1 or run.first_offset == due:
        return replica
    mine = [(each.size, each.crc) for each in look.batches(number, run.first_offset, run.last_offset)]
    if not any(
        (each.size, each.crc) in mine
        for other in range(len(replicas))
        if other != number
        for each in look.batches(other, due, run.first_offset - 1)
    ):
        return replica
    end = due + run.last_offset - run.first_offset
    damaged = replace(misplaced(run), first_offset=due, last_offset=end)
    # What its records told of compaction they told of there.
    return replace(
        replica, runs=_but_last(replica.runs), damaged=with_more(replica.damaged, [damaged]),
        log_end_offset=end + 1,
        thinned=min(replica.thinned, end + 1), proven=min(replica.proven, end + 1),
    )  # fmt: skip


def _but_last(runs: Packed[Run]) -> Packed[Run]:
    return Packed(Run, islice(runs, len(runs) - 1))


def with_more(damaged: Packed[Damaged], more: Iterable[Damaged]) -> Packed[Damaged]:
    """It and more; the other stays as it is."""
    return Packed(Damaged, chain(damaged, more))


def _due(run: Run, before: Sequence[Run]) -> int | None:
    """The offset behind what stands right before it, that of its file at the file's beginning; else None."""
    if run.first_position == 0:
        return run.segment
    beside = before and before[-1].file == run.file and before[-1].end_position == run.first_position
    return before[-1].last_offset + 1 if beside else None


def _unspliced(number: int, replicas: Sequence[Replica], look: Look) -> Replica:
    """The replica without batches before a gap whose bytes another replica has a little higher.

    Bytes that are gone may leave one batch with the base offset of another. What is behind is no compaction.
    Nor is it behind one that was taken for right beside one that was not.
    """
    replica = replicas[number]
    others = [other for other in range(len(replicas)) if other != number]
    disputed = {(each.file, each.end) for each in replica.damaged if each.kind == "misplaced"}
    for run, behind in pairwise(replica.runs if others else ()):
        room = run.first_offset, behind.first_offset - 1
        gap = _leaves_out(run, behind) and room[1] >= replica.proven
        if run.batches > 1 or not (gap or (run.file, run.first_position) in disputed):
            continue
        mine = [
            each._replace(last_offset=0) for each in look.batches(number, run.first_offset, run.last_offset)
        ]
        for other in others:
            there = list(look.batches(other, *room))
            same = [each for each in there if each._replace(first_offset=room[0], last_offset=0) in mine]
            if same and all(each.first_offset != room[0] for each in same):
                replica = _without(replica, run, room)
                disputed.add((run.file, run.end_position))
                break
    return replica


def _leaves_out(run: Run, behind: Run) -> bool:
    beside = run.file == behind.file and run.end_position == behind.first_position
    return beside and behind.first_offset > run.last_offset + 1


def _without(replica: Replica, run: Run, room: tuple[int, int]) -> Replica:
    """Without this run, and what the gap behind it said of compaction."""
    damaged = replace(misplaced(run), first_offset=room[0], last_offset=room[1])
    return thinned_by_its_runs(
        replace(
            replica,
            runs=Packed(Run, (each for each in replica.runs if each != run)),
            damaged=with_more(replica.damaged, [damaged]),
        )
    )


def thinned_by_its_runs(replica: Replica) -> Replica:
    """The replica compacted only as far as its batches show it, and what else proves it."""
    shown = (after.first_offset for before, after in pairwise(replica.runs) if _leaves_out(before, after))
    thinned = min(replica.thinned, max(replica.proven, *shown, 0))
    if thinned and replica.gaps:
        return replace(replica, thinned=max(thinned, replica.gaps[-1][1] + 1))
    missing = (
        Damaged(
            first_offset=a,
            last_offset=b,
            file=_file_behind(replica.runs, b),
            position=0,
            end=0,
            kind="missing",
        )
        for a, b in replica.gaps
    )
    return replace(replica, thinned=thinned, gaps=(), damaged=with_more(replica.damaged, missing))


def _file_behind(runs: Packed[Run], offset: int) -> str:
    return runs[bisect_right(runs.column("first_offset"), offset)].file


def _is_known(epoch: int, number: int, replicas: Sequence[Replica]) -> bool:
    """Whether a checkpoint, or another replica, has this epoch or a newer one."""
    return epoch < 0 or any(
        each >= epoch
        for other, replica in enumerate(replicas)
        for each in (claims_of(replica) if other != number else dict(replica.epochs))
    )


def _has_twin(number: int, run: Run, replicas: Sequence[Replica], backed: frozenset[int], look: Look) -> bool:
    """Whether other replicas have all of these bytes there under another epoch, which is backed."""
    span = run.first_offset, run.last_offset
    theirs = {
        (each.first_offset, each.size, each.crc)
        for other in range(len(replicas))
        if other != number
        for each in look.batches(other, *span)
        if each.epoch != run.epoch and each.epoch in backed
    }
    mine = {(each.first_offset, each.size, each.crc) for each in look.batches(number, *span)}
    return bool(mine) and mine <= theirs
