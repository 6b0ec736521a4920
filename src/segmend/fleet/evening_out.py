"""What moving replicas would give, between the disks of a broker and between brokers, and Kafka's JSON of it.

The search is that of `plan balance`. Between brokers at most one replica of each partition moves, and never
to a broker that has another one; racks are not looked at. A list of replicas is told whole and in its
order (the first is the preferred leader) or not at all: it comes from the cluster's metadata on the disks, or
from whoever asks, for a file of moves that forgets a replica takes it away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from heapq import nlargest
from itertools import groupby
from typing import Final

from segmend.balancing.solver import BalanceProblem, Movable, solve
from segmend.balancing.solver import Disk as Fill
from segmend.fleet.capacity import Measured
from segmend.fleet.disks import DiskOfBrokers
from segmend.frozen import frozen
from segmend.grouping import grouped

LARGEST: Final = 400_000
"""Replicas times targets that one search takes; of more only the largest replicas are tried."""

Key = tuple[str, int]
Assignment = Mapping[Key, tuple[int, ...]]
"""The replicas of partitions, the preferred leader first."""


@frozen
class MoveOf:
    """One replica, to another broker or to another log dir of its own."""

    topic: str
    partition: int
    bytes: int
    source: int
    target: int
    target_dir: str | None


@frozen
class Evened:
    """One search. `names` are what is made even (log dirs, or brokers), the others how full they are.

    `passed_over` are nodes without a replica of which nothing tells whether they are brokers.
    """

    scope: str
    broker: int | None
    names: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    moves: tuple[MoveOf, ...]
    exact: bool
    why_not: str | None = None
    cluster_id: str | None = None
    passed_over: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.moves)


def between_disks(
    disks: Sequence[DiskOfBrokers], replicas: Iterable[Measured], *, spread: float, reserve: int, days: float
) -> list[Evened]:
    """For each broker with several disks of its own, of known size; `replicas` come broker by broker."""
    of_one = (disk for disk in disks if len(disk.brokers) == 1 and disk.total is not None)
    of_brokers = grouped(of_one, lambda disk: disk.brokers[0])
    several = {broker: mine for broker, mine in of_brokers.items() if len(mine) > 1 and broker >= 0}
    within = partial(_within, spread=spread, reserve=reserve, days=days)
    evened = {
        broker: within(broker, several[broker], list(same))
        for broker, same in groupby(replicas, lambda each: each.broker)
        if broker in several
    }
    return [evened.get(each) or within(each, several[each], []) for each in sorted(several)]


def _within(
    broker: int,
    mine: Sequence[DiskOfBrokers],
    replicas: Sequence[Measured],
    *,
    spread: float,
    reserve: int,
    days: float,
) -> Evened:
    by_dir = grouped(replicas, lambda each: each.dir)
    held = [(r, n) for n, disk in enumerate(mine) for path in disk.dirs for r in by_dir.get(path, ())]
    fills = list(map(_fill, mine))
    items = [_movable(each, number, days) for each, number in held]
    problem = BalanceProblem(fills, items, spread=spread, reserve=reserve)
    answer = solve(problem)
    return Evened(
        scope="disks", broker=broker, names=tuple(", ".join(disk.dirs) for disk in mine),
        before=problem.fills([fill.used for fill in fills]), after=answer.fills,
        moves=tuple(_move(held[n][0], broker, mine[target].dirs[0]) for n, target in answer.moves),
        exact=answer.exact,
    )  # fmt: skip


def between_brokers(
    disks: Sequence[DiskOfBrokers],
    replicas: Iterable[Measured],
    *,
    registered: Collection[int],
    spread: float,
    reserve: int,
    days: float,
) -> Evened | None:
    """For one cluster; None for a single node. `why_not` is told where nothing can be said.

    The `replicas` are gone through several times, so that they need not be in memory.

    A node without replicas is a broker if it is `registered` as one: it may be a controller.
    """
    holders = {each.broker for each in replicas if each.kind == "current"}
    nodes = {broker for disk in disks for broker in disk.brokers}
    numbers = sorted(holders | (nodes & set(registered)))
    passed_over = () if registered else tuple(sorted(each for each in nodes - holders if each >= 0))
    names = tuple(f"broker {number}" for number in numbers)
    if len(numbers) < 2:
        return _not_looked_at(names, "one broker has all replicas", passed_over) if passed_over else None
    if numbers[0] < 0:
        # Kafka knows no broker of such a number, and it may be another of these.
        return _not_looked_at(names, "nothing tells whose some log dirs are")
    mine = {number: [disk for disk in disks if number in disk.brokers] for number in numbers}
    if any(len(disk.brokers) > 1 for each in mine.values() for disk in each):
        return _not_looked_at(names, "brokers share a disk here")
    if any(disk.total is None for each in mine.values() for disk in each):
        return _not_looked_at(names, "the size of a disk was not seen")
    fills = [_sum(map(_fill, mine[number])) for number in numbers]
    where = {number: n for n, number in enumerate(numbers)}
    full = {number: fills[n].used / fills[n].capacity for number, n in where.items()}
    chosen = _chosen(replicas, full, max(LARGEST // len(numbers) ** 2, 50))
    items = [
        _movable(
            each, where[each.broker], days,
            frozenset(where[broker] for broker in chosen.others[each.topic, each.partition]),
        )
        for each in chosen.replicas
    ]  # fmt: skip
    problem = BalanceProblem(fills, items, spread=spread, reserve=reserve)
    answer = solve(problem)
    return Evened(
        scope="brokers", broker=None, names=names, before=problem.fills([fill.used for fill in fills]),
        after=answer.fills, moves=tuple(_move(chosen.replicas[n], numbers[t], None) for n, t in answer.moves),
        exact=answer.exact and chosen.every, passed_over=passed_over,
    )  # fmt: skip


def _not_looked_at(names: tuple[str, ...], why: str, passed_over: tuple[int, ...] = ()) -> Evened:
    return Evened(
        scope="brokers", broker=None, names=names, before=(), after=(), moves=(), exact=False, why_not=why,
        passed_over=passed_over,
    )  # fmt: skip


@frozen
class _Chosen:
    """Of each partition one replica, the largest in front; `others` are the brokers that have one."""

    replicas: Sequence[Measured]
    others: Mapping[Key, frozenset[int]]
    every: bool


def _chosen(replicas: Iterable[Measured], full: Mapping[int, float], count: int) -> _Chosen:
    """The `count` largest of those that are on the fullest broker with the partition: two could meet on one.

    In memory there are these, and the names of partitions of which any replica is about that large.
    """
    wanted = 2 * count
    while True:
        movable = ((each.allocated, each.topic, each.partition) for each in replicas if each.movable)
        tried = nlargest(wanted + 1, movable)
        every, least = len(tried) <= wanted, tried[-1][0] if tried else 0
        best: dict[Key, Measured] = {}
        others: dict[Key, set[int]] = {key[1:]: set() for key in tried}
        for each in replicas:
            key = each.topic, each.partition
            if key in others and each.broker in full:
                others[key].add(each.broker)
                if each.movable and (key not in best or _rank(best[key], full) <= _rank(each, full)):
                    best[key] = each
        # What was not looked at is no larger than the least.
        sure = [each for each in best.values() if every or each.allocated >= least]
        if every or len(sure) >= count:
            sure.sort(key=lambda each: (-each.allocated, each.topic, each.partition))
            return _Chosen(
                replicas=sure[:count], others={key: frozenset(on) for key, on in others.items()},
                every=every and len(sure) <= count,
            )  # fmt: skip
        wanted *= 2


def _rank(each: Measured, full: Mapping[int, float]) -> tuple[float, int]:
    return full[each.broker], each.broker


def _movable(each: Measured, number: int, days: float, barred: frozenset[int] = frozenset()) -> Movable:
    growth, rate = each.growth, each.growth.net_per_day or 0.0
    more = rate * days if growth.room is None else min(rate * days, growth.room)
    return Movable(
        name=f"{each.topic}-{each.partition}", size=each.allocated if each.movable else 0, disk=number,
        growth=int(more), barred=barred,
    )  # fmt: skip


def _move(each: Measured, target: int, target_dir: str | None) -> MoveOf:
    return MoveOf(
        topic=each.topic, partition=each.partition, bytes=each.allocated, source=each.broker,
        target=target, target_dir=target_dir,
    )  # fmt: skip


def _fill(disk: DiskOfBrokers) -> Fill:
    return Fill(capacity=max(disk.total or 1, 1), used=disk.used or 0, available=disk.available or 0)


def _sum(fills: Iterable[Fill]) -> Fill:
    every = list(fills)
    return Fill(
        capacity=sum(each.capacity for each in every), used=sum(each.used for each in every),
        available=sum(each.available for each in every),
    )  # fmt: skip


def reassignment(moves: Iterable[MoveOf], assigned: Assignment) -> tuple[dict[str, object], list[MoveOf]]:
    """(the JSON of `kafka-reassign-partitions`, the moves that it lacks: nobody told all their replicas).

    `ReassignPartitionsCommand.parsePartitionReassignmentData` reads it. A target takes the place of its
    source in the list, so that the preferred leader's place stays the first.
    """
    rows, left = [], []
    for move in sorted(moves, key=lambda each: (each.topic, each.partition)):
        replicas = assigned.get((move.topic, move.partition), ())
        if move.source not in replicas or (move.target != move.source and move.target in replicas):
            left.append(move)
            continue
        after = [move.target if each == move.source else each for each in replicas]
        dirs = ["any" if each != move.target or not move.target_dir else move.target_dir for each in after]
        row = {"topic": move.topic, "partition": move.partition, "replicas": after, "log_dirs": dirs}
        rows.append(row)
    return {"version": 1, "partitions": rows}, left
