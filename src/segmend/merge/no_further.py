"""How far no cleaner can have come: it leaves behind no record without a key, and none that came again.

One that has come to an offset took every record whose key came again below that, in each file that it is
done with. It goes from file to file, and may be stopped between two: what stays in one file speaks for those
behind it, and for the checkpoint, which is written last.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as in_order
from typing import NamedTuple

from segmend.formats.java_number import LONG_MAX
from segmend.frozen import replace
from segmend.merge.odd_epochs import thinned_by_its_runs
from segmend.merge.second_look import Look
from segmend.merge.spans import Span, Spans, common, united, without
from segmend.merge.superseded import STEP
from segmend.merge.values import Replica


class Stayed(NamedTuple):
    """What of one replica a cleaner would have taken.

    `keyless` is the first record without a key. `again` are offsets at which a key came again, ascending,
    with the record that stayed, descending.
    """

    keyless: int
    again: tuple[tuple[int, int], ...]

    def bound(self, gap: int = LONG_MAX) -> int:
        """The offset to which one can have come that was at the gap."""
        return min([self.keyless, *(offset for offset, before in self.again if before < gap)])


def stayed(look: Look, number: int, spans: Sequence[Span], end: int) -> Stayed:
    """Of a replica that has `spans`, below `end`; of very many keys those that come first."""
    again: list[tuple[int, int]] = []
    first: dict[bytes, int] = {}
    for span in common(spans, [(0, end - 1)]):
        for each in look.keys(number, *span):
            if each.is_keyless:
                return Stayed(each.offset, tuple(again))
            if each.key is None:
                continue
            before = first.get(each.key)
            if before is None:
                if len(first) < STEP:
                    first[each.key] = each.offset
            elif each.producer is None and (not again or before < again[-1][1]):
                again.append((each.offset, before))
                if before <= spans[0][0]:
                    return Stayed(end, tuple(again))
    return Stayed(end, tuple(again))


def held_by_runs(replica: Replica) -> Spans:
    """The offsets of its batches, on whatever branch."""
    runs = replica.runs
    return united(zip(runs.column("first_offset"), runs.column("last_offset"), strict=True))


def without_false_checkpoints(replicas: Sequence[Replica], look: Look) -> list[Replica]:
    """Those whose cleaner cannot have come to where its checkpoint says without that.

    All keys are looked at where others have what is not there; where nobody has it, the first record: to read
    each compacted log once more for a checkpoint that may be false would take longer than all the rest.
    """
    held = [held_by_runs(each) for each in replicas]
    believed = []
    for number, replica in enumerate(replicas):
        theirs = united(in_order(*(spans for other, spans in enumerate(held) if other != number)))
        cleaned = [(0, replica.cleaned - 1)] if replica.cleaned else []
        if common(without(cleaned, held[number]), theirs):
            believable = stayed(look, number, held[number], replica.cleaned).bound() >= replica.cleaned
        else:
            # One that was killed may have come further than it says, to all that is gone.
            gone = without([(0, replica.thinned - 1)], held[number]) if cleaned else ()
            believable = not (gone and _begins_without_key(look, number, held[number], replica.cleaned))
        if not believable:
            replica = thinned_by_its_runs(replace(replica, cleaned=0, proven=0))
        believed.append(replica)
    return believed


def _begins_without_key(look: Look, number: int, spans: Spans, end: int) -> bool:
    """Whether its first record below `end` that is no marker has no key."""
    keys = (each for span in common(spans, [(0, end - 1)]) for each in look.keys(number, *span))
    first = next((each for each in keys if each.is_keyless or each.key is not None), None)
    return first is not None and first.is_keyless
