"""Which partitions to move between disks so that all are about equally full, moving few bytes.

A disk's fill is what is used of it by its capacity. Wanted is a spread (largest fill less smallest) of no
more than a given one; of all ways there, one that moves least bytes; if there is none, one that
comes closest. Finding the best is NP-hard (it contains subset sum). What is done here:

A beam search takes the partitions by size, the largest first, and for each keeps the states in
which it stays, or goes to another disk. States with equal disks are one, the cheapest. While
they fit into the beam nothing is lost, and the answer is the best there is; it holds four thousand, so
that is always so for twelve partitions on two disks, or seven on three. Beyond it those go on for
which the bytes moved, and those that must still move at least, are fewest: the sum of what too full
disks have above the band around the mean, or of what too empty ones lack; and only moves from above
the band's low end to below its high end are tried.
A state within the spread is final. In the end single moves are taken back, added, exchanged, or
sent elsewhere, as long as that is better.

A move needs room at its target before anything is freed elsewhere, whatever the order: the bytes that
come to a disk may not exceed what is free there less the reserve. After all moves a disk that got
something must have room for the growth of its partitions too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from segmend.frozen import frozen

BEAM: Final = 4000
_WORK: Final = 200_000
_TRIES: Final = 30_000


@frozen
class Disk:
    """A file system: bytes in all, used, and free for a broker."""

    capacity: int
    used: int
    available: int


@frozen
class Movable:
    """A partition: bytes on its disk (a number into the disks), and bytes by which it will grow.

    It may go to no disk that is `barred`.
    """

    name: str
    size: int
    disk: int
    growth: int = 0
    barred: frozenset[int] = frozenset()


@frozen
class Balance:
    """`moves` are numbers of items and disks; `spread` what is reached, `fills` by disk after it.

    `exact` says that no way moves fewer bytes, or (if the spread is not reached) comes closer.
    """

    moves: tuple[tuple[int, int], ...]
    spread: float
    fills: tuple[float, ...]
    exact: bool


class _State(NamedTuple):
    moved: int
    used: tuple[int, ...]
    come: tuple[int, ...]
    grown: tuple[int, ...]
    moves: tuple[tuple[int, int], ...]


class BalanceProblem:
    """Disks, what is on them, the spread that is wanted (0.05 are five points), the reserve in bytes."""

    def __init__(
        self, disks: Sequence[Disk], items: Sequence[Movable], *, spread: float, reserve: int
    ) -> None:
        self.disks, self.items, self.wanted, self.reserve = disks, items, spread, reserve
        mean = sum(disk.used for disk in disks) / max(sum(disk.capacity for disk in disks), 1)
        self._low = [max(mean - spread / 2, 0) * disk.capacity for disk in disks]
        self._high = [(mean + spread / 2) * disk.capacity for disk in disks]

    def start(self) -> _State:
        nothing = (0,) * len(self.disks)
        grown = list(nothing)
        for item in self.items:
            grown[item.disk] += item.growth
        return _State(0, tuple(disk.used for disk in self.disks), nothing, tuple(grown), ())

    def fills(self, used: Sequence[int]) -> tuple[float, ...]:
        return tuple(u / disk.capacity for u, disk in zip(used, self.disks, strict=True))

    def spread(self, used: Sequence[int]) -> float:
        fills = self.fills(used)
        return max(fills) - min(fills)

    def reached(self, used: Sequence[int]) -> bool:
        """Whether the spread is the wanted one; what floating point adds is no spread."""
        return self.spread(used) <= self.wanted + 1e-12

    def missing(self, used: Sequence[int]) -> float:
        """Bytes that must move at least to have all disks in the band around the mean."""
        above = sum(max(u - high, 0.0) for u, high in zip(used, self._high, strict=True))
        below = sum(max(low - u, 0.0) for u, low in zip(used, self._low, strict=True))
        return max(above, below)

    def above(self, used: Sequence[int], disk: int) -> bool:
        """Whether a disk has more than the low end of the band."""
        return used[disk] > self._low[disk]

    def below(self, used: Sequence[int], disk: int) -> bool:
        """Whether a disk has less than the high end of the band."""
        return used[disk] < self._high[disk]

    def moved(self, state: _State, number: int, target: int) -> _State | None:
        """The state after one more move, None if there is no room for it."""
        item = self.items[number]
        come = _plus(state.come, target, item.size)
        used = _plus(_plus(state.used, item.disk, -item.size), target, item.size)
        grown = _plus(_plus(state.grown, item.disk, -item.growth), target, item.growth)
        if target in item.barred or come[target] > self.disks[target].available - self.reserve:
            return None
        return _State(state.moved + item.size, used, come, grown, (*state.moves, (number, target)))

    def lasts(self, state: _State) -> bool:
        """Whether all disks that got something have room for what will come."""
        rows = zip(self.disks, state.used, state.come, state.grown, strict=True)
        return all(
            not come or disk.available - (used - disk.used) >= self.reserve + grown
            for disk, used, come, grown in rows
        )

    def unmoved(self, state: _State, move: tuple[int, int]) -> _State:
        item, target = self.items[move[0]], move[1]
        return _State(
            state.moved - item.size,
            _plus(_plus(state.used, item.disk, item.size), target, -item.size),
            _plus(state.come, target, -item.size),
            _plus(_plus(state.grown, item.disk, item.growth), target, -item.growth),
            tuple(other for other in state.moves if other != move),
        )


def _plus(numbers: tuple[int, ...], at: int, count: int) -> tuple[int, ...]:
    return (*numbers[:at], numbers[at] + count, *numbers[at + 1 :])


def solve(problem: BalanceProblem, *, beam: int = BEAM) -> Balance:
    """The moves, in the order of the items; see the module."""
    order = sorted(
        (n for n, item in enumerate(problem.items) if item.size > 0),
        key=lambda n: (-problem.items[n].size, problem.items[n].name),
    )
    width = min(beam, max(_WORK // (len(order) * len(problem.disks) or 1), 8))
    best, exact = _search(problem, order, width)
    if not exact:
        best = _polished(problem, best)
    return Balance(
        moves=tuple(sorted(best.moves)), spread=problem.spread(best.used), fills=problem.fills(best.used),
        exact=exact,
    )  # fmt: skip


def _rank(problem: BalanceProblem, state: _State) -> tuple[bool, bool, float, int]:
    """The better of two outcomes has the smaller rank."""
    reached = problem.reached(state.used)
    spread = 0.0 if reached else round(problem.spread(state.used), 9)
    return not problem.lasts(state), not reached, spread, state.moved


def _search(problem: BalanceProblem, order: Sequence[int], width: int) -> tuple[_State, bool]:
    best = problem.start()
    if len(problem.disks) < 2 or problem.reached(best.used):
        return best, True
    states, exact, limit = [best], True, None
    for number in order:
        kept: dict[tuple[object, ...], _State] = {}
        for state in states:
            _keep(kept, state)
            for following in _to_others(problem, state, number, useful=not exact):
                if problem.reached(following.used) and problem.lasts(following):
                    if limit is None or following.moved < limit:
                        best, limit = following, following.moved
                else:
                    _keep(kept, following)
        states = [state for state in kept.values() if limit is None or state.moved < limit]
        if len(states) > width:
            # Of equal promise those first that have done more of it: with the largest, so with fewest moves.
            states.sort(key=lambda s: (s.moved + problem.missing(s.used), -s.moved, len(s.moves)))
            states, exact = states[:width], False
    if limit is None:
        best = min([best, *states], key=lambda s: _rank(problem, s))
    return best, exact


def _keep(kept: dict[tuple[object, ...], _State], state: _State) -> None:
    key = state.used, state.come, state.grown
    other = kept.get(key)
    if other is None or state.moved < other.moved:
        kept[key] = state


def _polished(problem: BalanceProblem, state: _State) -> _State:
    """Change one move at a time as long as that is better, and not too many were tried."""
    left, better = _TRIES, True
    while better and left > 0:
        better = False
        for changed in itertools.islice(_variations(problem, state), left):
            left -= 1
            if _rank(problem, changed) < _rank(problem, state):
                state, better = changed, True
                break
    return state


def _variations(problem: BalanceProblem, state: _State) -> Iterator[_State]:
    """One move less, one partition in the place of another or to another disk, one move more."""
    taken = {number for number, _ in state.moves}
    free = [n for n, item in enumerate(problem.items) if n not in taken and item.size > 0]
    by_size = sorted(state.moves, key=lambda move: -problem.items[move[0]].size)
    less = [(move, problem.unmoved(state, move)) for move in by_size]
    yield from (rest for _, rest in less)
    for (number, _), rest in less:
        for other in (number, *free):
            yield from _to_others(problem, rest, other)
    for number in free:
        yield from _to_others(problem, state, number)


def _to_others(
    problem: BalanceProblem, state: _State, number: int, *, useful: bool = False
) -> Iterator[_State]:
    home = problem.items[number].disk
    if useful and not problem.above(state.used, home):
        return
    for target in range(len(problem.disks)):
        if target != home and not (useful and not problem.below(state.used, target)):
            moved = problem.moved(state, number, target)
            if moved is not None:
                yield moved
