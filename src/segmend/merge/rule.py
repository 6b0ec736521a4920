"""The one rule of merging: what the true log is, out of several replicas of a partition."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge as in_order
from itertools import chain, pairwise

from segmend.errors import UsageError
from segmend.frozen import replace
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge.agreement import disagreements
from segmend.merge.branch import Branch, gaps_alone, holes, on_branch, unburied, untold, without_lost
from segmend.merge.doubts import assumed, beside, deleted, misplaceable, tied, unexplained_gaps, unknown
from segmend.merge.leaps import without_leaps
from segmend.merge.lineage import claims_of, lineage
from segmend.merge.no_further import without_false_checkpoints
from segmend.merge.odd_epochs import believed
from segmend.merge.packed import Packed
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, Spans, common, ends, has, size, united, without
from segmend.merge.standing import begins, diverged_of, standings_of
from segmend.merge.strayed import without_strayed
from segmend.merge.superseded import left_of, superseded
from segmend.merge.uncleaned import Uncleaned, without_uncleaned
from segmend.merge.values import NO_EPOCH, Conflict, Diverged, Epoch, Merged, Range, Replica
from segmend.wording import plural


def merge(
    replicas: Sequence[Replica],
    look: Look,
    *,
    compacted: bool | None,
    prefer: int | None = None,
    home: int | None = None,
) -> Merged:
    """The log of the newest leader's branch, each offset from a replica that has it sound.

    `compacted` says whether the topic is, None where nobody says: a gap may mean nothing else.
    `prefer` is a replica whose branch, and whose bytes where they conflict, are taken instead. `home` is the
    one that the merged log is for: what it has sound stays, unless it would bring back what a cleaner took.
    Raises `UsageError` for replicas of different partitions, topics (by id) or clusters.
    """
    refuse_strangers(replicas)
    replicas, leaps, misplaced = without_leaps(replicas, look)
    replicas, doubts = believed(replicas, look)
    replicas = without_false_checkpoints(replicas, look)
    replicas, false_starts = _without_false_starts(replicas)
    chain, unproven = lineage(replicas, prefer)
    branches = [on_branch(replica, chain) for replica in replicas]
    branches = without_lost(branches, replicas, look, compacted=compacted)
    strayed = without_strayed(branches, look)
    uncleaned = without_uncleaned(strayed.branches, [each.proven for each in replicas], look)
    branches = list(uncleaned.branches)
    diverged = Packed(Diverged, diverged_of(branches, look))
    marks = [_mark(*each, chain) for each in zip(replicas, branches, strict=True)]
    watermark = max((mark for mark in marks if mark is not None), default=None)
    first, end = _bounds(replicas, branches, watermark)
    ranks = _ranks(replicas, branches, prefer, (first, end - 1))
    conflicts = _conflicts(branches, ranks, look, prefer)
    staying = None if home is None else (home, _stays_from(branches[home], replicas[home], branches))
    choice = _Choice(uncleaned, ranks, conflicts, watermark, staying)
    settled = (
        _settled(each, uncleaned, look, fills=staying != (each.replica, 0))
        for each in choice.ranges(first, end)
    )
    ranges = Packed(Range, settled)
    taken = zip(ranges.column("first_offset"), ranges.column("last_offset"), strict=True)
    missing = without([(first, end - 1)] if first < end else [], united(taken))
    assert not any(common(branch.cover, missing) for branch in branches), "a sound offset is not taken"
    never = gaps_alone(branches, replicas) if compacted is False else Spans()
    left_out = common(never, united([(first, end - 1)]))
    return Merged(
        ranges=ranges, missing=missing, diverged=diverged, conflicts=conflicts,
        standings=standings_of(replicas, branches, conflicts, choice.best, (first, end, watermark), look),
        lineage=chain,
        best=choice.best, first_offset=first, next_offset=end, high_watermark=watermark,
        doubts=(
            *leaps,
            *doubts,
            *false_starts,
            *unproven,
            *unknown(replicas, branches, marks, (first, end)),
            *tied(strayed.ties, replicas),
            *_untold(replicas, branches, look, missing),
            *unexplained_gaps(left_out),
            *misplaceable(replicas, missing),
            *_unsure(replicas, uncleaned, ranges, look, staying),
            *beside(replicas, missing, end),
        ),
        left_out=left_out, misplaced=misplaced,
        assumed=(*assumed(ranges, branches, replicas, strayed.loose), *deleted(first, branches, replicas)),
    )  # fmt: skip


def refuse_strangers(replicas: Sequence[Replica]) -> None:
    """Raise `UsageError` where these are no replicas of one partition."""
    if not replicas:
        raise UsageError("no replica is given")
    one = replicas[0]
    for other in replicas[1:]:
        if (one.topic, one.partition) != (other.topic, other.partition):
            raise UsageError(f"{other.path}: another partition than {one.path}")
    refuse_another_topic(replicas)
    refuse_another_cluster(replicas)


def refuse_another_topic(replicas: Sequence[Replica | PartitionDir]) -> None:
    """Raise `UsageError` where these are of several topics that have, or had, the same name."""
    _refuse_another("topic", replicas, [each.topic_id for each in replicas])


def refuse_another_cluster(replicas: Sequence[Replica]) -> None:
    """Raise `UsageError` where these are of several clusters."""
    _refuse_another("cluster", replicas, [each.cluster_id for each in replicas])


def _refuse_another(what: str, replicas: Sequence[Replica | PartitionDir], ids: Sequence[str | None]) -> None:
    """Of several ids the one that fewest say is blamed; of two replicas nobody knows which is the other."""
    counts = Counter(each for each in ids if each)
    if len(counts) < 2:
        return
    (usual, many), *_, (odd, few) = counts.most_common()
    one, other = replicas[ids.index(usual)], replicas[ids.index(odd)]
    leave = "leave it out" if few < many else "leave one of them out"
    raise UsageError(
        f"{other.path}: of {what} {odd}, but {one.path} is of {what} {usual}"
        f"{f', as {many - 1} more' if many > 1 else ''}; these are no replicas of one partition, so {leave}"
    )


def _speaks_to(replica: Replica, branch: Branch, chain: Sequence[Epoch]) -> int | None:
    """Up to which offset its high watermark is one of the branch; None if it is, however far that goes.

    Of one that left the branch: up to where it did. Of one that knows no newer epoch than one that has
    ended: up to there. Its log was cut since, and the checkpoint (each 5 s) is of the leader that lost; or
    it had more, and lost its end with the line of its epoch.
    """
    if branch.left is not None:
        return branch.left
    newest = max(claims_of(replica), default=None)
    last = next((each.last_offset for each in chain if each.epoch == newest), None)
    return None if last is None else last + 1


def _mark(replica: Replica, branch: Branch, chain: Sequence[Epoch]) -> int | None:
    """The high watermark of a replica, as far as it is one of the branch."""
    mark, bound = replica.high_watermark, _speaks_to(replica, branch, chain)
    return mark if mark is None or bound is None else min(bound, mark)


def _without_false_starts(replicas: Sequence[Replica]) -> tuple[list[Replica], list[str]]:
    """The replicas, none with a log start offset above all it has: nothing would be left of it; and in words.

    No broker deletes what is above its high watermark, let alone its log end.
    """
    believed, doubts = list[Replica](), list[str]()
    for each in replicas:
        if not each.runs or each.deleted_below is None:
            believed.append(each)
            continue
        claimed = (one.last_offset for one in each.damaged if one.last_offset is not None)
        end = 1 + max(chain(each.runs.column("last_offset"), claimed))
        if each.deleted_below > end:
            doubts.append(
                f"{each.path}: the log start offset of its checkpoint, {each.deleted_below}, lies above all "
                f"that is there, which ends at {end - 1}; what is there is taken"
            )
            each = replace(
                each,
                deleted_below=None,
                log_start_offset=min(each.runs.column("first_offset")),
                log_end_offset=end,
            )
        believed.append(each)
    return believed, doubts


def _bounds(
    replicas: Sequence[Replica], branches: Sequence[Branch], watermark: int | None
) -> tuple[int, int]:
    """The first offset of the merged log and the one after its last, whether anybody has them or not."""
    end = max([*(branch.end for branch in branches), watermark or 0])
    starts = [branch.cover[0][0] for branch in branches if branch.cover]
    for replica, branch in zip(replicas, branches, strict=True):
        if branch.left is None:
            end = max(end, replica.log_end_offset)
            starts += [each.first_offset for each in replica.damaged[:1]]
    deleted = [replica.deleted_below for replica in replicas if replica.deleted_below is not None]
    if not starts:
        # Retention leaves an empty file that begins where it ended; a log that lost its files has none.
        starts = [
            max((each.log_start_offset for each in replicas if each.log_start_offset <= end), default=end)
        ]
    # A log that others have less of was deleted there by retention, each broker at its own time.
    first = max([min(starts), *(each for each in deleted if each <= end)])
    return min(first, end), end


def _ranks(
    replicas: Sequence[Replica], branches: Sequence[Branch], prefer: int | None, whole: Span
) -> list[int]:
    """The place of each replica in the order by which sound copies are taken."""

    def key(number: int) -> tuple[bool, int, int, int, bool, int]:
        branch = branches[number]
        lacking = size(without([whole] if whole[0] <= whole[1] else [], branch.cover))
        hurt, nameless = len(replicas[number].damaged), replicas[number].broker is None
        return number != prefer, -branch.end, lacking, hurt, nameless, number

    ordered = sorted(range(len(replicas)), key=key)
    return [ordered.index(number) for number in range(len(replicas))]


def _conflicts(
    branches: Sequence[Branch], ranks: Sequence[int], look: Look, prefer: int | None
) -> Packed[Conflict]:
    """Where sound copies of one epoch are not the same, and whose are taken."""
    spans: list[Spans] = []
    for number, branch in enumerate(branches):
        for other in range(number):
            # Compaction rewrites batches, and no two brokers at the same moment.
            low = max(branch.thinned, branches[other].thinned)
            spans.append(disagreements(branches[other].parts, branch.parts, look, (other, number), low=low))
    return Packed(
        Conflict,
        (
            _conflict(span, branches, ranks, look, prefer)
            for span in united(chain(*spans))
            if not _is_cleaned(span, branches, look)
        ),
    )


def _is_cleaned(span: Span, branches: Sequence[Branch], look: Look) -> bool:
    """Whether these are messages of magic 0 or 1 of which a cleaner took some out of one that is compressed.

    No header tells how many there were, and who followed a leader that was cleaned has what that left.
    """
    if span[1] >= max(branch.thinned for branch in branches):
        return False
    held = [[*look.batches(number, *span)] for number in range(len(branches))]
    batches = [batch for each in held for batch in each]
    if any(batch.epoch != NO_EPOCH for batch in batches):
        return False
    places = min(batch.first_offset for batch in batches), max(batch.last_offset for batch in batches)
    having = (number for number, each in enumerate(held) if each)
    records = sorted(({each[:3] for each in look.keys(number, *places)} for number in having), key=len)
    return len(records[0]) < len(records[-1]) and all(less <= more for less, more in pairwise(records))


def _conflict(
    span: Span, branches: Sequence[Branch], ranks: Sequence[int], look: Look, prefer: int | None
) -> Conflict:
    groups: dict[tuple[object, ...], list[int]] = {}
    for number in sorted(range(len(branches)), key=lambda each: ranks[each]):
        if common([span], branches[number].cover):
            groups.setdefault(tuple(look.batches(number, *span)), []).append(number)
    held = sorted(groups.values(), key=lambda group: (prefer not in group, -len(group), ranks[group[0]]))
    decided = len(held) == 1 or len(held[0]) > len(held[1])
    return Conflict(
        first_offset=span[0], last_offset=span[1], held=tuple(map(tuple, held)), taken=tuple(held[0]),
        because="majority" if decided and prefer not in held[0] else "order",
    )  # fmt: skip


class _Choice:
    """Which replica each offset is taken from."""

    def __init__(
        self,
        uncleaned: Uncleaned,
        ranks: Sequence[int],
        conflicts: Packed[Conflict],
        watermark: int | None,
        staying: tuple[int, int] | None = None,
    ) -> None:
        self._branches, self._covers = uncleaned.branches, uncleaned.covers
        self._ranks, self._conflicts = ranks, conflicts
        self._watermark, self._staying = watermark, staying
        self._begins = conflicts.column("first_offset")
        self.best = ranks.index(0)

    def ranges(self, first: int, end: int) -> Iterator[Range]:
        """In order of offsets; neighbours of one replica are one."""
        held: Range | None = None
        places = (place for place in in_order(*self._places()) if first < place < end)
        for begin, behind in pairwise(chain((first,), places, (end,))):
            chosen = self._range(begin, behind - 1) if begin < behind else None
            if chosen is None:
                continue
            if held is not None and _goes_on(held, chosen):
                held = Range(
                    replica=held.replica, first_offset=held.first_offset, last_offset=chosen.last_offset,
                    unacknowledged=held.unacknowledged,
                )  # fmt: skip
                continue
            if held is not None:
                assert held.last_offset < chosen.first_offset, "an offset is taken twice"
                yield held
            held = chosen
        if held is not None:
            yield held

    def _places(self) -> Iterator[Iterable[int]]:
        """Where the choice may change, each in order; some come several times."""
        yield from map(ends, self._covers)
        yield ends((each.first_offset, each.last_offset) for each in self._conflicts)
        for branch in self._branches:
            yield from ((branch.authority,), (branch.thinned,))
        yield () if self._staying is None else self._staying[1:]
        yield () if self._watermark is None else (self._watermark,)

    def _range(self, first: int, last: int) -> Range | None:
        having = [number for number, cover in enumerate(self._covers) if has(cover, first)]
        at = bisect_right(self._begins, first) - 1
        allowed = having
        if at >= 0 and self._conflicts[at].last_offset >= first:
            allowed = [number for number in having if number in self._conflicts[at].taken] or having
        if not allowed:
            return None
        taken = min(allowed, key=lambda number: self._order(number, first))
        alone = self._watermark is not None and first >= self._watermark and len(having) == 1
        return Range(replica=taken, first_offset=first, last_offset=last, unacknowledged=alone)

    def _order(self, number: int, offset: int) -> tuple[bool, int, int, int]:
        """Who stays what it is, then cleaned furthest first, then by rank."""
        cleaned, thinned = self._branches[number].authority, self._branches[number].thinned
        stays = self._staying is not None and number == self._staying[0] and offset >= self._staying[1]
        return not stays, -cleaned * (cleaned > offset), -thinned * (thinned > offset), self._ranks[number]


def _stays_from(branch: Branch, replica: Replica, branches: Sequence[Branch]) -> int:
    """The offset from which on a replica can stay as it is, as far as it is sound.

    Below what some replica has compacted it can only if it has all of it: who fills a hole there with what
    another cleaner left may miss the tombstone of a record that stays.
    """
    bound = max(each.thinned for each in branches)
    lacking = without([(begins(replica), bound - 1)] if begins(replica) < bound else [], branch.cover)
    return bound if lacking else 0


def _goes_on(held: Range, following: Range) -> bool:
    return (held.replica, held.last_offset + 1, held.unacknowledged) == (
        following.replica, following.first_offset, following.unacknowledged
    )  # fmt: skip


def _filling(part: Range, branches: Sequence[Branch]) -> Span | None:
    """The offsets for which another replica, which was cleaned further, would speak if it had them sound."""
    bound = max(branch.thinned for branch in branches)
    taken = branches[part.replica]
    own = taken.authority if any(branch.authority for branch in branches) else taken.thinned
    return (
        None
        if bound <= max(part.first_offset, own)
        else (part.first_offset, min(part.last_offset, bound - 1))
    )


def _settled(part: Range, uncleaned: Uncleaned, look: Look, *, fills: bool) -> Range:
    """Without the records that a replica cleaned further had removed, where it shows, or is damaged."""
    branches = uncleaned.branches
    filling = _filling(part, branches) if fills else None
    spans = common([(part.first_offset, part.last_offset)], united(chain(*uncleaned.deleted)))
    gone = {offset for first, last in spans for offset in range(first, last + 1)}
    if filling is not None and without([filling], uncleaned.newest):
        bound = max(branch.thinned for branch in branches)
        covers = [branch.cover for branch in branches]
        gone.update(superseded(look, part.replica, filling, bound, covers))
    if not gone:
        return part
    return Range(
        replica=part.replica, first_offset=part.first_offset, last_offset=part.last_offset,
        unacknowledged=part.unacknowledged, superseded=tuple(sorted(gone)),
    )  # fmt: skip


def _unburied(
    ranges: Packed[Range], branches: Sequence[Branch], replicas: Sequence[Replica], look: Look
) -> Iterator[str]:
    """Where what deleted a record that is filled in may have been, in words: nobody has it any more."""
    bound = max(branch.thinned for branch in branches)
    own = [branch.parts.held for branch in branches]
    told = set[int]()
    for part in ranges:
        filling = None if part.replica in told else _filling(part, branches)
        if filling is None or not common([filling], own[part.replica]):
            continue
        told.add(part.replica)  # From there on: that is also what it fills in further behind.
        for first, last in unburied((filling[0], bound - 1), branches, replicas, look):
            yield (
                f"offsets {first} to {last}: compaction took what was there, or it is damaged; whether a "
                f"tombstone among it deleted what {replicas[part.replica].path} fills in from offset "
                f"{filling[0]} on, nothing tells"
            )


def _shrunk(
    ranges: Packed[Range], branches: Sequence[Branch], replicas: Sequence[Replica], look: Look
) -> Iterator[str]:
    """Where a replica cleaned further had less than what is filled in for it, in words.

    A cleaner took a record there that nothing supersedes: the tombstone went, too, and others never had it.
    """
    lasts = ranges.column("last_offset")
    for replica, branch in zip(replicas, branches, strict=True):
        for (first, last), damaged in holes(replica):
            if first >= branch.thinned:
                continue
            filled = [
                (part, (max(first, part.first_offset), min(last, part.last_offset)))
                for part in ranges[bisect_left(lasts, first) : bisect_left(lasts, last) + 1]
                if branches[part.replica] is not branch
                and part.first_offset <= last
                and _filling(part, branches) is not None
            ]
            # Mostly they are as many, without a look at any key.
            most = sum(batch.size for part, span in filled for batch in look.batches(part.replica, *span))
            if damaged >= most:
                continue
            fewest = sum(left_of(look, part.replica, span, part.superseded) for part, span in filled)
            if damaged < fewest:
                yield (
                    f"offsets {first} to {last}: fewer bytes are damaged in {replica.path} than what others "
                    "fill in has; whether compaction had deleted some of it, nothing tells"
                )


def _untold(
    replicas: Sequence[Replica], branches: Sequence[Branch], look: Look, missing: Sequence[Span]
) -> Iterator[str]:
    """Where a lost file looks like compaction, in words."""
    for first, last in without(untold(branches, replicas, look), missing):
        yield (
            f"offsets {first} to {last}: one replica has nothing there, the others have damage; whether "
            "compaction took all of it or records are lost nothing tells"
        )


def _unsure(
    replicas: Sequence[Replica],
    uncleaned: Uncleaned,
    ranges: Packed[Range],
    look: Look,
    staying: tuple[int, int] | None,
) -> Iterator[str]:
    """Newest records of keys that a replica compacted further lacks, in words; and what that may hide."""
    yield from _unburied(ranges, uncleaned.branches, replicas, look)
    # Who stays whole fills nothing in.
    filled = (each for each in ranges if staying != (each.replica, 0))
    yield from _shrunk(Packed(Range, filled), uncleaned.branches, replicas, look)
    for replica, spans in zip(replicas, uncleaned.unsure, strict=False):
        if spans:
            many = plural(size(spans), "record")
            yield (
                f"offsets {spans[0][0]} to {spans[-1][1]}: {replica.path}, though compacted there, lacks "
                f"{many} whose key never comes again, taken from others{_which(spans)}; whether it "
                "lost that, or it was deleted while those were away, nothing tells"
            )
    for replica, spans in zip(replicas, uncleaned.deleted, strict=True):
        if spans:
            yield (
                f"offsets {spans[0][0]} to {spans[-1][1]}: {plural(size(spans), 'record')} left out as "
                f"deleted{_which(spans)}, for a cleaner took that in {replica.path}, which has lost nothing "
                "there; what deleted it, nobody has"
            )
    if uncleaned.untold is not None:
        first, last = uncleaned.untold
        yield (
            f"offsets {first} to {last}: too many records of open transactions to hold each against what "
            "replicas that were compacted further lack"
        )


def _which(spans: Spans) -> str:
    """The first offsets of those that do not follow on one another, in words."""
    if len(spans) < 2:
        return ""
    few = [f"{first}" if first == last else f"{first}-{last}" for first, last in spans[:8]]
    return f" ({', '.join(few)}{', ...' if len(spans) > 8 else ''})"
