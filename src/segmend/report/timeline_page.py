"""The timeline of segments as a page of its own: nothing to run or fetch; names are hostile input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from segmend.broker.retention import HOLDS, SegmentFate
from segmend.explain.retention import Reasons
from segmend.report import text
from segmend.report.doubts import doubts, next_steps
from segmend.report.timeline import Span, span_of, stamp_of
from segmend.wording import plural

_ROWS: Final = 400
"""Segments of one partition that are drawn."""
_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --records: #2f6db5; --stays: #8886; --goes: #c5372c; }
body { font: 14px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font: 600 1rem ui-monospace, monospace; margin: 2rem 0 .25rem; overflow-wrap: anywhere; }
p { margin: .1rem 0; } code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
.rows { margin-top: .5rem; border-left: 1px solid var(--line); position: relative; }
.row { display: grid; grid-template-columns: 11rem 1fr 12rem; gap: .5rem; align-items: center; }
.row { font-size: 12px; }
.row > :first-child { text-align: right; font-family: ui-monospace, monospace; }
.track { position: relative; height: 1rem; border-bottom: 1px solid var(--line); }
.track i { position: absolute; top: .25rem; height: .5rem; min-width: 3px; border-radius: 2px; }
.records { background: var(--records); } .stays { background: var(--stays); }
.track b { position: absolute; top: 0; bottom: 0; width: 1px; background: currentColor; }
.goes { border-right: 3px solid var(--goes); } .doubt { color: var(--goes); }
"""


def page(judged: Sequence[Reasons], now_ms: int) -> str:
    """All these partitions."""
    return "\n".join(_lines(judged, now_ms)) + "\n"


def _lines(judged: Sequence[Reasons], now_ms: int) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><meta charset="utf-8"><title>Retention, segment by segment</title>'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<style>{_STYLE}</style><h1>Retention, segment by segment</h1>"
    yield f"<p>{text.when(now_ms)} UTC is taken for now (the thin line). Blue: when the "
    yield "records were written, by the clock that retention goes by; grey: it stays; red edge: it goes.</p>"
    for each in judged:
        yield from _partition(each)


def _partition(each: Reasons) -> Iterator[str]:
    yield f"<h2>{_text(f'{each.dir}  {each.name}')}</h2>"
    if each.failure is not None:
        yield f'<p class="doubt">does not load: {_text(each.failure)}</p>'
    for setting in each.retention.settings if each.failure is None else ():
        known = "" if setting.known else " (not known: assumed)"
        yield f"<p><code>{_text(f'{setting.name}={setting.value}')}</code>{known}</p>"
    yield from (f'<p class="doubt">{_text(line)}</p>' for line in doubts(each))
    for step in next_steps(each, None):
        yield f"<p>next: <code>{_text(step.command or '')}</code> {_text(step.why)}</p>"
    span = span_of(each)
    if span is None:
        return
    yield '<div class="rows">'
    previous: int | None = None
    for fate in each.verdicts[:_ROWS]:
        yield _row(fate, previous, each.now_ms, span)
        previous = stamp_of(fate) or previous
    yield "</div>"
    if len(each.verdicts) > _ROWS:
        yield f"<p>and {plural(len(each.verdicts) - _ROWS, 'segment')} more</p>"


def _row(fate: SegmentFate, previous: int | None, now_ms: int, span: Span) -> str:
    segment, stamp = fate.segment, stamp_of(fate)
    end = stamp if stamp is not None else now_ms
    start = min(previous, end) if previous is not None else end
    goes = span.last if fate.goes_ms is None else fate.goes_ms
    why = f"goes by {fate.goes} at the next look" if fate.goes else HOLDS[fate.holds or "not-due"]
    edge = " goes" if fate.goes_ms is not None else ""
    records = f'<i class="records" style="{_place(span, start, end)}"></i>' if stamp is not None else ""
    date = "never by itself" if fate.goes_ms is None else text.when(fate.goes_ms)
    until = "now" if fate.goes else date
    stays = f'<i class="stays{edge}" style="{_place(span, end, goes)}"></i>'
    now = f'<b style="left:{span.part(now_ms):.2f}%"></b>'
    return (
        f'<div class="row"><span>{segment.base_offset} · {text.size(segment.size)}</span><div class="track" '
        f'title="{_text(why)}">{stays}{records}{now}</div><span>{_text(until)}</span></div>'
    )


def _place(span: Span, start: int, end: int) -> str:
    left = span.part(start)
    return f"left:{left:.2f}%;width:{max(span.part(end) - left, 0):.2f}%"


def _text(words: str) -> str:
    return escape(text.clean(words))
