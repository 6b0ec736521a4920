"""Which partitions can be moved between the log dirs of a broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from segmend.logdir.tree import PartitionDir


def can_move(partition: PartitionDir) -> bool:
    """Whether it is a replica of its own in a directory that can be read."""
    return partition.kind == "current" and not partition.is_link and partition.unreadable is None


def twice(partitions: Iterable[PartitionDir]) -> set[tuple[str, int]]:
    """Those with a directory in two log dirs, or a move that the broker began: they stay for now."""
    count = Counter(each.key for each in partitions if each.kind in ("current", "future"))
    return {key for key, number in count.items() if number > 1}
