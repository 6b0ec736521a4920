"""Where each step of a run is, and its old bytes: what stands beside a refusal, for who goes on by hand."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.surgery.execute.journal_events import BACK, Event, Status
from segmend.surgery.writing.atomic import TEMPORARY

_STATES = {Status.BEFORE: "not done", Status.BETWEEN: "stopped on the way", Status.AFTER: "done"}


@frozen
class StepTold:
    """One step, by the journal: `number` counts from 1; `since` says how its file is otherwise now.

    `kind` and `paths` are empty where neither the plan nor a line is left that tells. `kept` has what lies
    in the place of its old bytes.
    """

    number: int
    kind: str
    paths: tuple[str, ...]
    state: str
    kept: tuple[str, ...]
    since: str | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "type": "step_told", "step": self.number, "kind": self.kind or None, "paths": [*self.paths],
            "state": self.state, "kept": [*self.kept], "since": self.since,
        }  # fmt: skip


class RunRefused(SegmendError):
    """A refusal to go on with a run, or to go back, and where each of its steps is."""

    def __init__(self, words: str, steps: Iterable[StepTold]) -> None:
        super().__init__(words)
        self.steps = tuple(steps)


def step_told(
    number: int, kind: str, paths: Iterable[str], status: Status, vault: str, since: str | None = None
) -> StepTold:
    """As the journal has it; of a directory that was moved its new place is where the old bytes are."""
    places = tuple(paths)
    kept = tuple(f"{vault}/{name}" for name in _names(vault))
    if status is Status.AFTER and places[1:] and os.path.lexists(places[-1]):
        kept = (*kept, places[-1])
    return StepTold(
        number=number, kind=kind, paths=places, state=_STATES[status], kept=kept, since=since
    )  # fmt: skip


def by_lines(events: Iterable[Event], vaults: str) -> list[StepTold]:
    """The steps that lines of a journal are about, where no plan is left."""
    said: dict[int, tuple[Status, Event]] = {}
    for event in (event for event in events if "step" in event):
        number, back = event["step"], event["direction"] == BACK
        ended = Status.BEFORE if back else Status.AFTER
        status = ended if event["event"] == "done" else Status.BETWEEN
        said[number] = status, {**said[number][1], **event} if number in said else event
    return [
        step_told(n + 1, str(event.get("kind") or ""), _paths(event), status, f"{vaults}/{n + 1:04d}")
        for n, (status, event) in sorted(said.items())
    ]


def _paths(event: Event) -> list[str]:
    """Lines of old have none."""
    paths = event.get("paths")
    return [str(path) for path in paths] if isinstance(paths, list) else []


def _names(vault: str) -> list[str]:
    """What is kept there; nothing where this user may not look, since he is refused something already."""
    with suppress(Unreadable):
        names = disk.names(vault) if disk.path_type(vault) == "dir" else []
        return sorted(name for name in names if not name.endswith(TEMPORARY))
    return []
