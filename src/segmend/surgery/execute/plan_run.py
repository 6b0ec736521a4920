"""One plan that was begun, as its directory in the state dir tells of it.

    <state dir>/journals/0001-trim-3fa9c1d2/plan.json        the plan, as it was applied
                                            journal.jsonl    its events, forward and backward
                                            begun.json       the last line of it that begins something, again
                                            steps/plan.json  the plan, again
                                            steps/0001/      old bytes of step 1, and what it set aside

A line that was cut short by a power cut never happened. `--backup-dir` puts `steps` elsewhere.
Each line names the one before by its hash (`after`), so that none in between can go unseen, and has its own
(`sum`); what one that is damaged said, those behind it tell, and whether the last ones went, the files
(`preconditions`). How the directories were no file tells once something was begun: should that line go, it
stands in `begun.json`, and is put back. So is the plan, from its copy beside the old bytes, or from the lines
that begin something, which have it `packed` unless it is very large, or by who has it: they say which it is.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Final, Self

from segmend.errors import SegmendError
from segmend.frozen import dataclass, field
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.state_dir import state_option
from segmend.surgery.execute.journal_events import (
    FORWARD,
    Course,
    Direction,
    Event,
    Status,
    event_of,
    line_of,
)
from segmend.surgery.execute.steps_told import RunRefused, StepTold, by_lines, step_told
from segmend.surgery.plan import MADE_AGAIN, Plan
from segmend.surgery.writing.work import folder

PLAN, JOURNAL, BEGUN = "plan.json", "journal.jsonl", "begun.json"
_STEPS: Final = "steps"
_NOTHING: Final[Mapping[int, str]] = {}
NAME: Final = re.compile(r"(\d{4,})-[\w-]+", re.ASCII)
LIMIT: Final = 1 << 30
PACKED_LIMIT: Final = 16 << 20


class RunState(StrEnum):
    """How far a run is; those that end in -ing were stopped on the way."""

    NEW = "new"
    APPLYING = "applying"
    APPLIED = "applied"
    UNDOING = "undoing"
    UNDONE = "undone"


@dataclass(slots=True, kw_only=True)
class PlanRun:
    """One plan that was begun: its journal, read, and the plan as it was then.

    `valid_bytes` of the `size` bytes of the journal are whole lines; a torn one may follow.
    """

    name: str
    path: str
    plan: Plan
    events: list[Event] = field(default_factory=list)
    valid_bytes: int = 0
    size: int = 0
    last_line: str = ""
    """The hash of the last whole line."""
    chained: bool = False
    """Whether lines name the one before; those of journals of old do not."""
    restored: bytes = b""
    """A line of `begun.json` that the journal has lost; it is written to its end when that is opened."""
    skipped: list[int] = field(default_factory=list)
    """The lines that cannot be read, counted from 1, in front of others that can."""
    plan_lost: bool = False
    """Whether its file of the plan is damaged or gone; it is written again when the journal is opened."""
    _vaults: str | None = None
    new: bool = False
    """Whether this process made its directory, and synced its name and those above."""
    _course: Course = field(init=False)

    def __post_init__(self) -> None:
        self._course = Course([step.paths[0] if step.AT_ONCE else None for step in self.plan.steps])

    @classmethod
    def load(cls, path: str, given: Plan | None = None) -> Self:
        """Read a run's directory; raises `SegmendError`. A plan that is `given` stands in for its own.

        That one is written back when the journal is opened.
        """
        _refuse_other_kinds(path)
        plan, lost = cls._own_plan(path) if given is None else (given, True)
        run = cls(name=path.rpartition("/")[2], path=path, plan=plan, plan_lost=lost)
        run._read(_lines_of(run.journal))
        run._restore()
        return run

    @classmethod
    def load_by_files(cls, path: str) -> Self:
        """The same; one whose lines cannot be read has none. Where its steps are, files tell then."""
        try:
            return cls.load(path)
        except SegmendError:
            run = cls(name=path.rpartition("/")[2], path=path, plan=cls._own_plan(path)[0])
            run._vaults = next((each["vaults"] for each in _beginnings(path)), None)
            return run

    @classmethod
    def _own_plan(cls, path: str) -> tuple[Plan, bool]:
        """It is the one that was begun, or what is told is where all is; and whether a copy stands in for it.

        One lies beside the old bytes, others are in the lines that begin something.
        """
        own = f"{path}/{PLAN}"
        begun = _beginnings(path)
        vaults = f"{path}/{_STEPS}" if not begun else begun[-1]["vaults"]
        try:
            plan = Plan.load(own)
            if all(_is_of(plan, event) for event in begun):
                return plan, False
            why = f"{own}: is not the plan that was begun here"
        except Unreadable as unreadable:
            if not unreadable.missing:
                raise
            why = str(unreadable)
        except SegmendError as damaged:
            why = str(damaged).removesuffix(MADE_AGAIN)
        copies = (partial(Plan.load, f"{vaults}/{PLAN}"), *(partial(unpacked, event) for event in begun))
        for load in copies:
            with suppress(SegmendError):
                copy = load()
                if begun and all(_is_of(copy, event) for event in begun):
                    return copy, True
        raise RunRefused(
            f"{why}; `segmend apply` of the file that was applied puts it back and goes on (what was done is "
            f"in {path}/{JOURNAL}, the old bytes are in {vaults})",
            by_lines(_events(f"{path}/{JOURNAL}"), vaults),
        )

    def _restore(self) -> None:
        """Take the last beginning for what it is, should the journal have lost its line, or more of them."""
        event = self._kept_beginning()
        if event is not None and self.broken_rule(event) is None:
            self.restored = line_of(event)
            self._follow(event, self.restored)

    def _kept_beginning(self) -> Event | None:
        """The last beginning, by its own file, as the next line; None where the journal has it."""
        if disk.path_type(self.last_beginning) is None:
            return None
        event = event_of(disk.read(self.last_beginning, LIMIT))
        if event is None or event["event"] != "begun" or (event.get("turn") or 0) <= self.turn:
            return None
        return {**event, "after": self.last_line}

    def _read(self, lines: Sequence[bytes]) -> None:
        """The last line can have been torn by a power cut; what one in front of others said, these tell."""
        self.size = sum(map(len, lines))
        events = [event_of(line) for line in lines]
        last = max((number for number, event in enumerate(events) if event is not None), default=-1)
        for number, (line, event) in enumerate(zip(lines[: last + 1], events, strict=False), 1):
            if event is None:
                self._course.lose()
                self.skipped.append(number)
                self.valid_bytes += len(line)
                continue
            lost = number - 1 in self.skipped
            if lost:
                self._begin_by_file(event)
            broken = (None if lost else self._unchained(event)) or self.broken_rule(event)
            if broken is not None:
                raise SegmendError(
                    f"{self.journal}: line {number} is damaged ({broken}), so what was done is not known; "
                    f"the old bytes are in {self.vaults} (what goes back by the files: segmend plan reverse "
                    f"{self.called})"
                )
            self.take(event, line)

    def _begin_by_file(self, event: Event) -> None:
        """Of lines that are lost in front of an event, the one that began what this one is of."""
        if event["event"] == "begun":
            return
        kept, last, way = self._kept_beginning(), self.last_begun, event["direction"]
        if kept is not None and kept["direction"] == way:
            begun = kept
        elif last is None or last["direction"] != way:
            begun = {**(last or kept or event), "event": "begun", "direction": way}
        else:
            return
        if "vaults" in begun and self.broken_rule(begun) is None:
            self._follow(begun, b"")

    def _unchained(self, event: Event) -> str | None:
        """Why an event does not follow the line before it; None if it does."""
        wanted = self.last_line if "after" in event or self.chained else None
        return (
            None if event.get("after") == wanted else "the line before it is not the one it was written after"
        )

    def broken_rule(self, event: Event) -> str | None:
        """Which rule of journals an event would break now, None if none."""
        return self._course.broken_rule(event) if _is_of(self.plan, event) else "it is of another plan"

    def take(self, event: Event, line: bytes) -> None:
        """One more event, which is this line of the journal and breaks no rule."""
        self.valid_bytes += len(line)
        self._follow(event, line)

    def _follow(self, event: Event, line: bytes) -> None:
        self._course.take(event)
        self.events.append(event)
        self.last_line, self.chained = hashlib.sha256(line).hexdigest()[:16], "after" in event

    @property
    def number(self) -> int:
        """Runs of one state dir are counted from 1; 0 for a directory that has another name."""
        match = NAME.fullmatch(self.name)
        return 0 if match is None else int(match[1])

    @property
    def state_dir(self) -> str:
        """Where it lies, beside others."""
        return folder(folder(self.path))

    @property
    def is_usual(self) -> bool:
        """Whether a command finds it by its name, without `--state-dir`."""
        return not state_option(self.state_dir)

    @property
    def called(self) -> str:
        """What a command takes for it, whole: by its path, if it is in no usual place."""
        return self.name if self.is_usual else shlex.quote(self.path)

    @property
    def journal(self) -> str:
        return f"{self.path}/{JOURNAL}"

    @property
    def last_beginning(self) -> str:
        """The file that has the last line that begins something, written before the journal has it."""
        return f"{self.path}/{BEGUN}"

    @property
    def begun(self) -> Event | None:
        """The first event: it knows how the folders were before anything happened."""
        return self._course.first

    @property
    def last_begun(self) -> Event | None:
        return self._course.last

    @property
    def of_this_round(self) -> list[Event]:
        """The events since it was begun forward again, or all, if it goes back."""
        beginnings = (number for number, each in enumerate(self.events) if each is self.last_begun)
        return self.events[next(beginnings, 0) :] if self.direction is FORWARD else self.events

    @property
    def turn(self) -> int:
        """When it began last, counted in beginnings of its state dir: clocks go back, this does not."""
        last = self._course.last
        return 0 if last is None else last.get("turn") or 0

    @property
    def direction(self) -> Direction:
        """Where it went last."""
        last = self._course.last
        return FORWARD if last is None else Direction(last["direction"])

    @property
    def finished(self) -> bool:
        """Whether that came to its end."""
        return self._course.finished

    @property
    def told(self) -> bool:
        """Whether the user was told so. Who was not may give the same command again and mean the same."""
        return self._course.told

    @property
    def is_whole(self) -> bool:
        """Whether it came to an end behind which no line is lost: a beginning is written beside first."""
        if not self.finished or disk.path_type(self.last_beginning) != "file":
            return False
        return event_of(disk.read(self.last_beginning, LIMIT)) == self.last_begun

    @property
    def discarded(self) -> frozenset[int]:
        """The steps whose old bytes were given up, or were about to be."""
        return frozenset(self._course.discarded)

    @property
    def given_up(self) -> list[int]:
        """The steps that no undo takes back: what they set aside went for good."""
        return [step for step in sorted(self.discarded) if self.status(step) is not Status.BEFORE]

    @property
    def taken_back_by(self) -> str:
        """How all of it goes back, or that it does not."""
        if self.given_up:
            return "no undo takes it back: what it set aside was given up for good"
        return f"`segmend undo {self.called}` takes it back"

    @property
    def state(self) -> RunState:
        if not self.events:
            return RunState.NEW
        if self.direction is FORWARD:
            return RunState.APPLIED if self.finished else RunState.APPLYING
        return RunState.UNDONE if self.finished else RunState.UNDOING

    def statuses(self) -> list[Status]:
        return list(self._course.statuses)

    def status(self, step: int) -> Status:
        return self._course.statuses[step]

    def told_steps(self, since: Mapping[int, str] = _NOTHING) -> list[StepTold]:
        """Where each step is; `since` has, by number from 0, how a file is otherwise than that leaves it."""
        return [
            step_told(number + 1, step.KIND, step.paths, status, self.vault(number), since.get(number))
            for number, (step, status) in enumerate(zip(self.plan.steps, self._course.statuses, strict=True))
        ]

    @property
    def vaults(self) -> str:
        """The directory of all old bytes."""
        last = self._course.last
        return (self._vaults or self.own_vaults) if last is None else str(last["vaults"])

    @property
    def own_vaults(self) -> str:
        """Where they are, unless another place was asked for, or all of it was moved since."""
        return f"{self.path}/{_STEPS}"

    def vault(self, step: int) -> str:
        """The directory of a step's old bytes; steps count from 0, the names from 1."""
        return f"{self.vaults}/{step + 1:04d}"

    def token(self, step: int) -> str:
        """What tells names that a step gives for a while from those of all others."""
        return f"{int(self.plan.sha256[:24], 16):024x}{step:08x}"


def _refuse_other_kinds(path: str) -> None:
    """Raise `SegmendError` where something else lies in the place of a run's own files."""
    for own in (f"{path}/{name}" for name in (PLAN, JOURNAL, BEGUN)):
        if os.path.lexists(own) and (disk.path_type(own) != "file" or os.path.islink(own)):
            raise SegmendError(
                f"{own}: is no plain file; move it out of the way, and the same command goes on or says what "
                "can still be taken back"
            )


def _lines_of(path: str) -> list[bytes]:
    """Nothing where it is not there."""
    return disk.read(path, LIMIT).splitlines(keepends=True) if disk.path_type(path) is not None else []


def _beginnings(path: str) -> list[Event]:
    """The events of a run that begin something, as far as its lines can be read; no plan is asked."""
    for own in (f"{path}/{name}" for name in (JOURNAL, BEGUN)):
        if begun := [event for event in _events(own, b'"begun"') if event["event"] == "begun"]:
            return begun
    return []


def _events(path: str, with_word: bytes = b"") -> list[Event]:
    """The events in lines that can be read, of those that have a word; nothing where it is no file."""
    if disk.path_type(path) != "file":
        return []
    lines = (line for line in _lines_of(path) if with_word in line)
    return [event for line in lines if (event := event_of(line)) is not None]


def packed(plan: Plan) -> str | None:
    """The file of a plan for a line of the journal; None if that would be a very long one."""
    data = plan.render()
    return base64.b64encode(zlib.compress(data, 1)).decode("ascii") if len(data) <= PACKED_LIMIT else None


def unpacked(event: Event) -> Plan:
    """The plan in a line that begins something; raises `SegmendError` where it has none."""
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(event["packed"] or ""), PACKED_LIMIT)
    except (KeyError, TypeError, ValueError, zlib.error):
        raise SegmendError("the line has no plan") from None
    return Plan.parse(data, PLAN)


def _is_of(plan: Plan, event: Event) -> bool:
    """Journals of old do not say whose they are."""
    return event.get("plan") in (None, plan.sha256)
