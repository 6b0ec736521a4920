"""What a reader of committed records is given, by Fetch and as Kafka's consumer sorts out what was aborted.

What it should be given the markers tell, which are in the same answer: a transaction ends with the next
marker of its producer.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tests.lab.disasters.batches import number
from tests.lab.disasters.reads import TURNS, fault, fetch

KEY = b"\x08\x00\x00"
TRANSACTIONAL, CONTROL = 0x10, 0x20
UNREAD = -2
Batch = tuple[int, int, int, int | None]
"""Producer, first and last offset, None or the type of the marker; `UNREAD` of what a consumer stops at."""
Named = tuple[int, int]
"""Producer and first offset: where offsets go back, two batches may begin at one."""


def read_committed(port: int, offsets: dict[str, list[int]]) -> dict[str, Any]:
    """By partition, of those in which it gets aborted records or misses committed ones."""
    found = {name: one_log(port, name, first, end) for name, (first, end) in offsets.items()}
    return {name: each for name, each in found.items() if each}


def one_log(port: int, name: str, first: int, end: int) -> dict[str, list[list[int]]]:
    """`aborted` are the batches that it is given and should not be, `hidden` the others."""
    batches: list[Batch] = []
    given: set[Named] = set()
    at = first
    for _ in range(TURNS):
        answer = fetch(port, name, at, committed=True) if at < end else None
        if answer is None or answer.error:
            break
        now = [each for each in sorted_out(answer.data) if each[2] >= at or each[3] is not None]
        read = [*itertools.takewhile(lambda each: each[3] != UNREAD, now)]
        given |= passed(read, answer.aborted)
        batches += read
        if not now:
            break
        at = max(at + 1, now[len(read)][2] + 1 if read != now else now[-1][2] + 1)  # moved past it by hand
    right, aborted = by_markers(batches)
    wrong = {"aborted": given & aborted, "hidden": right - given}
    ends = {(producer, one): last for producer, one, last, _ in batches}
    return {kind: sorted([each[1], ends[each]] for each in named) for kind, named in wrong.items() if named}


def sorted_out(data: bytes) -> Iterator[Batch]:
    """The sound batches of an answer."""
    at = 0
    while at + 61 <= len(data):
        one = data[at : at + 12 + number(data, at + 8, ">i")]
        at += max(12, len(one))
        if fault(one):
            if len(one) >= 61 and len(one) == 12 + number(one, 8, ">i"):
                yield -1, number(one, 0, ">q"), number(one, 0, ">q") + number(one, 23, ">i"), UNREAD
        else:
            inside = number(one, 21, ">h") & TRANSACTIONAL
            control = inside and number(one, 21, ">h") & CONTROL
            kind = number(one, one.index(KEY, 61) + len(KEY), ">h") if control and KEY in one[61:] else None
            base = number(one, 0, ">q")
            yield number(one, 43, ">q") if inside else -1, base, base + number(one, 23, ">i"), kind


def passed(batches: Sequence[Batch], aborted: Sequence[tuple[int, int]]) -> set[Named]:
    """What is left as `CompletedFetch` sorts it out by the list of the answer."""
    waiting, hidden, found = sorted(aborted, key=lambda each: each[1]), set(), set()
    for producer, first, last, kind in batches:
        while waiting and waiting[0][1] <= last:
            hidden.add(waiting.pop(0)[0])
        if kind is not None:
            hidden -= {producer} if kind == 0 else set()
        elif producer not in hidden:
            found.add((producer, first))
    return found


def by_markers(batches: Sequence[Batch]) -> tuple[set[Named], set[Named]]:
    """What the markers behind it say is committed, and what is aborted; nothing where one may be missing."""
    ended: tuple[set[Named], set[Named]] = (set(), set())
    waiting: dict[int, list[Named]] = {}
    expected = 0
    for producer, first, last, kind in batches:
        if first > expected:
            waiting.clear()
        expected = last + 1
        if kind is None:
            waiting.setdefault(producer, []).append((producer, first))
        elif kind in (0, 1):
            ended[1 - kind].update(waiting.pop(producer, []))
    return ended
