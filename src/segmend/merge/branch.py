"""What of one replica lies on the branch of the newest leader, and what it has besides."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge as in_order
from itertools import chain, pairwise
from typing import NamedTuple, overload

from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen, replace
from segmend.merge.lineage import claims_of
from segmend.merge.no_further import stayed
from segmend.merge.packed import Packed
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, Spans, common, has, united, without
from segmend.merge.superseded import unexplained
from segmend.merge.values import Epoch, Replica, Run


class Part(NamedTuple):
    """Offsets of one run."""

    first: int
    last: int
    run: Run


class Parts(Sequence[Part]):
    """Parts of one replica, in order; of their runs only the numbers are held."""

    __slots__ = ("_held", "_numbers", "_runs", "_spans")

    def __init__(self, runs: Packed[Run], parts: Iterable[tuple[int, int, int]]) -> None:
        """Offsets, and the number of their run."""
        self._runs = runs
        self._spans, self._numbers = Spans(), array("i")
        for first, last, number in parts:
            self._spans.add(first, last)
            self._numbers.append(number)
        self._held: Spans | None = None

    @property
    def held(self) -> Spans:
        """Their offsets, neighbours joined."""
        if self._held is None:
            self._held = united(self._spans)
        return self._held

    @property
    def lasts(self) -> Sequence[int]:
        """The last offset of each."""
        return self._spans.lasts

    def without(self, gone: Spans) -> Parts:
        """What is left of each without these offsets."""
        return Parts(self._runs, self._left(gone))

    def _left(self, gone: Spans) -> Iterator[tuple[int, int, int]]:
        for (first, last), number in zip(self._spans, self._numbers, strict=True):
            cut = gone[bisect_left(gone.lasts, first) : bisect_right(gone.firsts, last)]
            for span in without([(first, last)], cut) if cut else [(first, last)]:
                yield (*span, number)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> Part: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Part]: ...
    def __getitem__(self, at: int | slice) -> Part | Sequence[Part]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return Part(*self._spans[at], self._runs[self._numbers[at]])


@frozen
class Branch:
    """One replica held against the branch.

    `losing` are parts that another leader overwrote. `cover` are the offsets that it speaks for: those
    of its `parts`, and those that compaction took. Below `authority`, where its cleaner has been, and more
    weakly below `thinned`, what it does not have was removed. `left` is where it left the branch, by its
    batches and checkpoint; None if it never did. `lost` are offsets that no cleaning took, though there
    is no byte of them.
    """

    parts: Parts
    losing: Parts
    cover: Spans
    authority: int
    thinned: int
    left: int | None
    lost: Spans

    @property
    def end(self) -> int:
        """The offset after the last one on the branch; 0 without any."""
        return self.cover[-1][1] + 1 if self.cover else 0


def on_branch(replica: Replica, chain: Sequence[Epoch]) -> Branch:
    """Cut the runs of a replica to what the branch has of their epochs."""
    bounds = {each.epoch: each for each in chain}
    parts = Parts(replica.runs, _divided(replica.runs, bounds, losing=False))
    losing = Parts(replica.runs, _divided(replica.runs, bounds, losing=True))
    left = min((*(part.first for part in losing), *_elsewhere(replica, chain)), default=None)
    # What a branch that lost had removed says nothing about this one.
    authority = replica.cleaned if left is None or left >= replica.cleaned else 0
    thinned = max(replica.thinned, authority) if left is None or left >= replica.thinned else authority
    return Branch(
        parts=parts, losing=losing, cover=_cover(replica, parts, thinned), authority=authority,
        thinned=thinned, left=left, lost=Spans(),
    )  # fmt: skip


def _divided(
    runs: Packed[Run], bounds: Mapping[int, Epoch], *, losing: bool
) -> Iterator[tuple[int, int, int]]:
    """Of each run what the branch has of its epoch, or what is losing; and its number."""
    sides = (runs.column(name) for name in ("epoch", "first_offset", "last_offset"))
    for number, (epoch, first, last) in enumerate(zip(*sides, strict=True)):
        own = bounds.get(epoch)
        whole, mine = [(first, last)], Spans()
        if own is not None:
            low, high = (
                max(first, own.first_offset),
                last if own.last_offset is None else min(last, own.last_offset),
            )
            mine = united([(low, high)])
        for span in without(whole, mine) if losing else mine:
            yield (*span, number)


def lacking(branch: Branch, gone: Spans) -> Branch:
    """A branch without these offsets, which its runs span."""
    return replace(
        branch,
        parts=branch.parts.without(gone),
        cover=without(branch.cover, gone),
        lost=united([*branch.lost, *gone]),
    )


def without_lost(
    branches: Sequence[Branch], replicas: Sequence[Replica], look: Look, *, compacted: bool | None
) -> list[Branch]:
    """Each without what it lacks where another replica, or its topic, shows that no cleaner took it.

    Between two files, that is, or where nothing but a few gaps shows that a cleaner has been there.
    """
    covers = [branch.cover for branch in branches]
    hurts = [
        without(_hurt(replica, -1), branch.parts.held)
        for branch, replica in zip(branches, replicas, strict=True)
    ]
    if not _is_proven(replicas):
        return [_no_further(number, branches, hurts, look, compacted) for number in range(len(branches))]
    branches_left = []
    for branch, replica in zip(branches, replicas, strict=True):
        lost: list[Span] = []
        few = common(_removed(branch), united([(replica.proven, branch.thinned - 1)]))
        between = common(replica.gaps, [(0, branch.thinned - 1)])
        gaps = united([*between, *few])
        # A cleaner that was killed has written no checkpoint; more than a few gaps show that it was there.
        proven = 0 if compacted is False else min(replica.proven, branch.thinned)
        for gap, gone in _lost_in(gaps, branch, branches, look, covers, (branch.thinned, proven)):
            # So is what damage hides there on the others.
            lost += [*gone, *(each for hurt in hurts for each in common([gap], hurt))]
        spans = united(lost)
        kept = [gap for gap in gaps if not common([gap], spans)]
        branches_left.append(
            replace(
                branch,
                cover=without(branch.cover, spans),
                lost=spans,
                thinned=min(branch.thinned, max([replica.proven, *(last + 1 for _, last in kept)])),
            )
            if spans
            else branch
        )
    return branches_left


def held_by(branches: Iterable[Branch]) -> Spans:
    """The offsets that any of them has."""
    return united(in_order(*(branch.parts.held for branch in branches)))


def untold(branches: Sequence[Branch], replicas: Sequence[Replica], look: Look) -> Spans:
    """Offsets that one replica lacks between two files, and all others that have bytes there have damaged.

    Whether compaction took them or the file is lost, nothing tells, unless the damaged bytes are as many as
    those of the batches that the replica does have at these offsets.
    """
    held = held_by(branches)
    spans: list[Span] = []
    for number, (branch, replica) in enumerate(zip(branches, replicas, strict=True)):
        for gap in without(without(common(replica.gaps, [(0, branch.thinned - 1)]), branch.lost), held):
            hurt = [size for other in replicas for size in _sizes(other, gap).items()]
            if not any(_as_many(span, size, number, look) for span, size in hurt):
                spans += common([gap], united(span for span, _ in hurt))
    return united(spans)


def unburied(within: Span, branches: Sequence[Branch], replicas: Sequence[Replica], look: Look) -> Spans:
    """Offsets that nobody has, where more bytes are damaged than the batches have that others have there."""
    held = held_by(branches)
    hurt = [
        span
        for each in replicas
        for span, size in _sizes(each, within).items()
        if _held(span, look, len(replicas)) < size
    ]
    return common(without([within], held), united(hurt))


def holes(replica: Replica) -> Iterator[tuple[Span, int]]:
    """What is damaged, and in how many bytes; not where nothing tells how many there were."""
    joined = _hurt(replica, LONG_MAX)
    sizes = array("q", [0]) * len(joined)
    for each in replica.damaged:
        at = bisect_right(joined.firsts, each.first_offset) - 1
        if has(joined, each.first_offset) and sizes[at] >= 0:
            size = 0 if each.last_offset is None else each.end - each.position
            sizes[at] = sizes[at] + size if size else -1
    return ((span, size) for span, size in zip(joined, sizes, strict=True) if size >= 0)


def _held(span: Span, look: Look, count: int) -> int:
    """The bytes of the batches that any replica has there."""
    sizes: dict[int, int] = {}
    for batch in (each for number in range(count) for each in look.batches(number, *span)):
        sizes[batch.first_offset] = max(batch.size, sizes.get(batch.first_offset, 0))
    return sum(sizes.values())


def gaps_alone(branches: Sequence[Branch], replicas: Sequence[Replica]) -> Spans:
    """Offsets that no replica has, where a few gaps are all that shows compaction on any of them."""
    if _is_proven(replicas):
        return Spans()
    held = held_by(branches)
    return without(united(span for branch in branches for span in branch.cover), held)


def _is_proven(replicas: Sequence[Replica]) -> bool:
    """Whether more than a few gaps shows that a cleaner has been at one of them."""
    return any(each.cleaned or each.proven for each in replicas)


def _no_further(
    number: int,
    branches: Sequence[Branch],
    hurts: Sequence[Spans],
    look: Look,
    compacted: bool | None,
) -> Branch:
    """One of which only gaps say that it was compacted, without those where others have something to lose."""
    branch, covers = branches[number], [each.cover for each in branches]
    others = (other.parts.held for other in branches if other is not branch)
    theirs = united(chain(*others, *hurts))
    gaps = _removed(branch)
    open_ones, unheld = [gap for gap in gaps if common([gap], theirs)], list[Span]()
    if compacted is not False and gaps:
        # What took the gaps went no further: what stands for their records comes before that.
        clues = stayed(look, number, branch.parts.held, branch.thinned)
        bounds = {gap: clues.bound(gap[0]) for gap in gaps}
        unheld = [gap for gap in gaps if bounds[gap] < gap[0] and gap not in open_ones]
        for bound in {*bounds.values()}:
            asked = [gap for gap in open_ones if bounds[gap] == bound >= gap[0]]
            known = {gap for gap, _ in _lost_in(asked, branch, branches, look, covers, (bound, 0))}
            # A record without a key stands for no other one: it does no harm where a cleaner did take it.
            known |= {gap for gap in asked if _has_keyless(look, branches, gap)}
            open_ones = [gap for gap in open_ones if gap not in asked or gap in known]
    lost = united([*common(open_ones, theirs), *unheld])
    kept = without(gaps, united([*open_ones, *unheld]))
    thinned = kept[-1][1] + 1 if kept and compacted is not False else 0
    return replace(
        branch,
        cover=without(branch.cover, lost),
        lost=lost,
        thinned=min(thinned, branch.thinned),
    )


def _removed(branch: Branch) -> Spans:
    """The offsets for which it speaks without having a byte of them."""
    return without(branch.cover, branch.parts.held)


def _has_keyless(look: Look, branches: Sequence[Branch], gap: Span) -> bool:
    return any(
        each.is_keyless
        for number, branch in enumerate(branches)
        for span in common(branch.parts.held, [gap])
        for each in look.keys(number, *span)
    )


def _sizes(replica: Replica, gap: Span) -> dict[Span, int]:
    """The bytes of what is damaged there, by the offsets that it may have held, all of it together."""
    sizes: dict[Span, int] = {}
    for each in replica.damaged:
        if each.last_offset is None or each.end == each.position:
            continue
        span = each.first_offset, each.last_offset
        if common([gap], [span]):
            sizes[span] = sizes.get(span, 0) + each.end - each.position
    return sizes


def _as_many(span: Span, size: int, number: int, look: Look) -> bool:
    """Whether damaged bytes are just those of the batches that another replica has at these offsets."""
    return sum(batch.size for batch in look.batches(number, *span)) == size


def _lost_in(
    gaps: Sequence[Span],
    branch: Branch,
    branches: Sequence[Branch],
    look: Look,
    covers: Sequence[Spans],
    cleaned: tuple[int, int],
) -> list[tuple[Span, Spans]]:
    """The gaps where others have what no cleaner can have taken, and what they have there: that is lost.

    `cleaned`: how far one may have come here, and how far it certainly did.
    """
    certain, possible = list[Span](), list[Span]()
    bounds = cleaned[0], max(cleaned[1], *(each.authority for each in branches))
    for number, other in enumerate(branches):
        if other is not branch and (spans := common(gaps, other.parts.held)):
            lost = unexplained(look, number, spans, bounds, covers)
            certain += lost[0]
            possible += lost[1]
    sure, may_be = united(certain), united([*certain, *possible])
    return [(gap, common([gap], may_be)) for gap in gaps if common([gap], sure)]


def _elsewhere(replica: Replica, chain: Sequence[Epoch]) -> Iterator[int]:
    """Where the epochs of its checkpoint leave the branch, whether batches of them are left or not.

    One that begins later than on the branch, with nothing before it, does not: who fetches from a leader that
    was cleaned there notes the first batch that it gets (`UnifiedLog.append`).
    """
    bounds = {each.epoch: each.last_offset for each in chain}
    claims: list[tuple[int | None, int]] = [*sorted(claims_of(replica).items())]
    for (epoch, start), (later, following) in pairwise([*claims, (None, replica.log_end_offset)]):
        assert epoch is not None
        last = bounds.get(epoch, start - 1)
        if last is not None and replica.epochs and following - 1 > last:
            if later not in bounds or _has_anything(replica, last + 1, following - 1):
                yield max(start, last + 1)
        elif epoch not in bounds:
            yield start


def _has_anything(replica: Replica, first: int, last: int) -> bool:
    """Whether there are bytes of these offsets, sound or not."""
    at = bisect_left(replica.runs.column("last_offset"), first)
    if at < len(replica.runs) and replica.runs[at].first_offset <= last:
        return True
    return bool(common(_hurt(replica, LONG_MAX), [(first, last)]))


def _cover(replica: Replica, parts: Parts, thinned: int) -> Spans:
    below = min(thinned, replica.log_end_offset) - 1
    removed = without(
        without([(replica.log_start_offset, below)] if below >= 0 else [], parts.held), _hurt(replica, below)
    )
    return united(in_order(parts.held, removed))


def _hurt(replica: Replica, below: int) -> Spans:
    """The offsets of its damage; where nothing tells how far it goes, up to `below`."""
    return united(
        (each.first_offset, below if each.last_offset is None else each.last_offset)
        for each in replica.damaged
    )
