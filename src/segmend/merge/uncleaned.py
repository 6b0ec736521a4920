"""Records that no cleaner took, though a replica that was compacted there lacks them: their keys tell.

A cleaner never takes the newest record of a key, unless that is a tombstone or of an aborted transaction.
It takes a tombstone only after all that was before it, a marker only after all records of its transaction.
So where whole batches are gone from within a file, whose gap looks like compaction, other replicas show it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from heapq import merge as in_order
from itertools import chain, groupby
from operator import itemgetter
from typing import Final, NamedTuple

from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen, replace
from segmend.merge.agreement import differences
from segmend.merge.branch import Branch, lacking
from segmend.merge.packed import narrow
from segmend.merge.second_look import Keyed, Look
from segmend.merge.spans import Span, Spans, common, ends, has, united, without
from segmend.merge.superseded import STEP

_HELD: Final = 1 << 18
"""So many keys are held in one pass: about a hundred megabytes."""
Who = tuple[int, ...]
"""Replicas, by number."""


@frozen
class Uncleaned:
    """The branches without what they lost, and where the newest records of keys are that were lost.

    `covers` are without what came again only above all that was compacted, too. It is taken from who has it,
    but no loss: a cleaner may have come further than the disk tells.
    Of what is in `unsure`, by replica, another reading is possible: the key was deleted, the tombstone taken
    in time, and who still has the old record was away meanwhile. Where the files of one that lacks it show
    that a cleaner took it, it was: that is `deleted`, by replica. Where transactions of very many records
    are open, those of `untold` were not looked at.
    """

    branches: tuple[Branch, ...]
    covers: tuple[Spans, ...]
    newest: Spans
    unsure: tuple[Spans, ...]
    deleted: tuple[Spans, ...]
    untold: Span | None = None


def without_uncleaned(branches: Sequence[Branch], proven: Sequence[int], look: Look) -> Uncleaned:
    """Each branch without the offsets that it seems to have compacted, but cannot have.

    `proven`: how far more than a few gaps show, by replica, that a cleaner has come.
    """
    start = _first_difference(branches)
    kinds = [[dict[int, int | None]() for _ in branches] for _ in range(4)]
    offsets = _Offsets(kinds[0], kinds[1], kinds[2], kinds[3], [])
    while start is not None:
        start = _look_from(start, branches, look, offsets)
    lost, late, unsure, deleted = ([united((each, each) for each in one) for one in kind] for kind in kinds)
    left = [
        _as_far(lacking(branch, gone), known) if gone else branch
        for branch, gone, known in zip(branches, lost, proven, strict=True)
    ]
    if any(each.thinned < branch.thinned for each, branch in zip(left, branches, strict=True)):
        again = without_uncleaned(left, proven, look)  # No cleaner came as far as it seemed.
        return replace(
            again,
            newest=united([*again.newest, *chain(*lost)]),
            unsure=tuple(united([*one, *more]) for one, more in zip(again.unsure, unsure, strict=True)),
        )
    return Uncleaned(
        branches=tuple(left),
        covers=tuple(without(branch.cover, spans) for branch, spans in zip(left, late, strict=True)),
        newest=united(chain(*lost, *late)),
        unsure=tuple(unsure),
        deleted=tuple(deleted),
        untold=(min(offsets.untold), max(offsets.untold)) if offsets.untold else None,
    )


def _as_far(branch: Branch, proven: int) -> Branch:
    """A gap that turned out to be a loss is no sign of a cleaner."""
    gaps = without(branch.cover, branch.parts.held)
    last = gaps.lasts[-1] + 1 if gaps else 0
    return replace(branch, thinned=min(branch.thinned, max(branch.authority, proven, last)))


class _Offsets(NamedTuple):
    """Offsets of each replica, with the producer of their transaction."""

    lost: list[dict[int, int | None]]
    late: list[dict[int, int | None]]
    unsure: list[dict[int, int | None]]
    deleted: list[dict[int, int | None]]
    untold: list[int]


def _first_difference(branches: Sequence[Branch]) -> int | None:
    """Where first a replica that was compacted there may lack what another one has."""
    places = []
    for branch in branches:
        spoken_for = common(branch.cover, [(0, branch.thinned - 1)])
        for other in branches:
            if spoken_for and other is not branch:
                differing = common(united(differences(branch.parts, other.parts)), spoken_for)
                places += [first for first, _ in differing[:1]]
    return min(places, default=None)


def _look_from(start: int, branches: Sequence[Branch], look: Look, offsets: _Offsets) -> int | None:
    """One pass over the keys; the offset from which another one is needed, if there are very many."""
    end = max(branch.thinned for branch in branches)
    newest, lackers = _Newest(end, offsets.late), _Lackers(branches)
    for offset, records in groupby(_keys(start, branches, look), key=itemgetter(0)):
        if offset >= end and not newest.held:
            break
        (_, number, first), *others = records
        having = (number, *(other for _, other, _ in others))
        newest.take(first, *lackers.of(offset, having))
    tombstones: list[dict[bytes, int]] = [{} for _ in branches]
    for key, each in newest.left():
        unsure = not (each.sure or each.tombstone)
        cleaned = [number for number in each.lacking if unsure and look.cleaned_at(number, each.offset)]
        for number in cleaned:
            offsets.deleted[number][each.offset] = each.producer
        for number in () if cleaned else each.lacking:
            if each.tombstone:
                tombstones[number][key] = each.offset
                continue
            offsets.lost[number][each.offset] = each.producer
            if not each.sure:
                offsets.unsure[number][each.offset] = each.producer
    for number in range(len(branches)):
        markers = [(offset, producer) for offset, producer, who in newest.markers if number in who]
        if tombstones[number] or markers:
            filled = {**offsets.lost[number], **offsets.late[number]}
            last = max(0, *tombstones[number].values(), *(offset for offset, _ in markers))
            merged = _with(filled, number, branches, look, last)
            kept = _kept_for(merged, tombstones[number], markers)
            offsets.lost[number].update(dict.fromkeys(kept))
    offsets.untold.extend(newest.untold)
    return newest.full_at


class _Lackers:
    """Which replicas lack an offset that others have, though they speak for it."""

    def __init__(self, branches: Sequence[Branch]) -> None:
        self._branches = branches
        self._witnesses = [_witnesses(branch, branches) for branch in branches]
        more = sorted([*(branch.thinned for branch in branches), *chain(*self._witnesses)])
        self._places = narrow(in_order(*(ends(branch.cover) for branch in branches), more))
        self._until = -1
        self._known: dict[Who, tuple[Who, bool]] = {}

    def of(self, offset: int, having: Who) -> tuple[Who, bool]:
        """They, and whether who has it was there all the time."""
        if offset >= self._until:
            at = bisect_right(self._places, offset)
            self._until = self._places[at] if at < len(self._places) else LONG_MAX
            self._known.clear()
        if (lackers := self._known.get(having)) is None:
            lackers = self._known[having] = self._found(offset, having)
        return lackers

    def _found(self, offset: int, having: Who) -> tuple[Who, bool]:
        lacking = tuple(
            number
            for number, branch in enumerate(self._branches)
            if number not in having and offset < branch.thinned and has(branch.cover, offset)
        )
        witnesses = self._witnesses
        return lacking, all(any(offset >= witnesses[one][number] for number in having) for one in lacking)


def _witnesses(branch: Branch, branches: Sequence[Branch]) -> list[int]:
    """From which offset on each other replica has all that was written up to where this one was compacted."""
    witnesses = []
    for other in branches:
        gone = without([(other.thinned, branch.thinned - 1)], other.parts.held)
        away = other.end < branch.thinned
        holes = gone.lasts[-1:] if other is not branch else ()
        witnesses.append(LONG_MAX if away else max([other.thinned, *(last + 1 for last in holes)]))
    return witnesses


def _keys(start: int, branches: Sequence[Branch], look: Look) -> Iterator[tuple[int, int, Keyed]]:
    """The records of all branches in order of offsets, each with the number of its replica."""

    def of(number: int) -> Iterator[tuple[int, int, Keyed]]:
        for first, last in without(branches[number].cover, [(0, start - 1)]):
            for each in look.keys(number, first, last):
                yield each.offset, number, each

    return in_order(*map(of, range(len(branches))), key=itemgetter(0))


class _Record(NamedTuple):
    """One that some replicas lack; or the last of a transaction that is open yet, behind such.

    That one has its key `since` an offset.
    """

    offset: int
    lacking: Who
    tombstone: bool
    sure: bool
    producer: int | None
    since: int | None


class _Newest:
    """The newest record of each key so far, where a replica lacks it, and those of open transactions behind.

    At most `_HELD` keys are held; where more come, `full_at` is the first that is left to another pass. What
    comes again above `end` only is `late`. Of records of open transactions those beyond `STEP` are `untold`.
    """

    def __init__(self, end: int, late: Sequence[dict[int, int | None]]) -> None:
        self._bound, self._late = end, late
        self.held: dict[bytes, tuple[_Record, ...]] = {}
        self.markers: list[tuple[int, int, Who]] = []
        self.full_at: int | None = None
        self.untold: list[int] = []
        self._open: dict[int, set[bytes]] = {}
        self._opened = 0

    def take(self, each: Keyed, lacking: Who, sure: bool) -> None:
        """The next record."""
        if each.commits is not None and each.producer is not None:
            self._end(each.producer, commits=each.commits)
            if lacking and not self._is_full(each.offset):
                self.markers.append((each.offset, each.producer, lacking))
        elif each.key is not None and each.producer is not None:
            if lacking or each.key in self.held:
                self._open_one(each.key, each.producer, each, lacking, sure)
        elif each.key is not None:
            if older := self.held.pop(each.key, ()):
                self._come_again(older[0], each.offset)
            if lacking and not self._is_full(each.offset):
                self.held[each.key] = (_Record(each.offset, lacking, each.tombstone, sure, None, None),)

    def _open_one(self, key: bytes, producer: int, each: Keyed, lacking: Who, sure: bool) -> None:
        """A record of a transaction; of those of one key the last one counts."""
        older = self.held.get(key, ())
        if not older and self._is_full(each.offset):
            return
        before = next((one for one in older if one.since is not None and one.producer == producer), None)
        if before is None and self._opened >= STEP:
            self.untold.append(each.offset)
            del self.untold[1:-1]
            return
        since = each.offset if before is None else before.since
        if before is not None and each.offset >= self._bound:
            self._note_late(before)
        rest = (one for one in older if one is not before)
        self.held[key] = (*rest, _Record(each.offset, lacking, each.tombstone, sure, producer, since))
        keys = self._open.setdefault(producer, set())
        self._opened += key not in keys
        keys.add(key)

    def _is_full(self, offset: int) -> bool:
        full = len(self.held) + len(self.markers) >= _HELD
        if full and self.full_at is None:
            self.full_at = offset
        return full

    def _end(self, producer: int, *, commits: bool) -> None:
        """What a transaction wrote stands now, or never was."""
        keys = self._open.pop(producer, set())
        self._opened -= len(keys)
        for key in keys:
            records = self.held.pop(key, ())
            ended = [one.since is not None and one.producer == producer for one in records]
            at = ended.index(True) if any(ended) else None
            if at is not None and commits:
                self._come_again(records[0], records[at].since or 0)
                left = (records[at]._replace(since=None), *records[at + 1 :])
            else:
                left = tuple(one for one, is_ended in zip(records, ended, strict=True) if not is_ended)
            if any(one.lacking for one in left):
                self.held[key] = left

    def _come_again(self, oldest: _Record, offset: int) -> None:
        if oldest.since is None and offset >= self._bound:
            self._note_late(oldest)

    def _note_late(self, record: _Record) -> None:
        for number in record.lacking:
            self._late[number][record.offset] = record.producer

    def left(self) -> Iterator[tuple[bytes, _Record]]:
        """What never came again; of what nothing tells how its transaction ended: no cleaner went there."""
        return ((key, each) for key, records in self.held.items() for each in records)


def _with(
    filled: dict[int, int | None], number: int, branches: Sequence[Branch], look: Look, end: int
) -> Iterator[Keyed]:
    """The records of a branch in order, and those that others fill in."""
    holes = without([(0, end)], branches[number].cover)

    def of(other: int) -> Iterator[Keyed]:
        for span in [(0, end)] if other == number else holes:
            for each in look.keys(other, *span):
                if has(branches[other].cover, each.offset):
                    yield each

    more = (Keyed(offset, None, tombstone=False, producer=who) for offset, who in sorted(filled.items()))
    return in_order(*map(of, range(len(branches))), more, key=itemgetter(0))


def _kept_for(
    records: Iterator[Keyed], tombstones: dict[bytes, int], markers: Sequence[tuple[int, int]]
) -> Iterator[int]:
    """The tombstones and markers that a replica lacks while it has what a cleaner takes before them."""
    wanted, unended, due = {producer for _, producer in markers}, set[int](), deque(markers)
    for each in chain(records, (Keyed(LONG_MAX, None, tombstone=False),)):
        while due and due[0][0] < each.offset:
            offset, producer = due.popleft()
            if producer in unended:
                unended.discard(producer)
                yield offset
        if each.commits is not None and each.producer is not None:
            unended.discard(each.producer)
        elif each.producer in wanted:
            unended.add(each.producer)
        if each.key is not None and each.offset < tombstones.get(each.key, 0):
            yield tombstones.pop(each.key)
