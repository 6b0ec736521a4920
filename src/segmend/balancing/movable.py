"""Which partitions can be moved between the log dirs of a broker, and by how much one will grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from segmend.logdir.overview import PartitionOverview
from segmend.logdir.partition_dir import PartitionDir

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS


def can_move(partition: PartitionDir) -> bool:
    """Whether it is a replica of its own in a directory that can be read."""
    return partition.kind == "current" and not partition.is_link and partition.unreadable is None


def twice(partitions: Iterable[PartitionDir]) -> set[tuple[str, int]]:
    """Those with a directory in two log dirs, or a move that the broker began: they stay for now."""
    count = Counter(each.key for each in partitions if each.kind in ("current", "future"))
    return {key for key, number in count.items() if number > 1}


def growth(overview: PartitionOverview, days: float) -> int:
    """Bytes that it will have more in so many days, if it goes on as from its first record to its last.

    A log whose beginning is gone is kept at its size by retention, so it does not grow; so little
    time as less than an hour between the two records tells nothing.
    """
    span = overview.newest_timestamp - overview.oldest_timestamp
    if overview.oldest_timestamp < 0 or span < HOUR_MS or (overview.log_start_offset or 0) > 0:
        return 0
    return int(overview.size / span * days * DAY_MS)
