"""Segments over time, one row each: when their records were written, and when they go.

    segment     2026-11-12 .............. 2026-11-29
          0  #####-------|--x
        109       #######|-------x
        164              #-------------->

`#` records, `-` it stays, `|` now, `x` it goes, `>` never. Plain ASCII, as wide as asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from segmend.broker.retention import NEVER_MS, SegmentFate
from segmend.explain.retention import Reasons
from segmend.frozen import frozen
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.wording import plural

_ROWS: Final = 40
"""More segments than this fold, several to a row."""
_LEAST: Final = 20
_TAIL: Final = 19
"""A date and a time."""
_ANCIENT_MS: Final = 946_684_800_000


def timeline(each: Reasons, style: Style = PLAIN, width: int = 100) -> Iterator[str]:
    """The rows of one partition; one line where no time is known."""
    span = span_of(each)
    if span is None:
        yield "no segment has a time to show"
        return
    label = max(len(str(fate.segment.base_offset)) for fate in each.verdicts)
    room = max(width - label - 2 - _TAIL - 2, _LEAST)
    begin, end = text.when(span.first), text.when(span.last)
    dots = "." * max(room - len(begin) - len(end) - 2, 1)
    yield style("dim", f"{'':{label}}  {begin} {dots} {end}")
    previous = None
    for run in _folded(each.verdicts):
        since = previous if previous is not None else stamp_of(run[0])
        yield _row(run, since, each.now_ms, _Scale(span=span, room=room), label, style)
        previous = stamp_of(run[-1]) or previous
    yield style("dim", "# records  - stays  | now  x goes  > never")


@frozen
class Span:
    """What is shown: from the first time of a segment to the last at which one goes."""

    first: int
    last: int

    def part(self, moment: int) -> float:
        """Where a time stands, in percent from the left."""
        return min(max(100 * (moment - self.first) / (self.last - self.first), 0), 100)


def span_of(each: Reasons) -> Span | None:
    """What the segments of a partition need; None where no time is known."""
    known = [stamp for fate in each.verdicts if (stamp := stamp_of(fate)) is not None]
    if not known:
        return None
    ends = [fate.goes_ms for fate in each.verdicts if fate.goes_ms is not None]
    first, last = min(*known, each.now_ms), max(each.now_ms, *ends, *known)
    return Span(first=first, last=max(last, first + 1))


def stamp_of(fate: SegmentFate) -> int | None:
    """A time that can be drawn; 1970 and the year 58000 would leave no room for the others."""
    stamp = fate.segment.largest_timestamp
    return stamp if _ANCIENT_MS <= stamp < NEVER_MS else None


@frozen
class _Scale:
    span: Span
    room: int

    def column(self, moment: int) -> int:
        """Which column a time stands in."""
        return min(int(self.span.part(moment) * (self.room - 1) / 100), self.room - 1)


def _row(
    run: Sequence[SegmentFate], since: int | None, now_ms: int, scale: _Scale, label: int, style: Style
) -> str:
    fate = run[-1]
    cells = [" "] * scale.room
    stamp = stamp_of(fate)
    written = scale.column(stamp) if stamp is not None else scale.column(now_ms)
    start = scale.column(min(since, stamp)) if since is not None and stamp is not None else written
    goes = None if fate.goes_ms is None else scale.column(fate.goes_ms)
    for column in range(written, (scale.room if goes is None else goes + 1)):
        cells[column] = "-"
    now = scale.column(now_ms)
    if cells[now] in " -":
        cells[now] = "|"
    if stamp is not None:
        cells[start : written + 1] = ["#"] * (written + 1 - start)
    if goes is None:
        cells[-1] = ">"
    else:
        cells[goes] = style("red", "x") if fate.goes is not None else "x"
    shown = "".join(cells).rstrip()
    pad = " " * (scale.room - len("".join(cell[-1:] if len(cell) == 1 else "x" for cell in cells).rstrip()))
    folded = f"  (and {plural(len(run) - 1, 'segment')} in front)" if len(run) > 1 else ""
    return f"{run[-1].segment.base_offset:>{label}}  {shown}{pad}  {_tail(fate)}{folded}".rstrip()


def _tail(fate: SegmentFate) -> str:
    """When it goes, in a fixed width."""
    if fate.goes is not None:
        return f"{'goes now':<{_TAIL}}"
    return text.when(fate.goes_ms) if fate.goes_ms is not None else f"{'-':<{_TAIL}}"


def _folded(fates: Sequence[SegmentFate]) -> Iterator[Sequence[SegmentFate]]:
    step = -(-len(fates) // _ROWS)
    for start in range(0, len(fates), step):
        yield fates[start : start + step]
