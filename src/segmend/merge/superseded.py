"""Records by their keys: which a cleaner had removed with right, and which it could not have.

Of two replicas one is cleaned further. It had removed each record whose key came again below its bound. Where
it is damaged and the other fills in, those are left out, for a deleted key must not live again. And where it
has nothing between two files, those that never came again show that a file is lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import merge as in_order
from itertools import groupby
from operator import attrgetter
from typing import Final

from segmend.formats.batch import HEADER_SIZE_V2
from segmend.formats.java_number import LONG_MAX
from segmend.merge.second_look import Keyed, Look
from segmend.merge.spans import Span, Spans, has, united
from segmend.merge.values import NO_EPOCH

STEP: Final = 1 << 20
"""So many keys are held at a time."""

Held = dict[bytes, list[int]]


def superseded(
    look: Look, replica: int, filling: Span, bound: int, covers: Sequence[Spans]
) -> tuple[int, ...]:
    """The offsets of the filling to leave out; `covers` is what each replica has on the branch."""
    offsets: list[int] = []
    for held in _held(look.keys(replica, *filling)):
        offsets += _passed(look, held, bound, covers)
    return tuple(sorted(offsets))


def unexplained(
    look: Look, replica: int, gaps: Sequence[Span], bounds: tuple[int, int], covers: Sequence[Spans]
) -> tuple[list[Span], list[Span]]:
    """What this replica has in the gaps of another one, and no cleaning need have taken.

    First the records that it cannot have taken; then tombstones and markers, which it may have. `bounds`:
    what cleaning may have come to, and what it did by a checkpoint. Tombstones live until the second time.
    """
    bound, proven = bounds
    certain, possible = list[Span](), list[Span]()
    aborted = united(span for gap in gaps for span in look.aborted(replica, *gap))
    records = (each for gap in gaps for each in look.keys(replica, *gap))
    tombstones = set[int]()
    for held in _held(_noted(records, tombstones, possible)):
        _passed(look, held, bound, covers)
        for offset in (offset for offsets in held.values() for offset in offsets):
            if not has(aborted, offset):
                (possible if offset in tombstones and offset < proven else certain).append((offset, offset))
    return certain, possible


def left_of(look: Look, replica: int, span: Span, gone: Sequence[int]) -> int:
    """The bytes that a cleaner leaves at least of the batches there, if it takes no more than it has to.

    That is what is `gone`, tombstones, what has no key, and what was aborted.
    """
    aborted = united(look.aborted(replica, *span))
    taken = frozenset(gone[bisect_left(gone, span[0]) : bisect_right(gone, span[1])])
    batches = [*look.batches(replica, *span)]
    lasts = [batch.last_offset for batch in batches]
    size = 0
    for number, records in groupby(look.keys(replica, *span), lambda each: bisect_left(lasts, each.offset)):
        stays = [
            each.key is not None and not (each.tombstone or each.offset in taken or has(aborted, each.offset))
            for each in records
        ]
        batch = batches[number]
        # Nothing is left for sure of one that may have fewer bytes: of magic 0 or 1, or not all of it there.
        if batch.epoch != NO_EPOCH and span[0] <= batch.first_offset and batch.last_offset <= span[1]:
            size += batch.size if all(stays) else any(stays) * (HEADER_SIZE_V2 + 1)
    return size


def _noted(records: Iterator[Keyed], tombstones: set[int], keyless: list[Span]) -> Iterator[Keyed]:
    for each in records:
        if each.tombstone:
            tombstones.add(each.offset)
        if each.key is None:
            keyless.append((each.offset, each.offset))
        yield each


def _held(records: Iterator[Keyed]) -> Iterator[Held]:
    held: Held = {}
    count = 0
    for each in records:
        if each.key is None:
            continue
        held.setdefault(each.key, []).append(each.offset)
        count += 1
        if count >= STEP:
            yield held
            held, count = {}, 0
    if held:
        yield held


def _passed(look: Look, held: Held, bound: int, covers: Sequence[Spans]) -> list[int]:
    """What is held and comes again below the bound, on any replica; it is held no longer."""
    passed: list[int] = []
    begin = min(offsets[0] for offsets in held.values())
    # All in one, for a marker that one replica has damaged another one may have.
    covered = (_covered(look, number, begin, covers) for number in range(len(covers)))
    records = in_order(*covered, key=attrgetter("offset"))
    for each in _standing(records, held, bound):
        earlier = held.get(each.key) if each.key is not None else None
        if earlier and earlier[0] < each.offset:
            passed += [offset for offset in earlier if offset < each.offset]
            earlier[:] = [offset for offset in earlier if offset >= each.offset]
    return passed


def _covered(look: Look, number: int, begin: int, covers: Sequence[Spans]) -> Iterator[Keyed]:
    return (each for each in look.keys(number, begin, LONG_MAX) if has(covers[number], each.offset))


def _standing(records: Iterator[Keyed], held: Held, bound: int) -> Iterator[Keyed]:
    """The records below the bound with keys that are held; a transaction's only once committed."""
    open_ones: dict[int, list[Keyed]] = {}
    for each in records:
        if each.offset >= bound and not open_ones:
            return
        if each.commits is not None and each.producer is not None:
            ended = open_ones.pop(each.producer, ())
            yield from ended if each.commits else ()
        elif each.key not in held or each.offset >= bound:
            continue
        elif each.producer is None:
            yield each
        else:
            open_ones.setdefault(each.producer, []).append(each)
