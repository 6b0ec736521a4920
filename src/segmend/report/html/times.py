"""Which time each topic's records cover: bars from the oldest to the newest record, on two scales.

Timestamps come from producers and may be anything. A time before 2000 or more than a day after
the report was made is clipped at the edge of the plot, marked, and told in words: both kinds
matter, for a future time keeps a segment forever and an ancient one lets it go at once. The
calendar scale is right for topics that live equally long, the age scale (logarithmic) for a
fleet where one topic keeps an hour and another three years; the page can switch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from segmend.explain.timestamp_units import other_unit
from segmend.frozen import frozen

from .columns import TableRow, Tables, broker_name, folded, number, parts, several
from .topics import Palette
from .units import age, instant

ROWS: Final = 40
_ANCIENT_MS: Final = 946_684_800_000  # 2000-01-01
_DAY_MS: Final = 86_400_000
_YOUNGEST_MS: Final = 1_000
_AGE_TICKS: Final = (
    ("1 min", 60_000),
    ("1 hour", 3_600_000),
    ("1 day", _DAY_MS),
    ("1 week", 7 * _DAY_MS),
    ("1 month", 30 * _DAY_MS),
    ("1 year", 365 * _DAY_MS),
    ("10 years", 3650 * _DAY_MS),
)
_CALENDAR_TICKS: Final = 5
_SLIVER: Final = 4.0
_TOPIC: Final = ("topic", "cluster_id")


@frozen
class Bar:
    """Left edge and width in percent of the plot."""

    left: float
    width: float


@frozen
class TopicTime:
    """One topic; `ancient` and `future` are texts, empty when all is sane."""

    topic: str
    colour: str
    calendar: Bar
    by_age: Bar
    oldest: str
    newest: str
    span: str
    ancient: str
    future: str

    @property
    def tip(self) -> str:
        """What hovering over the bar says."""
        lines = [self.topic, f"oldest  {self.oldest}", f"newest  {self.newest}", f"covers  {self.span}"]
        return "\n".join([*lines, *filter(None, (self.ancient, self.future))])


@frozen
class Tick:
    """A label on an axis."""

    left: float
    label: str


@frozen
class Times:
    """The section; `scale` is the one to show first: calendar or age."""

    rows: tuple[TopicTime, ...]
    hidden: int
    timeless: int
    calendar: tuple[Tick, ...]
    by_age: tuple[Tick, ...]
    scale: str


@frozen
class _Axis:
    """The plot from `start_ms` to `now_ms`; places are percent from the left."""

    start_ms: int
    now_ms: int

    def calendar(self, ms: int) -> float:
        span = max(1, self.now_ms - self.start_ms)
        return _inside(100 * (ms - self.start_ms) / span)

    def by_age(self, ms: int) -> float:
        oldest = math.log(max(2 * _YOUNGEST_MS, self.now_ms - self.start_ms) / _YOUNGEST_MS)
        return _inside(100 * (1 - math.log(max(1.0, (self.now_ms - ms) / _YOUNGEST_MS)) / oldest))


def _inside(place: float) -> float:
    return round(min(100.0, max(0.0, place)), 3)


class _Range(NamedTuple):
    """A topic, and the oldest and newest time of its records (ms); `name` may have its cluster."""

    name: str
    topic: str | None
    bytes: int
    oldest: int
    newest: int


def times(tables: Tables, palette: Palette, generated_at: datetime) -> Times:
    """Oldest and newest record time by topic, from `partitions`."""
    now_ms = int(generated_at.timestamp() * 1000)
    ranges = _ranges(tables)
    timed = [
        _Range(row["name"], row["topic"], number(row["bytes"]), oldest, newest)
        for row in ranges
        if (oldest := row["oldest"]) is not None and (newest := row["newest"]) is not None
    ]
    timed.sort(key=lambda each: (-each.bytes, each.name))
    shown = sorted(timed[:ROWS], key=lambda each: (_sane(each.oldest, now_ms), each.name))
    real = [ms for each in shown for ms in (each.oldest, each.newest) if _is_sane(ms, now_ms)]
    start = min(real, default=now_ms - _DAY_MS)
    axis = _Axis(start_ms=start - max(1, (now_ms - start) // 50), now_ms=now_ms)
    bars = tuple(_topic(each, axis, palette) for each in shown)
    return Times(
        rows=bars,
        hidden=len(timed) - len(shown),
        timeless=len(ranges) - len(timed),
        calendar=tuple(_calendar_ticks(axis)),
        by_age=tuple(_age_ticks(axis)),
        scale=_better_scale(bars),
    )


def _ranges(tables: Tables) -> list[TableRow]:
    """Topic, its cluster, bytes, oldest and newest."""
    columns = [*_TOPIC, "log_bytes", "min_timestamp_ms", "max_timestamp_ms"]
    timed = map(_timed, parts(tables, "partitions", columns))
    ranges = list(folded(timed, _TOPIC, {"bytes": "sum", "oldest": "min", "newest": "max"}).to_pylist())
    apart = several(row["cluster_id"] for row in ranges)
    return [row | {"name": _called(row, apart=apart)} for row in ranges]


def _timed(table: pa.Table) -> pa.Table:
    """-1 is Kafka's word for no time, so it does not count."""
    columns = {**{key: table[key] for key in _TOPIC}, "bytes": table["log_bytes"]}
    for name, source in (("oldest", "min_timestamp_ms"), ("newest", "max_timestamp_ms")):
        column = table[source].cast(pa.int64())
        columns[name] = pc.if_else(pc.equal(column, -1), pa.scalar(None, pa.int64()), column)
    return pa.table(columns)


def _called(row: TableRow, *, apart: bool) -> str:
    """A topic's name, with its cluster where there are several."""
    return broker_name(row["topic"] or "", row["cluster_id"] if apart else None)


def _is_sane(ms: int, now_ms: int) -> bool:
    return _ANCIENT_MS <= ms <= now_ms + _DAY_MS


def _sane(ms: int, now_ms: int) -> int:
    """The time itself, or the edge of the plot that it lies beyond."""
    return min(now_ms, ms) if ms >= _ANCIENT_MS else _ANCIENT_MS


def _topic(each: _Range, axis: _Axis, palette: Palette) -> TopicTime:
    oldest, newest = each.oldest, each.newest
    return TopicTime(
        topic=each.name,
        colour=palette.colour(each.topic),
        calendar=_bar(axis.calendar(oldest), axis.calendar(newest)),
        by_age=_bar(axis.by_age(oldest), axis.by_age(newest)),
        oldest=instant(oldest),
        newest=instant(newest),
        span=age(max(0, newest - oldest)),
        ancient=f"ancient: {_day(oldest)}" if oldest < _ANCIENT_MS else "",
        future=f"future: {instant(newest)}" if newest > axis.now_ms + _DAY_MS else "",
    )


def _day(ms: int) -> str:
    """A time of 1970, and what it may be in instead of milliseconds."""
    day = instant(ms).partition(" ")[0] if ms >= 0 else instant(ms)
    return f"{day} (seconds?)" if other_unit(ms) == "seconds" else day


def _bar(left: float, right: float) -> Bar:
    return Bar(left=left, width=round(max(0.0, right - left), 3))


def _calendar_ticks(axis: _Axis) -> Iterator[Tick]:
    step = (axis.now_ms - axis.start_ms) / _CALENDAR_TICKS
    pattern = "%H:%M:%S" if step < 600_000 else "%d %b %H:%M" if step < 2 * _DAY_MS else "%d %b %Y"
    for tick in range(1, _CALENDAR_TICKS):
        ms = axis.start_ms + tick * step
        when = datetime.fromtimestamp(ms / 1000, UTC)
        yield Tick(left=axis.calendar(int(ms)), label=when.strftime(pattern))


def _age_ticks(axis: _Axis) -> Iterator[Tick]:
    for label, ms in _AGE_TICKS:
        if ms < axis.now_ms - axis.start_ms:
            yield Tick(left=axis.by_age(axis.now_ms - ms), label=label)


def _better_scale(bars: tuple[TopicTime, ...]) -> str:
    """Age, when on the calendar most bars would be slivers that age spreads out."""
    slivers = sum(bar.calendar.width < _SLIVER for bar in bars)
    spread = sum(bar.by_age.width >= _SLIVER for bar in bars)
    return "age" if 2 * slivers > len(bars) and spread > len(bars) - slivers else "calendar"
