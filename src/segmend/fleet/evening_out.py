"""What moving replicas would give, between the disks of a broker and between brokers, and Kafka's JSON of it.

The search is that of `plan balance`. Between brokers at most one replica of each partition moves, and never
to a broker that has another one; racks are not looked at. A list of replicas is told whole and in its
order (the first is the preferred leader) or not at all: it comes from the cluster's metadata on the disks, or
from whoever asks, for a file of moves that forgets a replica takes it away.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from segmend.balancing.solver import BalanceProblem, Movable, solve
from segmend.balancing.solver import Disk as Fill
from segmend.fleet.capacity import Measured
from segmend.fleet.disks import Disk
from segmend.frozen import frozen

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
    """One search. `names` are what is made even (log dirs, or brokers), the others how full they are."""

    scope: str
    broker: int | None
    names: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    moves: tuple[MoveOf, ...]
    exact: bool
    why_not: str | None = None
    cluster_id: str | None = None

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.moves)


def between_disks(
    disks: Sequence[Disk], replicas: Iterable[Measured], *, spread: float, reserve: int, days: float
) -> list[Evened]:
    """For each broker with several disks of its own, of known size."""
    by_dir: dict[str, list[Measured]] = {}
    for each in replicas:
        by_dir.setdefault(each.dir, []).append(each)
    evened = []
    for broker in sorted({b for disk in disks for b in disk.brokers if b >= 0}):
        mine = [disk for disk in disks if disk.brokers == (broker,) and disk.total is not None]
        if len(mine) < 2:
            continue
        held = [(r, n) for n, disk in enumerate(mine) for path in disk.dirs for r in by_dir.get(path, ())]
        fills = list(map(_fill, mine))
        items = [_movable(each, number, days) for each, number in held]
        problem = BalanceProblem(fills, items, spread=spread, reserve=reserve)
        answer = solve(problem)
        evened.append(
            Evened(
                scope="disks", broker=broker, names=tuple(", ".join(disk.dirs) for disk in mine),
                before=problem.fills([fill.used for fill in fills]), after=answer.fills,
                moves=tuple(_move(held[n][0], broker, mine[target].dirs[0]) for n, target in answer.moves),
                exact=answer.exact,
            )
        )  # fmt: skip
    return evened


def between_brokers(
    disks: Sequence[Disk],
    replicas: Sequence[Measured],
    *,
    registered: Container[int],
    spread: float,
    reserve: int,
    days: float,
) -> Evened | None:
    """For one cluster; None for a single broker. `why_not` is told where nothing can be said.

    A node without replicas is a broker if it is `registered` as one: it may be a controller.
    """
    holders = {each.broker for each in replicas if each.kind == "current"}
    numbers = sorted(holders | {broker for disk in disks for broker in disk.brokers if broker in registered})
    if len(numbers) < 2:
        return None
    names = tuple(f"broker {number}" for number in numbers)
    if numbers[0] < 0:
        # Kafka knows no broker of such a number, and it may be another of these.
        return _not_looked_at(names, "nothing tells whose some log dirs are")
    mine = {number: [disk for disk in disks if number in disk.brokers] for number in numbers}
    if any(len(disk.brokers) > 1 for each in mine.values() for disk in each):
        return _not_looked_at(names, "brokers share a disk here")
    if any(disk.total is None for each in mine.values() for disk in each):
        return _not_looked_at(names, "the size of a disk was not seen")
    fills = [_sum(map(_fill, mine[number])) for number in numbers]
    every = sorted(_one_each(replicas, fills, numbers), key=lambda each: -each.allocated)
    chosen = every[: max(LARGEST // len(numbers) ** 2, 50)]
    where = {number: n for n, number in enumerate(numbers)}
    others: dict[Key, set[int]] = {}
    for each in replicas:
        if each.broker in where:
            others.setdefault((each.topic, each.partition), set()).add(where[each.broker])
    barred = [frozenset(others[each.topic, each.partition]) for each in chosen]
    items = [_movable(e, where[e.broker], days, b) for e, b in zip(chosen, barred, strict=True)]
    problem = BalanceProblem(fills, items, spread=spread, reserve=reserve)
    answer = solve(problem)
    return Evened(
        scope="brokers", broker=None, names=names, before=problem.fills([fill.used for fill in fills]),
        after=answer.fills, moves=tuple(_move(chosen[n], numbers[t], None) for n, t in answer.moves),
        exact=answer.exact and len(chosen) == len(every),
    )  # fmt: skip


def _not_looked_at(names: tuple[str, ...], why: str) -> Evened:
    return Evened(
        scope="brokers", broker=None, names=names, before=(), after=(), moves=(), exact=False, why_not=why
    )  # fmt: skip


def _one_each(replicas: Sequence[Measured], fills: Sequence[Fill], numbers: Sequence[int]) -> list[Measured]:
    """Of each partition the replica on the fullest broker: two that move could meet on one."""
    full = {number: fill.used / fill.capacity for number, fill in zip(numbers, fills, strict=True)}
    chosen: dict[Key, Measured] = {}
    for each in sorted((r for r in replicas if r.movable), key=lambda r: (full[r.broker], r.broker)):
        chosen[each.topic, each.partition] = each
    return list(chosen.values())


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


def _fill(disk: Disk) -> Fill:
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
