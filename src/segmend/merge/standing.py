"""What each replica is beside the merged log, and what it has that the merge does not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import merge as in_order
from itertools import chain, pairwise

from segmend.merge.branch import Branch
from segmend.merge.packed import Packed, narrow
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, common, ends, has, size, united, without
from segmend.merge.values import Conflict, Diverged, Hurt, Relation, Replica, Standing, Unique


def diverged_of(branches: Sequence[Branch], look: Look) -> Iterator[Diverged]:
    """The losing parts of each replica, neighbours put together."""
    for number, branch in enumerate(branches):
        for first, last in branch.losing.held:
            epoch = branch.losing[bisect_left(branch.losing.lasts, first)].run.epoch
            records, producers = look.tally(number, first, last)
            yield Diverged(
                replica=number, offset=first, epoch=epoch, first_offset=first, last_offset=last,
                records=records, producers=producers,
            )  # fmt: skip


def standings_of(
    replicas: Sequence[Replica],
    branches: Sequence[Branch],
    conflicts: Packed[Conflict],
    best: int,
    bounds: tuple[int, int, int | None],
    look: Look,
) -> tuple[Standing, ...]:
    """One for each replica; `bounds` are the first and next offset of the merge and the high watermark."""
    first, end, watermark = bounds
    whole = [(first, end - 1)] if first < end else []
    held = common(whole, united(in_order(*(branch.cover for branch in branches))))
    places = narrow(in_order(*(ends(each.cover) for each in branches)))
    standings = []
    for number, (replica, branch) in enumerate(zip(replicas, branches, strict=True)):
        own = without(held, [(0, begins(replica) - 1)]) if begins(replica) else held
        lacking = without(own, branch.cover)
        unique = Packed(Unique, _unique(number, replicas, branches, whole, watermark, look))
        diverged_at = _diverged_at(number, branch, conflicts)
        if diverged_at is not None:
            relation: Relation = "diverged"
        elif (
            replica.unreadable
            or branch.lost
            or any(each.first_offset < end or each.last_offset is None for each in replica.damaged)
        ):
            relation = "damaged"
        elif lacking:
            relation = "behind"
        elif number == best:
            relation = "best"
        else:
            relation = "ahead" if unique else "equal"
        standings.append(
            Standing(
                relation=relation, behind_records=size(lacking), lacking=lacking,
                hurt=Packed(Hurt, _hurt(replica, branch, branches, places)), unique=unique,
                diverged_at=diverged_at,
            )
        )  # fmt: skip
    return tuple(standings)


def begins(replica: Replica) -> int:
    """Where the log begins, or should."""
    return min([replica.log_start_offset, *(each.first_offset for each in replica.damaged[:1])])


def _hurt(
    replica: Replica, branch: Branch, branches: Sequence[Branch], places: Sequence[int]
) -> Iterator[Hurt]:
    """Its damage, cut at the `places` where others have it or not; this replica has none of it sound."""
    known = ((d.first_offset, d.last_offset) for d in replica.damaged if d.last_offset is not None)
    bounded = united(chain(known, branch.lost))
    for first, last in bounded:
        cuts = places[bisect_right(places, first) : bisect_right(places, last)]
        for begin, behind in pairwise([first, *cuts, last + 1]):
            if begin < behind:
                others = (n for n, each in enumerate(branches) if each is not branch)
                sound_on = tuple(n for n in others if has(branches[n].cover, begin))
                yield Hurt(first_offset=begin, last_offset=behind - 1, sound_on=sound_on)
    for each in replica.damaged:
        if each.last_offset is None:
            yield Hurt(first_offset=each.first_offset, last_offset=None, sound_on=())


def _diverged_at(number: int, branch: Branch, conflicts: Packed[Conflict]) -> tuple[int, int] | None:
    places = [(part.first, part.run.epoch) for part in branch.losing[:1]]
    for conflict in conflicts:
        if any(number in group for group in conflict.held) and number not in conflict.taken:
            at = bisect_left(branch.parts.lasts, conflict.first_offset)
            places.append((conflict.first_offset, next((p.run.epoch for p in branch.parts[at : at + 1]), -1)))
            break  # the others lie behind it
    return min(places, default=None)


def _unique(
    number: int,
    replicas: Sequence[Replica],
    branches: Sequence[Branch],
    whole: Sequence[Span],
    watermark: int | None,
    look: Look,
) -> Iterator[Unique]:
    others = [other for other in range(len(branches)) if other != number]
    if not others:
        return
    having = united(in_order(*(branches[other].cover for other in others)))
    # What all others deleted by retention is not theirs to lose.
    earliest = min(begins(replicas[other]) for other in others)
    own = branches[number].parts.held
    own_only = common(common(without(own, having), whole), [(earliest, 1 << 62)])
    sides = [own_only] if watermark is None else [
        common(own_only, [(0, watermark - 1)]), common(own_only, [(watermark, 1 << 62)])
    ]  # fmt: skip
    for side, spans in enumerate(sides):
        for first, last in spans:
            yield Unique(
                first_offset=first, last_offset=last, records=look.count(number, first, last),
                above_high_watermark=side == 1,
            )  # fmt: skip
