"""Pieces of very different size into tasks of about the same: heaviest first, onto the lightest task."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

FILE_COST: Final = 64 << 10
"""What opening a file costs, in bytes read meanwhile."""

SMALLEST_TARGET: Final = 64 << 20
LARGEST_TARGET: Final = 256 << 20
WORTH_A_CORE: Final = 16 << 20
"""Less than this is done before another process has started."""
ROUNDS: Final = 3
"""Tasks for each core: enough for a late one to be evened out, few enough to cost nothing."""

MOST_TASKS: Final = 50_000
"""So many of that size are handed out at most; the driver keeps something of each."""


class Weighed(Protocol):
    """Something with a weight in bytes."""

    @property
    def weight(self) -> int:
        """Bytes to read, and the cost of the files."""


W = TypeVar("W", bound=Weighed)


def target_bytes(total: int, cores: int) -> int:
    """How much one task should read: a third of a core's share, but 64 to 256 MiB; of a huge fleet more."""
    share = total // (ROUNDS * max(1, cores))
    return max(SMALLEST_TARGET, min(LARGEST_TARGET, share), min(share, total // MOST_TASKS))


def pack(pieces: Iterable[W], *, cores: int, target: int | None = None) -> list[list[W]]:
    """`pieces` in tasks, the heaviest task first, none empty.

    There are as many tasks as `target` bytes (default `target_bytes`) ask for, and one for each
    core that has enough to do. A piece is never cut; one that is heavier than the target is a task alone.
    """
    ordered = sorted(pieces, key=lambda piece: piece.weight, reverse=True)
    total = sum(piece.weight for piece in ordered)
    wanted = -(-total // (target or target_bytes(total, cores)))
    busy = min(cores, -(-total // WORTH_A_CORE))
    tasks: list[list[W]] = [[] for _ in range(min(len(ordered), max(busy, wanted)))]
    heap = [(0, number) for number in range(len(tasks))]
    for piece in ordered:
        load, number = heapq.heappop(heap)
        tasks[number].append(piece)
        heapq.heappush(heap, (load + piece.weight, number))
    return _heaviest_first([task for task in tasks if task])


def chunks(pieces: Iterable[W], size: int) -> Iterator[list[W]]:
    """`pieces` in their order, cut where so far there are `size` bytes or more; none is empty."""
    chunk: list[W] = []
    weight = 0
    for piece in pieces:
        if chunk and weight + piece.weight > size:
            yield chunk
            chunk, weight = [], 0
        chunk.append(piece)
        weight += piece.weight
    if chunk:
        yield chunk


def _heaviest_first(tasks: Sequence[list[W]]) -> list[list[W]]:
    return sorted(tasks, key=lambda task: sum(piece.weight for piece in task), reverse=True)
