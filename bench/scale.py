"""How much work one run of the benchmarks does: the real sizes, or a smoke test of every race."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Sizes in bytes and counts; `folder` keeps the data between runs."""

    folder: Path
    kib_bytes: int = 1 << 30
    small_bytes: int = 410_000_000
    segments: int = 100_000
    tiny_segments: int = 4_500
    runs: int = 5
    brokers: tuple[int, ...] = (6, 25, 50, 500)
    partitions: int = 42
    """Of a broker of those."""
    planned: tuple[int, ...] = (10, 100, 1_000, 10_000)
    reported: tuple[int, ...] = (12_000, 120_000, 1_000_000)
    """Replicas in the tables of a report."""
    live: bool = True
    """Whether a broker is started where the race can do without, and as a server is: its JVM for speed."""


def part(scale: Scale, of: int) -> Scale:
    """One in so many of all that is sized or counted in bytes, segments and rows."""
    return replace(
        scale, folder=scale.folder / f"part-{of}", kib_bytes=scale.kib_bytes // of,
        small_bytes=scale.small_bytes // of, segments=scale.segments // of,
        tiny_segments=scale.tiny_segments // of, planned=tuple(max(2, each // of) for each in scale.planned),
        reported=tuple(each // of for each in scale.reported),
        brokers=tuple(max(3, each // of) for each in scale.brokers),
    )  # fmt: skip


def smoke(folder: Path) -> Scale:
    """Just enough to see every race run and print."""
    return Scale(
        folder=folder, kib_bytes=4 << 20, small_bytes=2 << 20, segments=600, tiny_segments=60, runs=1,
        live=False, brokers=(3,), partitions=3, planned=(2,), reported=(600,),
    )  # fmt: skip
