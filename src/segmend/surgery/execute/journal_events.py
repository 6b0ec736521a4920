"""The lines of a journal, and what they come to: where each step is, and where the run went last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Any, Final

Event = dict[str, Any]


class Direction(StrEnum):
    """Where a run goes."""

    FORWARD = "forward"
    BACK = "back"


FORWARD, BACK = Direction


class Status(Enum):
    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: object) -> bool:
    """Seconds since 1970; NaN compares with nothing."""
    return isinstance(value, int | float) and 0 <= value < 1e11


def _is_times(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(time, int) for time in value.values())


def _is_list(kind: type[object]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(each, kind) for each in value)


_SHAPES: Final[Mapping[str, Mapping[str, Callable[[Any], bool]]]] = {
    "begun": {
        "vaults": lambda value: isinstance(value, str), "folders": _is_times, "locks": _is_list(str),
        "turn": lambda value: value is None or _is_step(value),
    },
    "intended": {"step": _is_step},
    "done": {"step": _is_step},
    "finished": {},
    "told": {},
    "discarded": {"steps": lambda value: isinstance(value, list) and all(map(_is_step, value))},
}  # fmt: skip


_SUM: Final = b',"sum":"'


def line_of(event: Event) -> bytes:
    """The line of an event; it ends with a hash of itself, since no later line may vouch for it."""
    body = json.dumps(event, separators=(",", ":")).encode("ascii").removesuffix(b"}")
    return body + _SUM + _hash(body) + b'"}\n'


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode("ascii")


def event_of(line: bytes) -> Event | None:
    """The event in a line that was written whole, and is as it was; None for anything else."""
    body, told, rest = line.rpartition(_SUM)
    if not line.endswith(b"\n") or (told and rest != _hash(body) + b'"}\n'):
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("direction") not in [*Direction]:
        return None
    shape = _SHAPES.get(str(data.get("event")))
    fits = shape is not None and all(fit(data.get(name)) for name, fit in shape.items())
    fits = fits and _is_time(data.get("at"))
    return data if fits else None


class Course:
    """What the events so far come to; events are taken one by one, so that a long run stays a fast one."""

    def __init__(self, steps: int) -> None:
        self.statuses = [Status.BEFORE] * steps
        self.first: Event | None = None
        self.last: Event | None = None
        self.finished = False
        self.told = False
        self.discarded: set[int] = set()

    def broken_rule(self, event: Event) -> str | None:
        """Which rule an event would break, so that old bytes could be lost; None if it breaks none."""
        kind = event["event"]
        if kind == "begun":
            moved = self.last is not None and self.last["vaults"] != event["vaults"]
            begun = any(status is not Status.BEFORE for status in self.statuses)
            return "the old bytes of steps that were begun lie elsewhere" if moved and begun else None
        if self.last is None or self.last["direction"] != event["direction"]:
            return "a run goes where it has begun to go"
        if kind in ("told", "discarded") and not self.finished:
            return "only what came to its end is told, or given up for good"
        if kind in ("intended", "done", "finished") and self.finished:
            return "what came to its end begins anew before anything is done"
        return self._broken_by(event)

    def _broken_by(self, event: Event) -> str | None:
        kind = event["event"]
        goal = Status.AFTER if event["direction"] == FORWARD else Status.BEFORE
        if kind == "finished" and any(status is not goal for status in self.statuses):
            return "a run is finished when every step is where it is to be"
        numbers = event["steps"] if kind == "discarded" else [event["step"]] if "step" in event else []
        if any(number >= len(self.statuses) for number in numbers):
            return "the plan has no such step"
        statuses = {self.statuses[number] for number in numbers}
        if kind == "intended" and goal in statuses:
            return "a step that is where it is to be is not begun again"
        if kind == "done" and statuses != {Status.BETWEEN}:
            return "a step is done only after it was begun"
        if kind == "discarded" and statuses - {Status.AFTER}:
            return "only what a step has set aside can be given up"
        return None

    def take(self, event: Event) -> None:
        """One more event, which breaks no rule."""
        kind = event["event"]
        if kind == "begun":
            self.first = self.first or event
            self.last, self.finished, self.told = event, False, False
        elif kind == "intended":
            self.statuses[event["step"]] = Status.BETWEEN
        elif kind == "done":
            forward = event["direction"] == FORWARD
            self.statuses[event["step"]] = Status.AFTER if forward else Status.BEFORE
        elif kind == "discarded":
            self.discarded.update(event["steps"])
        else:
            self.finished, self.told = self.finished or kind == "finished", self.told or kind == "told"
