"""By how much a partition will grow, from the timestamps of its own segments."""

from __future__ import annotations

from typing import Final

from segmend.logdir.overview import PartitionOverview

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS


def growth(overview: PartitionOverview, days: float) -> int:
    """Bytes that it will have more in so many days, if it goes on as from its first record to its last.

    A log whose beginning is gone is kept at its size by retention, so it does not grow; so little
    time as less than an hour between the two records tells nothing.
    """
    span = overview.newest_timestamp - overview.oldest_timestamp
    if overview.oldest_timestamp < 0 or span < HOUR_MS or (overview.log_start_offset or 0) > 0:
        return 0
    return int(overview.size / span * days * DAY_MS)
