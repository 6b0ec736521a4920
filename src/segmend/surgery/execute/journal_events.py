"""The lines of a journal, and what they come to: where each step is, and where the run went last."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

FORWARD, BACK = "forward", "back"
Event = dict[str, Any]


class Status(enum.Enum):
    """Where one step is."""

    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"


def _is_step(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_time(value: Any) -> bool:
    """Seconds since 1970; NaN compares with nothing."""
    return isinstance(value, int | float) and 0 <= value < 1e11


def _is_times(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(time, int) for time in value.values())


def _is_list(kind: type[Any]) -> Callable[[Any], bool]:
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


def event_of(line: bytes) -> Event | None:
    """The event in a line that was written whole; None for anything else."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("direction") not in (FORWARD, BACK):
        return None
    shape = _SHAPES.get(str(found.get("event")))
    fits = shape is not None and all(fit(found.get(name)) for name, fit in shape.items())
    fits = fits and _is_time(found.get("at"))
    return found if fits else None


class Course:
    """What the events so far come to; events are taken one by one, so that a long run stays a fast one."""

    def __init__(self, steps: int) -> None:
        self.statuses = [Status.BEFORE] * steps
        self.first: Event | None = None
        self.last: Event | None = None
        self.finished = False
        self.told = False
        self.discarded: set[int] = set()

    def take(self, event: Event) -> None:
        """One more event; raises `IndexError` for a step that the plan does not have."""
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
            self.statuses[max(event["steps"], default=0)]  # an `IndexError` for what is no step
        else:
            self.finished, self.told = self.finished or kind == "finished", self.told or kind == "told"
