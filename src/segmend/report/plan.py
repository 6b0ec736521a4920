"""A plan of surgery as text that a person reads before saying yes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, Literal

from segmend.frozen import replace
from segmend.json_values import array, member
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import columns, table
from segmend.surgery.plan import ForecastLine, Loss, Plan
from segmend.surgery.step import Step
from segmend.surgery.writing.work import folder
from segmend.wording import plural

_SHOWN, _SINGLY, _NAMED = 60, 60, 3
_STARTS: Final[tuple[Literal["before", "after"], ...]] = ("before", "after")
_LIVE = "kafka-reassign-partitions"
"""Of what operations add to a plan, the part that is for people."""


CHOICES: Final = "merge"
"""In `extra` of a plan: what has `choices`."""
_COLUMNS: Final = columns(
    "branch", ">ends at", "leaves out", ">records", ">epoch", "of", "written", "producers",
)  # fmt: skip
_CALENDAR: Final = (-62_135_596_800_000, 253_402_300_799_999)


def plan_lines(plan: Plan, look: Style = PLAIN) -> Iterator[str]:
    """What is lost, what a broker would do before and after, what it costs; then all that is done."""
    dirs = ", ".join(text.clean(each.given) for each in plan.dirs)
    yield look("bold", f"{plan.operation}: {plural(len(plan.steps), 'step')} in {dirs}")
    if plan.steps:
        yield from _losses(plan, look)
        yield from _forecast(plan, look)
        yield from _space(plan)
    yield from choice_lines(plan.said(CHOICES))
    for note in plan.notes:
        yield f"note: {text.clean(note)}"
    for left in plan.left:
        said = text.clean(str(replace(left, next=None)))
        next = "" if left.next is None else f"; next: {look.command(left.next)}"
        yield f"{look('yellow', 'left as it is')}: {said}{next}"
    yield from step_lines(plan)
    if _LIVE in plan.extra:
        yield f"the same for a running broker, {_LIVE}:"
        live = member(plan.extra, _LIVE)
        moves = len(array(live, "partitions"))
        yield f"  {json.dumps(live) if moves <= _SHOWN else f'--json has it, of {moves:,} partitions'}"


def step_lines(plan: Plan) -> Iterator[str]:
    """Each step, or where they are too many to be read, those of one kind in one directory together."""
    singly = len(plan.steps) <= _SINGLY
    rows = list(enumerate(plan.steps, 1))
    groups = [[row] for row in rows] if singly else [list(group) for _, group in groupby(rows, _place)]
    width = max((len(_numbers(group)) for group in groups[:_SHOWN]), default=0)
    for group in groups[:_SHOWN]:
        words = group[0][1].words() if len(group) == 1 else _together([step for _, step in group])
        yield f"  {_numbers(group):>{width}}  {text.clean(words)}"
    left_out = sum(map(len, groups[_SHOWN:]))
    if left_out:
        yield f"  ... and {plural(left_out, 'more step')}"
    if not singly:
        yield "  (--json has each of them)"


def _place(row: tuple[int, Step]) -> tuple[str, str]:
    return row[1].KIND, folder(row[1].paths[0])


def _numbers(group: Sequence[tuple[int, Step]]) -> str:
    first, last = group[0][0], group[-1][0]
    return str(first) if first == last else f"{first}-{last}"


def _together(steps: Sequence[Step]) -> str:
    """Such as: replace file: 12 in /data/a/orders-3: 00000000000000000000.index, ..."""
    names = ", ".join(step.paths[0].rpartition("/")[2] for step in steps[:_NAMED])
    more = ", ..." if len(steps) > _NAMED else ""
    kind, place = _place((0, steps[0]))
    return f"{kind.replace('_', ' ')}: {len(steps):,} in {place}: {names}{more}"


def _losses(plan: Plan, look: Style) -> Iterator[str]:
    if not plan.losses:
        starts = plan.start("before"), plan.start("after")
        before, after = (each.get("records_lost") or 0 for each in starts)
        worse = look("red", "lost: nothing by the steps, but by the start after them")
        said = worse if after > before else look("green", "lost: nothing")
        yield f"{said}; all old bytes are kept, `segmend undo` goes back"
    for loss in plan.losses[:_SHOWN]:
        yield f"{look('red', 'lost')}: {text.clean(_loss(loss))}"
    if plan.losses:
        partitions = len({(loss.topic, loss.partition) for loss in plan.losses})
        counted = f"{plural(plan.records_lost, 'record')} of {plural(partitions, 'partition')}"
        if any(loss.is_unknown for loss in plan.losses):
            counted = (
                f"{counted if plan.records_lost else 'nothing that can be counted'}, and what nobody can"
            )
        yield f"{look('red', 'lost')} in all: {counted}; the old bytes are kept, `segmend undo` goes back"


def _loss(loss: Loss) -> str:
    if loss.is_unknown:
        place = f"{loss.topic}-{loss.partition} in {loss.dir}"
        return f"{place}, from offset {loss.first_offset} on: {loss.what}; nothing here tells how much"
    offsets = "" if loss.last_offset is None else f", offsets {loss.first_offset} to {loss.last_offset}"
    counted = f"{plural(loss.records, 'record')}{offsets}, {text.size(loss.bytes)}"
    return f"{loss.topic}-{loss.partition} in {loss.dir}: {counted}; {loss.what}"


def _space(plan: Plan) -> Iterator[str]:
    """What is taken up where; copies to another disk apart, since a move on one disk takes nothing."""
    taken_up: dict[tuple[str, bool], int] = {}
    for need in (need for step in plan.steps for need in step.needs("")):
        key = need.where, need.origin is not None
        taken_up[key] = taken_up.get(key, 0) + need.bytes
    for (where, moved), count in taken_up.items():
        if count:
            place = "for old bytes" if not where else f"in {text.clean(where)}"
            yield f"space: {text.size(count)} {place}{', if that is another disk' if moved else ''}"


def _forecast(plan: Plan, look: Style) -> Iterator[str]:
    for when in _STARTS:
        if plan.start(when):
            yield start_words(plan, when, look)


def start_words(plan: Plan, when: Literal["before", "after"], look: Style = PLAIN) -> str:
    """What a broker does that is started then; it was forecast."""
    return f"a broker {plan.release} started {when} it {_start(plan.start(when), look)}"


def _start(outcome: ForecastLine, look: Style) -> str:
    if outcome["outcome"] != "starts":
        return look("red", f"refuses: {text.clean(outcome['reason'] or '')}")
    lost, unserved, unknown = outcome.get("lost", {}), outcome.get("unserved", 0), outcome.get("unknown", [])
    told = []
    if outcome["records_lost"]:
        told.append(look("red", f"loses {outcome['records_lost']:,} records"))
    elif any(lost.values()):
        told.append(look("red", f"has {plural(lost['partitions'], 'partition')} damaged or lost"))
    if outcome.get("metadata_is_lost"):
        told.append(look("red", f"has {text.metadata_lost(outcome['metadata_records_lost'])}"))
    if unserved:
        told.append(look("red", f"does not serve {plural(unserved, 'partition')}"))
    if offline := outcome.get("offline"):
        told.append(look("red", f"has {plural(offline, 'log dir')} offline"))
    if not told:
        told.append("no loss is seen" if unknown else "loses nothing")
    supposed = outcome.get("supposed")
    worst = f"starts; if {text.clean(supposed)}, it" if supposed else "starts and"
    words = f"{worst} {' and '.join(told)}{_looked_at(outcome)}"
    return f"{words}; {look('red', 'not known')}: {text.clean('; '.join(unknown))}" if unknown else words


def _looked_at(outcome: ForecastLine) -> str:
    """What of a broker with very many partitions the sentence before is about; the others are not known."""
    count = outcome.get("looked_at")
    return "" if count is None else f" of {plural(count, 'partition')} that it touches"


def plan_objects(plan: Plan, path: str | None) -> Iterator[dict[str, object]]:
    """The `--json` lines: one a step, a loss, a note, and the last of the whole plan."""
    for number, step in enumerate(plan.steps, 1):
        yield {"type": "step", "step": number, "kind": step.KIND, "path": step.paths[0], "text": step.words()}
    for loss in plan.losses:
        yield {"type": "loss", **loss.to_json()}
    yield {
        "type": "plan", "file": path, "operation": plan.operation, "sha256": plan.sha256,
        "kafka": str(plan.release), "dirs": [each.given for each in plan.dirs], "steps": len(plan.steps),
        "records_lost": plan.records_lost, "bytes_lost": sum(loss.bytes for loss in plan.losses),
        "space": plan.space(), "notes": list(plan.notes), "left": list(map(str, plan.left)),
        "forecast": dict(plan.forecast), "extra": dict(plan.extra),
    }  # fmt: skip


def choice_lines(said: Sequence[object]) -> Iterator[str]:
    """A table for each merge in a plan, where there is a choice; anything else says nothing."""
    for each in said:
        choices = each.get("choices") if isinstance(each, dict) else None
        rows = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
        if any(row.get("lost") for row in rows):
            yield "what each branch leaves out:"
            yield from table(_COLUMNS, [line for row in rows for line in _rows(row)])


def _rows(choice: Mapping[str, object]) -> Iterator[list[str]]:
    prefer = choice.get("prefer")
    name = "newest" if prefer is None else f"--prefer {prefer}"
    head = [f"{name} (this plan)" if choice.get("chosen") else name, str(choice.get("next_offset"))]
    lost = choice.get("lost")
    for each in (one for one in lost if isinstance(one, dict)) if isinstance(lost, list) else ():
        span = f"{each.get('first_offset')} to {each.get('last_offset')}"
        written = " to ".join(_instant(each.get(name)) for name in ("first_time", "last_time"))
        cells = [
            *head, span, str(each.get("records")), str(each.get("epoch")), _names(each.get("replicas")),
            written, _names(each.get("producers")),
        ]  # fmt: skip
        yield [text.clean(cell) for cell in cells]
        head = ["", ""]
    if head[0]:
        yield [text.clean(cell) for cell in [*head, "nothing", "", "", "", "", ""]]


def _names(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""


def _instant(ms: object) -> str:
    if not isinstance(ms, int) or not _CALENDAR[0] <= ms <= _CALENDAR[1]:
        return "?"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ms // 1000))
