"""Batches that leave offsets out where nothing shows compaction: records are gone, or an offset is wrong.

No checksum covers a base offset, so a flipped bit of it looks like a gap. Where nothing tells which it is,
the batch is left out if one bit explains it, and named: a record at a wrong offset is worse than one that is
missing by name. Any other gap is no flipped bit, and what is behind it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from segmend.frozen import replace
from segmend.merge.packed import Packed
from segmend.merge.second_look import Look
from segmend.merge.values import Damaged, Replica, Run

LEAP: Final = "leap"
"""The kind of `Damaged` that says so of a run, which is among the replica's runs until `without_leaps`."""
FAR: Final = 1 << 24
"""No log lost so many offsets at one place; whatever bits are wrong, an offset so far off is wrong."""


def without_leaps(replicas: Sequence[Replica], look: Look) -> tuple[Sequence[Replica], list[str], int]:
    """The replicas without what may be misplaced, what nothing tells, in words, and how many records went."""
    doubts = list[str]()
    settled = [
        _settled(number, replicas, look, doubts) if any(d.kind == LEAP for d in each.damaged) else each
        for number, each in enumerate(replicas)
    ]
    read, left = (sum(sum(e.runs.column("records")) for e in some) for some in (replicas, settled))
    return settled, doubts, read - left


def _settled(number: int, replicas: Sequence[Replica], look: Look, doubts: list[str]) -> Replica:
    replica = replicas[number]
    leaps = {(each.file, each.position): each for each in replica.damaged if each.kind == LEAP}
    runs, damaged = Packed(Run), [each for each in replica.damaged if each.kind != LEAP]
    before: Run | None = None
    for run in replica.runs:
        leap = leaps.get((run.file, run.first_position))
        kept = leap is None or _is_kept(replica, leap, run, before)
        known = None if leap is None else _as_others_know(number, run, leap, replicas, look)
        if leap is not None and known is None:
            doubts.append(_doubt(replica, run, _due(leap, run, before), kept))
        if known or (kept and known is None):
            runs.append(run)
            if leap is not None:
                damaged.append(_gap(leap, run, before))
        elif leap is not None:
            damaged.append(replace(leap, kind="misplaced"))
        before = run
    end = replica.log_end_offset
    if before is not None and end == before.last_offset + 1:
        claimed = (each.last_offset for each in damaged if each.last_offset is not None)
        ends = chain(claimed, (run.last_offset for run in runs[-1:]))
        end = max(replica.log_start_offset, 1 + max(ends, default=-1))
    return replace(replica, runs=runs, damaged=Packed(Damaged, damaged), log_end_offset=end)


def _due(leap: Damaged, run: Run, before: Run | None) -> int:
    """Where it begins if nothing was left out: behind the batch before it; behind damage, before the next."""
    if leap.last_offset is None or _is_beside(run, before):
        return leap.first_offset
    return leap.last_offset - run.last_offset + run.first_offset


def _gap(leap: Damaged, run: Run, before: Run | None) -> Damaged:
    """What is gone if it is where it says: before it; behind damage, after it."""
    first, last, place = leap.first_offset, run.first_offset - 1, run.first_position
    if leap.last_offset is not None and not _is_beside(run, before):
        first, last, place = run.last_offset + 1, leap.last_offset, run.end_position
    return Damaged(
        first_offset=first, last_offset=last, file=run.file, position=place, end=place, kind="missing"
    )


def _is_beside(run: Run, before: Run | None) -> bool:
    """Whether no damage is before it: a batch, or the beginning of the file."""
    return not run.first_position or (
        before is not None and (before.file, before.end_position) == (run.file, run.first_position)
    )


def _is_kept(replica: Replica, leap: Damaged, run: Run, before: Run | None) -> bool:
    """Whether the offset of a batch is taken for right of which no other replica tells."""
    due = _due(leap, run, before)
    if due < leap.first_offset:
        return True  # There is no room for it before the next one.
    if leap.last_offset is not None and _is_beside(run, before):
        hurt = any(each.file == run.file and each.position >= run.end_position for each in replica.damaged)
        if not hurt:
            return (
                True  # The next file begins further behind: there offsets are left out, wherever it belongs.
            )
    # A wrapper of magic 0 or 1 has its last offset in its header.
    said, right = run.first_offset, due
    if run.magic < 2:
        said, right = run.last_offset, due + run.last_offset - run.first_offset
    return (said ^ right).bit_count() > 1 and said - right < FAR


def _as_others_know(
    number: int, run: Run, leap: Damaged, replicas: Sequence[Replica], look: Look
) -> bool | None:
    """Whether other replicas have it there, too; False if elsewhere, or have something else there."""
    (mine,) = look.batches(number, run.first_offset, run.last_offset)
    last = max(run.last_offset, leap.last_offset or 0)
    there = elsewhere = 0
    for other in range(len(replicas)):
        if other == number:
            continue
        near = [each for each in look.batches(other, leap.first_offset, last) if each.epoch == mine.epoch]
        there += mine in near
        elsewhere += mine not in near and any(
            (each.size, each.crc) == (mine.size, mine.crc)
            or (each.last_offset >= mine.first_offset and each.first_offset <= mine.last_offset)
            for each in near
        )
    if there:
        return there >= elsewhere
    return False if elsewhere else None


def _doubt(replica: Replica, run: Run, due: int, kept: bool) -> str:
    place = f"{replica.path}/{run.file} at byte {run.first_position}"
    if kept:
        return (
            f"{place}: nothing but the batch says that its records are those of offsets {run.first_offset} "
            f"to {run.last_offset}, and no checksum covers that; they are taken for these, not for those "
            f"from offset {due} on, for no single bit makes one of the other"
        )
    return (
        f"{place}: a sound batch that says it begins at offset {run.first_offset}, where {due} is due, is "
        "left out: one flipped bit may have made that, for no checksum covers it, and nothing else tells"
    )
