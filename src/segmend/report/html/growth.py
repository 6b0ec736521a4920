"""What earlier audits of the same OUT tell: the fleet's bytes over time, and the disks that fill soonest.

Only audits of the same paths are drawn beside each other, and one that saw other log dirs is marked: a
fleet that was seen in part did not shrink.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from segmend.frozen import frozen
from segmend.wording import plural

from .columns import broker_name, several
from .units import age, percent, size

if TYPE_CHECKING:
    from segmend.fleet.growth import DirGrowth
    from segmend.fleet.typed_rows import RunRow

DRAWN: Final = ("run_id", "started", "paths", "bytes", "log_dirs", "errors", "warnings")
"""Columns of `runs`."""
POINTS: Final = 150
DISKS: Final = 12
_HEADROOM: Final = 0.08
_SOON_DAYS: Final = 30


@frozen
class Past:
    """Rows of `runs`, the oldest first and this audit last; how its log dirs grew since one of them."""

    runs: Sequence[RunRow]
    dirs: Sequence[DirGrowth] = ()
    since: RunRow | None = None


@frozen
class Point:
    """An audit in the plot, in percent from the left and from below."""

    left: float
    bottom: float
    tip: str
    apart: bool


@frozen
class DiskRow:
    """A log dir and its disk."""

    broker: str
    path: str
    logs: int
    gained: str
    gained_bytes: float | None
    free: int | None
    taken: str
    taken_bytes: float | None
    days: float | None
    full: str
    soon: bool


@frozen
class GrowthSection:
    """The section; without a second audit it has no points."""

    points: tuple[Point, ...]
    ticks: tuple[tuple[float, str], ...]
    first: str
    last: str
    other_paths: int
    earlier: int
    disks: tuple[DiskRow, ...]
    hidden_disks: int
    since: str
    filling: int
    rates: bool

    @property
    def line(self) -> str:
        """The points as SVG takes them, from above."""
        return " ".join(f"{point.left},{round(100 - point.bottom, 3)}" for point in self.points)


def growth(past: Past | None) -> GrowthSection:
    """Draws the audits of the same paths."""
    runs = [] if past is None else [run for run in past.runs if run["bytes"] is not None]
    same = [run for run in runs if run["paths"] == runs[-1]["paths"]]
    drawn = same[-POINTS:] if len(same) > 1 else []
    low, high = _span([run["bytes"] for run in drawn])
    dirs = () if past is None else past.dirs
    apart = several(each.cluster_id for each in dirs)
    rows = tuple(
        _disk(each, broker_name(each.broker, each.cluster_id if apart else None)) for each in dirs[:DISKS]
    )
    return GrowthSection(
        points=tuple(_point(run, drawn, low, high) for run in drawn),
        ticks=tuple(_ticks(low, high)),
        first=_day(drawn[0]["started"]) if drawn else "",
        last=_day(drawn[-1]["started"]) if drawn else "",
        other_paths=len(runs) - len(same),
        earlier=len(same) - len(drawn) if drawn else 0,
        disks=rows,
        hidden_disks=len(dirs) - len(rows),
        since=_day(past.since["started"]) if past is not None and past.since is not None else "",
        rates=any(each.logs.per_day is not None for each in dirs),
        filling=sum(each.days_until_full is not None for each in dirs),
    )


def _span(values: Sequence[int]) -> tuple[float, float]:
    """Bottom and top of the plot: from nothing, where that leaves the line a shape, or it has none."""
    least, most = min(values, default=0), max(values, default=1)
    room = max(1.0, (most - least) * _HEADROOM)
    return (0.0 if least < most / 2 or least == most else max(0.0, least - room)), most + room


def _ticks(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Bytes at the bottom, in the middle and on top; by how much more, where words would be the same."""
    places = {0: low, 50: (low + high) / 2, 100: high}
    alike = len({size(round(value)) for value in places.values()}) < len(places)
    for place, value in places.items():
        yield place, f"+{size(round(value - low))}" if alike and place else size(round(value))


def _point(run: RunRow, drawn: Sequence[RunRow], low: float, high: float) -> Point:
    first, last = drawn[0]["started"], drawn[-1]["started"]
    lines = [
        run["started"].astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        f"{size(run['bytes'])} in {plural(run['log_dirs'] or 0, 'log dir')}",
        f"{plural(run['errors'] or 0, 'error')}, {plural(run['warnings'] or 0, 'warning')}",
    ]
    return Point(
        left=percent((run["started"] - first).total_seconds(), (last - first).total_seconds()),
        bottom=percent(run["bytes"] - low, high - low),
        tip="\n".join(lines),
        apart=run["log_dirs"] != drawn[-1]["log_dirs"],
    )


def _disk(each: DirGrowth, broker: str) -> DiskRow:
    days, lost = each.days_until_full, each.disk_per_day
    return DiskRow(
        broker=broker,
        path=each.path,
        logs=each.logs.now,
        gained=_rate(each.logs.per_day),
        gained_bytes=each.logs.per_day,
        free=each.disk_free,
        taken=_rate(lost),
        taken_bytes=lost,
        days=days,
        full="—" if days is None else f"in {age(round(days * 86_400_000))}",
        soon=days is not None and days <= _SOON_DAYS,
    )


def _rate(per_day: float | None) -> str:
    if per_day is None:
        return "—"
    return f"{'−' if per_day < 0 else '+'}{size(round(abs(per_day)))}"


def _day(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%d %b %Y")
