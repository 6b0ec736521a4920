"""The lines of a journal, and what they come to: where each step is, and where the run went last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Final, Required, TypedDict, cast

LogEnd = tuple[str, int | None]
"""The name of the last log of a directory, "" for none; its size where no step is on it, else None."""


class Facts(TypedDict, total=False):
    """What an event is about, by its kind; journals of old lack some of it.

    A step with its kind, paths and vault; steps that were given up; of a beginning the place of the `vaults`,
    the times of `folders`, the `locks` that it made, its `turn`, where logs end, its plan (the hash, and all
    of it `packed`), and the process.
    """

    step: int
    kind: str
    paths: Sequence[str]
    vault: str
    steps: list[int]
    vaults: str
    folders: dict[str, int]
    locks: list[str]
    turn: int | None
    log_ends: dict[str, LogEnd] | None
    plan: str | None
    packed: str | None
    pid: int


class Event(Facts, total=False):
    """What a line tells; `after` is the hash of the line before."""

    event: Required[str]
    direction: Required[str]
    at: float
    after: str | None


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


def _are_ends(value: object) -> bool:
    """Journals of old have none."""
    return value is None or (
        isinstance(value, dict)
        and all(
            isinstance(each, list) and len(each) == 2 and isinstance(each[0], str)
            and (each[1] is None or _is_step(each[1]))
            for each in value.values()
        )
    )  # fmt: skip


def _is_list(kind: type[object]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(each, kind) for each in value)


_SHAPES: Final[Mapping[str, Mapping[str, Callable[[object], bool]]]] = {
    "begun": {
        "vaults": lambda value: isinstance(value, str), "folders": _is_times, "locks": _is_list(str),
        "turn": lambda value: value is None or _is_step(value), "log_ends": _are_ends,
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
    data.pop("sum", None)
    return cast(Event, data) if fits else None


class Course:
    """What the events so far come to; events are taken one by one, so that a long run stays a fast one.

    `at_once` has the path of each step that may be taken together with others (`Step.AT_ONCE`). Where a line
    is lost, the next one that is about a step tells where all are: they are taken in order, and back in
    reverse, so that at any time those before a place are done and those behind it are not.
    """

    def __init__(self, at_once: Sequence[str | None]) -> None:
        self._at_once = at_once
        self._lost = self._unsettled = False
        self.statuses = [Status.BEFORE] * len(at_once)
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
            begun = any(status is not Status.BEFORE for status in self.statuses) and not self._unsettled
            return "the old bytes of steps that were begun lie elsewhere" if moved and begun else None
        if self.last is None or self.last["direction"] != event["direction"]:
            return "a run goes where it has begun to go"
        numbers = event["steps"] if kind == "discarded" else [event["step"]] if "step" in event else []
        if any(number >= len(self.statuses) for number in numbers):
            return "the plan has no such step"
        if self._lost:
            return None
        if kind in ("told", "discarded") and not self.finished:
            return "only what came to its end is told, or given up for good"
        if kind in ("intended", "done", "finished") and self.finished:
            return "what came to its end begins anew before anything is done"
        return self._broken_by(event, numbers)

    def _broken_by(self, event: Event, numbers: Sequence[int]) -> str | None:
        kind = event["event"]
        goal = Status.AFTER if event["direction"] == FORWARD else Status.BEFORE
        if kind == "finished" and any(status is not goal for status in self.statuses):
            return "a run is finished when every step is where it is to be"
        statuses = {self.statuses[number] for number in numbers}
        if kind == "intended" and goal in statuses:
            return "a step that is where it is to be is not begun again"
        if kind == "done" and statuses != {Status.BETWEEN}:
            return "a step is done only after it was begun"
        if kind == "discarded" and statuses - {Status.AFTER}:
            return "only what a step has set aside can be given up"
        return None

    def lose(self) -> None:
        """A line that cannot be read."""
        self._lost = self._unsettled = True

    def _settle(self, event: Event) -> None:
        """Where all steps must be when this event was written, whatever the lost lines said."""
        if "step" in event:
            number = event["step"]
            near = {number, *self._together(number, -1), *self._together(number, 1)}
            self.statuses = [
                Status.BETWEEN if other in near else Status.AFTER if other < number else Status.BEFORE
                for other in range(len(self.statuses))
            ]
        elif event["event"] != "begun":
            goal = Status.AFTER if event["direction"] == FORWARD else Status.BEFORE
            self.statuses, self.finished = [goal] * len(self.statuses), True
        self._unsettled = self._unsettled and event["event"] == "begun"

    def _together(self, number: int, way: int) -> Iterator[int]:
        """The steps beside one that may have been taken together with it: on other files, and at once."""
        seen: set[str | None] = {None}
        while 0 <= number < len(self._at_once) and self._at_once[number] not in seen:
            yield number
            seen.add(self._at_once[number])
            number += way

    def take(self, event: Event) -> None:
        """One more event, which breaks no rule."""
        kind = event["event"]
        if self._unsettled or (self._lost and kind == "finished"):
            self._settle(event)
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
