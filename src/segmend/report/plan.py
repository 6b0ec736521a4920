"""A plan of surgery as text that a person reads before saying yes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.surgery.plan import Loss, Plan

_SHOWN = 200
_LIVE = "kafka-reassign-partitions"
"""Of what operations add to a plan, the part that is for people."""


def plan_lines(plan: Plan, look: Style = PLAIN) -> Iterator[str]:
    """What is done, what it costs, what is lost, and what a broker would do before and after."""
    dirs = ", ".join(text.clean(each.given) for each in plan.dirs)
    yield look("bold", f"{plan.operation}: {text.plural(len(plan.steps), 'step')} in {dirs}")
    width = len(str(len(plan.steps)))
    for number, step in enumerate(plan.steps[:_SHOWN], 1):
        yield f"  {number:>{width}}  {text.clean(step.words())}"
    if len(plan.steps) > _SHOWN:
        yield f"  ... and {text.plural(len(plan.steps) - _SHOWN, 'more step')} (--json has all of them)"
    if plan.steps:
        yield from _losses(plan, look)
        yield from _space(plan)
        yield from _forecast(plan, look)
    for note in plan.notes:
        yield f"note: {text.clean(note)}"
    for left in plan.left:
        yield f"{look('yellow', 'left as it is')}: {text.clean(left)}"
    if _LIVE in plan.extra:
        yield f"the same for a running broker, {_LIVE}:"
        yield f"  {json.dumps(plan.extra[_LIVE])}"


def _losses(plan: Plan, look: Style) -> Iterator[str]:
    if not plan.losses:
        yield f"{look('green', 'lost: nothing')}; all old bytes are kept, `segmend undo` goes back"
    for loss in plan.losses:
        yield f"{look('red', 'lost')}: {text.clean(_loss(loss))}"


def _loss(loss: Loss) -> str:
    offsets = "" if loss.last_offset is None else f", offsets {loss.first_offset} to {loss.last_offset}"
    counted = f"{text.plural(loss.records, 'record')}{offsets}, {text.size(loss.bytes)}"
    return f"{loss.topic}-{loss.partition} in {loss.dir}: {counted}; {loss.what}"


def _space(plan: Plan) -> Iterator[str]:
    """What is taken up where; copies to another disk apart, since a move on one disk takes nothing."""
    found: dict[tuple[str, bool], int] = {}
    for need in (need for step in plan.steps for need in step.needs("")):
        key = need.where, need.origin is not None
        found[key] = found.get(key, 0) + need.bytes
    for (where, moved), count in found.items():
        if count:
            place = "for old bytes" if not where else f"in {text.clean(where)}"
            yield f"space: {text.size(count)} {place}{', if that is another disk' if moved else ''}"


def _forecast(plan: Plan, look: Style) -> Iterator[str]:
    for when in ("before", "after"):
        found = plan.forecast.get(when)
        if found:
            yield f"a broker {plan.release} started {when} it {_start(found, look)}"


def _start(found: Mapping[str, Any], look: Style) -> str:
    if found["outcome"] != "starts":
        return look("red", f"refuses: {text.clean(found['reason'] or '')}")
    lost = found["records_lost"]
    return "starts and loses nothing" if not lost else look("red", f"starts and loses {lost:,} records")


def plan_objects(plan: Plan, path: str | None) -> Iterator[dict[str, Any]]:
    """The `--json` lines: one a step, a loss, a note, and the last of the whole plan."""
    for number, step in enumerate(plan.steps, 1):
        yield {"type": "step", "step": number, "kind": step.KIND, "path": step.paths[0], "text": step.words()}
    for loss in plan.losses:
        yield {"type": "loss", **loss.to_json()}
    yield {
        "type": "plan", "file": path, "operation": plan.operation, "sha256": plan.sha256,
        "kafka": str(plan.release), "dirs": [each.given for each in plan.dirs], "steps": len(plan.steps),
        "records_lost": plan.records_lost, "bytes_lost": sum(loss.bytes for loss in plan.losses),
        "space": plan.space(), "notes": list(plan.notes), "left": list(plan.left),
        "forecast": dict(plan.forecast), "extra": dict(plan.extra),
    }  # fmt: skip
