"""`segmend forecast` of a broker with very many partitions after a clean stop; processes whole.

With the release given, and without: then the others that the disk may be of are tried on a part of it.
"""

from __future__ import annotations

from bench.data import many_segments
from bench.measure import race
from bench.peers import segmend
from bench.scale import Scale
from bench.table import show_waits

A_PARTITION = 10
BOUND_SECONDS = 5.0


def run(scale: Scale) -> None:
    """Half the segments must take about half the time; memory is in the last column."""
    waits = []
    for name, count, bound in (
        ("brokers-half", scale.segments // 2, BOUND_SECONDS / 2),
        ("brokers", scale.segments, BOUND_SECONDS),
    ):
        folder = many_segments(scale.folder / name, segments=count, a_partition=A_PARTITION)
        words = f"forecast, {count // A_PARTITION:,} partitions, {count:,} segments"
        waits.append((segmend(f"{words}, --kafka 4.3", "forecast", "--kafka", "4.3", folder), bound))
        waits.append((segmend(words, "forecast", folder), bound))
    race([contender for contender, _ in waits], runs=scale.runs)
    show_waits("forecast of a start after a clean stop", waits)
