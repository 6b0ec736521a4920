"""What of one replica lies on the branch of the newest leader, and what it has besides."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen, replace
from segmend.merge.lineage import claims_of
from segmend.merge.no_further import stayed
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, common, has, united, without
from segmend.merge.superseded import unexplained
from segmend.merge.values import NO_EPOCH, Epoch, Replica, Run


class Part(NamedTuple):
    """Offsets of one run."""

    first: int
    last: int
    run: Run


@frozen
class Branch:
    """One replica held against the branch.

    `losing` are parts that another leader overwrote. `cover` are the offsets that it speaks for: those
    of its `parts`, and those that compaction took. Below `authority`, where its cleaner has been, and more
    weakly below `thinned`, what it does not have was removed. `left` is where it left the branch, by its
    batches and checkpoint; None if it never did. `lost` are offsets that no cleaning took, though there
    is no byte of them.
    """

    parts: tuple[Part, ...]
    losing: tuple[Part, ...]
    cover: tuple[Span, ...]
    authority: int
    thinned: int
    left: int | None
    lost: tuple[Span, ...] = ()

    @property
    def end(self) -> int:
        """The offset after the last one on the branch; 0 without any."""
        return self.cover[-1][1] + 1 if self.cover else 0


def on_branch(replica: Replica, chain: Sequence[Epoch]) -> Branch:
    """Cut the runs of a replica to what the branch has of their epochs."""
    bounds = {each.epoch: each for each in chain}
    parts: list[Part] = []
    losing: list[Part] = []
    for run in replica.runs:
        own = bounds.get(run.epoch)
        if own is None:
            losing.append(Part(run.first_offset, run.last_offset, run))
            continue
        last = run.last_offset if own.last_offset is None else min(run.last_offset, own.last_offset)
        first = max(run.first_offset, own.first_offset)
        if first <= last:
            parts.append(Part(first, last, run))
            losing += _rest(run, first, last)
        else:
            losing.append(Part(run.first_offset, run.last_offset, run))
    left = min((*(part.first for part in losing), *_elsewhere(replica, chain)), default=None)
    # What a branch that lost had removed says nothing about this one.
    authority = replica.cleaned if left is None or left >= replica.cleaned else 0
    thinned = max(replica.thinned, authority) if left is None or left >= replica.thinned else authority
    return Branch(
        parts=tuple(parts), losing=tuple(losing), cover=tuple(_cover(replica, parts, thinned)),
        authority=authority, thinned=thinned, left=left,
    )  # fmt: skip


def lacking(branch: Branch, gone: Sequence[Span]) -> Branch:
    """A branch without these offsets, which its runs span."""
    return replace(
        branch,
        parts=tuple(_cut(branch.parts, gone)),
        cover=tuple(without(branch.cover, gone)),
        lost=tuple(united([*branch.lost, *gone])),
    )


def _cut(parts: Iterable[Part], gone: Sequence[Span]) -> Iterator[Part]:
    for part in parts:
        at, to = (
            bisect_left(gone, part.first, key=itemgetter(1)),
            bisect_right(gone, part.last, key=itemgetter(0)),
        )
        for first, last in without([(part.first, part.last)], gone[at:to]):
            yield part if at == to else Part(first, last, part.run)


def without_lost(
    branches: Sequence[Branch], replicas: Sequence[Replica], look: Look, *, compacted: bool | None
) -> list[Branch]:
    """Each without what it lacks where another replica, or its topic, shows that no cleaner took it.

    Between two files, that is, or where nothing but a few gaps shows that a cleaner has been there.
    """
    covers = [branch.cover for branch in branches]
    hurts = [
        without(_hurt(replica, -1), united((part.first, part.last) for part in branch.parts))
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
                cover=tuple(without(branch.cover, spans)),
                lost=tuple(spans),
                thinned=min(branch.thinned, max([replica.proven, *(last + 1 for _, last in kept)])),
            )
            if spans
            else branch
        )
    return branches_left


def untold(branches: Sequence[Branch], replicas: Sequence[Replica], look: Look) -> list[Span]:
    """Offsets that one replica lacks between two files, and all others that have bytes there have damaged.

    Whether compaction took them or the file is lost, nothing tells, unless the damaged bytes are as many as
    those of the batches that the replica does have at these offsets.
    """
    held = united((part.first, part.last) for branch in branches for part in branch.parts)
    spans: list[Span] = []
    for number, (branch, replica) in enumerate(zip(branches, replicas, strict=True)):
        for gap in without(without(common(replica.gaps, [(0, branch.thinned - 1)]), branch.lost), held):
            hurt = [size for other in replicas for size in _sizes(other, gap).items()]
            if not any(_as_many(span, size, number, look) for span, size in hurt):
                spans += common([gap], united(span for span, _ in hurt))
    return united(spans)


def unburied(within: Span, branches: Sequence[Branch], replicas: Sequence[Replica], look: Look) -> list[Span]:
    """Offsets that nobody has, where more bytes are damaged than the batches have that others have there."""
    held = united((part.first, part.last) for branch in branches for part in branch.parts)
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
    sizes: list[list[int]] = [[] for _ in joined]
    for each in replica.damaged:
        at = bisect_right(joined, each.first_offset, key=itemgetter(0)) - 1
        if has(joined, each.first_offset):
            sizes[at].append(0 if each.last_offset is None else each.end - each.position)
    return ((span, sum(each)) for span, each in zip(joined, sizes, strict=True) if all(each))


def _held(span: Span, look: Look, count: int) -> int:
    """The bytes of the batches that any replica has there."""
    sizes: dict[int, int] = {}
    for batch in (each for number in range(count) for each in look.batches(number, *span)):
        sizes[batch.first_offset] = max(batch.size, sizes.get(batch.first_offset, 0))
    return sum(sizes.values())


def gaps_alone(branches: Sequence[Branch], replicas: Sequence[Replica]) -> list[Span]:
    """Offsets that no replica has, where a few gaps are all that shows compaction on any of them."""
    if _is_proven(replicas):
        return []
    held = united((part.first, part.last) for branch in branches for part in branch.parts)
    return without(united(span for branch in branches for span in branch.cover), held)


def _is_proven(replicas: Sequence[Replica]) -> bool:
    """Whether more than a few gaps shows that a cleaner has been at one of them."""
    return any(each.cleaned or each.proven for each in replicas)


def _no_further(
    number: int,
    branches: Sequence[Branch],
    hurts: Sequence[Sequence[Span]],
    look: Look,
    compacted: bool | None,
) -> Branch:
    """One of which only gaps say that it was compacted, without those where others have something to lose."""
    branch, covers = branches[number], [each.cover for each in branches]
    others = [part for other in branches if other is not branch for part in other.parts]
    theirs = united(
        [*((part.first, part.last) for part in others), *(each for hurt in hurts for each in hurt)]
    )
    gaps = _removed(branch)
    open_ones, unheld = [gap for gap in gaps if common([gap], theirs)], list[Span]()
    if compacted is not False and gaps:
        # What took the gaps went no further: what stands for their records comes before that.
        held = united((part.first, part.last) for part in branch.parts)
        clues = stayed(look, number, held, branch.thinned)
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
        cover=tuple(without(branch.cover, lost)),
        lost=tuple(lost),
        thinned=min(thinned, branch.thinned),
    )


def _removed(branch: Branch) -> list[Span]:
    """The offsets for which it speaks without having a byte of them."""
    return without(branch.cover, united((part.first, part.last) for part in branch.parts))


def _has_keyless(look: Look, branches: Sequence[Branch], gap: Span) -> bool:
    return any(
        each.is_keyless
        for number, branch in enumerate(branches)
        for span in common(united((part.first, part.last) for part in branch.parts), [gap])
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
    covers: Sequence[Sequence[Span]],
    cleaned: tuple[int, int],
) -> list[tuple[Span, list[Span]]]:
    """The gaps where others have what no cleaner can have taken, and what they have there: that is lost.

    `cleaned`: how far one may have come here, and how far it certainly did.
    """
    certain, possible = list[Span](), list[Span]()
    bounds = cleaned[0], max(cleaned[1], *(each.authority for each in branches))
    for number, other in enumerate(branches):
        held = united((part.first, part.last) for part in other.parts)
        if other is not branch and (spans := common(gaps, held)):
            lost = unexplained(look, number, spans, bounds, covers)
            certain += lost[0]
            possible += lost[1]
    sure, may_be = united(certain), united([*certain, *possible])
    return [(gap, common([gap], may_be)) for gap in gaps if common([gap], sure)]


def _elsewhere(replica: Replica, chain: Sequence[Epoch]) -> Iterator[int]:
    """Where the epochs of its checkpoint leave the branch, whether batches of them are left or not."""
    bounds = {each.epoch: each.last_offset for each in chain}
    claims = sorted(claims_of(replica).items())
    for (epoch, start), (_, following) in pairwise([*claims, (NO_EPOCH, replica.log_end_offset)]):
        last = bounds.get(epoch, start - 1)
        if last is not None and replica.epochs and following - 1 > last:
            yield max(start, last + 1)
        elif epoch not in bounds:
            yield start


def _rest(run: Run, first: int, last: int) -> list[Part]:
    sides = ((run.first_offset, first - 1), (last + 1, run.last_offset))
    return [Part(begin, end, run) for begin, end in sides if begin <= end]


def _cover(replica: Replica, parts: Sequence[Part], thinned: int) -> list[Span]:
    held = united((part.first, part.last) for part in parts)
    below = min(thinned, replica.log_end_offset) - 1
    removed = without(
        without([(replica.log_start_offset, below)] if below >= 0 else [], held), _hurt(replica, below)
    )
    return united([*held, *removed])


def _hurt(replica: Replica, below: int) -> list[Span]:
    """The offsets of its damage; where nothing tells how far it goes, up to `below`."""
    return united(
        (each.first_offset, below if each.last_offset is None else each.last_offset)
        for each in replica.damaged
    )
