"""What a comparison of two replicas means: the tail is copied, or everything, or the leader is none."""

from __future__ import annotations

from segmend.errors import SegmendError
from segmend.formats.names import file_prefix
from segmend.frozen import frozen
from segmend.kernel.types import TAIL_KINDS
from segmend.surgery.replicas.comparison import BatchTally, Comparison, Position
from segmend.surgery.replicas.replica_log import DamagedBytes, ReplicaLog, SoundBatch


@frozen
class Splice:
    """What stays of the target, and what comes behind it.

    `kept` is where the target's own batches end, None if nothing of it stays; `offset` the first that is
    copied, from `copied_from` in the source up to `end`; `end_offset` the log end offset then; `proven` the
    offset from which on all that stays is as the source has it; `why` says what is wrong with the rest of
    the target.
    """

    offset: int
    kept: Position | None
    copied_from: Position
    end: Position
    end_offset: int
    proven: int = 0
    why: str = "replaced by the leader's log"


@frozen
class Pair:
    """Two replicas as they are told apart: real paths, and what is known of both beforehand.

    `same_id` says that both have the same topic id; `low` is the offset below which nothing was compared;
    `empty` that the target has no bytes at all, or is not there; `alone` that nothing beside the source
    tells how far it was compacted.
    """

    target: str
    source: str
    leader: ReplicaLog
    same_id: bool
    low: int
    empty: bool
    alone: bool = False


def decide(comparison: Comparison, pair: Pair, *, whole: bool) -> Splice | None:
    """What to do, None if both end alike; raises `SegmendError` for a leader that is none."""
    _refuse_damage(comparison, pair)
    source, target = comparison.source, comparison.target
    if source.first is None or comparison.source_end is None or source.end is None:
        raise SegmendError(f"{pair.source}: has no batch to copy{_from(pair)}")
    if whole or pair.empty:
        return _everything(comparison, pair)
    if target.first is None or (target.end or 0) <= source.first:
        if pair.same_id:
            return _everything(comparison, pair)
        begins = f"ends before offset {source.first}, where {pair.source} begins"
        raise SegmendError(
            f"{pair.target} {f'has no batch{_from(pair)}' if pair.low else begins}: no batch of both, and no "
            "topic id, shows that they belong together; if you know it: --whole"
        )
    if source.end <= target.first:
        raise SegmendError(
            f"{pair.source} ends at offset {source.end}, before {pair.target} begins ({target.first}): "
            "it cannot be the leader's log"
        )
    return _tail(comparison, pair)


def _tail(comparison: Comparison, pair: Pair) -> Splice | None:
    if comparison.kept is None or comparison.copied_from is None or comparison.shared.end is None:
        raise SegmendError(_no_prefix(comparison, pair))
    if comparison.source_next is None and comparison.target_next is None:
        return None
    if comparison.source_next is None and comparison.lost.batches:
        raise SegmendError(
            f"{pair.source} ends at offset {comparison.source.end}, {pair.target} goes on to "
            f"{comparison.target.end}: nothing is missing here; is that the leader's log, "
            "and a current copy of it?"
        )
    end = comparison.source_end or comparison.copied_from
    return Splice(
        offset=comparison.shared.end, kept=comparison.kept, copied_from=comparison.copied_from, end=end,
        end_offset=comparison.source.end or comparison.shared.end,
        proven=max(pair.low, comparison.shared.first or 0), why=_why(comparison, comparison.shared.end),
    )  # fmt: skip


def _why(comparison: Comparison, offset: int) -> str:
    if isinstance(comparison.target_next, DamagedBytes):
        return f"damaged from offset {offset} on ({comparison.target_next.problem.kind})"
    return f"the leader's log differs from offset {offset} on"


def _everything(comparison: Comparison, pair: Pair) -> Splice:
    first = pair.leader.logs[0][0]
    if comparison.source_end is None or comparison.source.end is None:
        raise SegmendError(f"{pair.source}: has no batch to copy")
    return Splice(
        offset=first, kept=None, copied_from=Position(first, 0), end=comparison.source_end,
        end_offset=comparison.source.end,
    )  # fmt: skip


def _refuse_damage(comparison: Comparison, pair: Pair) -> None:
    hurt = comparison.source_hurt
    if hurt is None:
        return
    problem = hurt.problem
    if problem.kind in TAIL_KINDS and hurt.segment == pair.leader.last_segment:
        return
    raise SegmendError(
        f"{pair.source}/{file_prefix(hurt.segment)}.log: is damaged at byte {problem.position} "
        f"({problem.kind}); copy from another replica, look at it (segmend check --deep), "
        "or take what is sound of both: segmend plan merge"
    )


def _no_prefix(comparison: Comparison, pair: Pair) -> str:
    theirs = comparison.source_next
    what = f"hold offsets {_range(comparison.target)} and {_range(comparison.source)}{_from(pair)}"
    if theirs is None or isinstance(comparison.target_next, DamagedBytes):
        why = "the first batch here is damaged"
    elif isinstance(comparison.target_next, SoundBatch):
        mine = comparison.target_next
        why = f"they differ from the first batch on ({_words(mine)} here, {_words(theirs)} there)"
    else:
        why = "they have no batch in common"
    if pair.low and pair.alone:
        why += "; if its broker compacted that too, put its cleaner-offset-checkpoint beside the copy"
    return f"{pair.target} and {pair.source} {what}, but {why}; not its leader? if you know it is: --whole"


def _words(batch: SoundBatch) -> str:
    header = batch.header
    return (
        f"offsets {header.base_offset} to {header.last_offset}, epoch {header.partition_leader_epoch}, "
        f"crc {header.crc:08x}"
    )


def _range(tally: BatchTally) -> str:
    return f"{tally.first} to {tally.last}"


def _from(pair: Pair) -> str:
    which = "this replica was not" if pair.alone else "neither was"
    return f" from offset {pair.low} on, where {which} compacted" if pair.low else ""
