"""What other replicas have in the place of damage: the rule of `rescue`, asked only where it is needed.

A healthy replica is read as it is. Of one that is damaged all replicas are read once more, into
runs, and the ranges of their merge that lie in the damaged place are taken.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from segmend.errors import UsageError
from segmend.fleet.ranges import ByteRange, ReplicaDir
from segmend.formats.java_number import LONG_MAX
from segmend.frozen import frozen
from segmend.logdir.cleaned import was_cleaned
from segmend.merge.fates import Fates, fates
from segmend.merge.look import Second
from segmend.merge.replicas import read_replica
from segmend.merge.rule import merge
from segmend.merge.values import Merged

_KEPT: Final = 16


@frozen
class Patch:
    """Offsets that another replica has; without one, offsets that nobody has."""

    copy: ReplicaDir | None
    first_offset: int
    last_offset: int
    without: frozenset[int] = frozenset()


@frozen
class _Merging:
    merged: Merged
    fates: Callable[[], Fates]


def patches(piece: ByteRange, first: int | None, last: int | None) -> list[Patch]:
    """What there is for offsets first to last, in order; None stands for the ends of the log."""
    mine = ReplicaDir(place=piece.place, dir_name=piece.dir_name)
    copies = (mine, *piece.others)
    merging = _merged(copies, piece.compacted)
    low, high = first or 0, LONG_MAX if last is None else last
    if merging is None:
        return [Patch(copy=None, first_offset=low, last_offset=high)]
    merged = merging.merged
    fillings = [
        Patch(
            copy=copies[each.replica],
            first_offset=max(low, each.first_offset),
            last_offset=min(high, each.last_offset),
            without=frozenset(each.superseded),
        )
        for each in merged.ranges
        if copies[each.replica] != mine
    ]
    fillings += [
        Patch(copy=None, first_offset=max(low, begin), last_offset=min(high, end))
        for begin, end in (*merged.missing, *merged.left_out)
    ]
    fillings = sorted((p for p in fillings if p.first_offset <= p.last_offset), key=lambda p: p.first_offset)
    if not fillings and last is None:
        return [Patch(copy=None, first_offset=low, last_offset=high)]
    return fillings


def fates_of(piece: ByteRange) -> Fates | None:
    """How the transactions of all replicas of its partition ended; None where they are not to be merged.

    Raises `Unreadable`.
    """
    merging = _merged(
        (ReplicaDir(place=piece.place, dir_name=piece.dir_name), *piece.others), piece.compacted
    )
    return merging.fates() if merging else None


def forget() -> None:
    """At the beginning of a task: a worker lives long, and files change."""
    _merged.cache_clear()
    _was_cleaned.cache_clear()


def lost_between(piece: ByteRange) -> bool:
    """Whether offsets between two of its files are lost, and were not compacted."""
    if piece.compacted is not None:
        return not piece.compacted
    return not _was_cleaned(ReplicaDir(place=piece.place, dir_name=piece.dir_name))


@functools.lru_cache(maxsize=_KEPT)
def _was_cleaned(replica: ReplicaDir) -> bool:
    partition = replica.opened()
    return partition is None or was_cleaned(partition)


@functools.lru_cache(maxsize=_KEPT)
def _merged(copies: tuple[ReplicaDir, ...], compacted: bool | None) -> _Merging | None:
    """None where one of them is gone, or they are no replicas of one partition after all."""
    dirs = [log_dir for copy in copies if (log_dir := copy.opened()) is not None]
    if len(dirs) < len(copies):
        return None
    replicas = [read_replica(each, compacted=compacted) for each in dirs]
    try:
        merged = merge(replicas, Second(dirs, replicas), compacted=compacted)
    except UsageError:
        return None
    return _Merging(merged=merged, fates=functools.cache(lambda: fates(merged, replicas, dirs)))
