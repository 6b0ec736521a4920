"""What was begun and what is done: JSON lines, each synced before the next thing happens.

    <state dir>/journals/0001-trim-3fa9c1d2/plan.json        the plan, as it was applied
                                            journal.jsonl    its events, forward and backward
                                            steps/0001/      old bytes of step 1, and what it set aside

A line that was cut short by a power cut never happened. `--backup-dir` puts `steps` elsewhere.
"""

from __future__ import annotations

import enum
import errno
import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from segmend.errors import SegmendError, UsageError
from segmend.logdir import disk
from segmend.surgery.effects import Effects, sync_dir
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.plan import Plan
from segmend.surgery.step import Work, folder
from segmend.surgery.writing import bytes_of, write_beside

_PLAN, _JOURNAL, _STEPS, _RUNS = "plan.json", "journal.jsonl", "steps", "journals"
_NAME: Final = re.compile(r"(\d{4,})-[\w-]+", re.ASCII)
_LIMIT: Final = 1 << 30
FORWARD, BACK = "forward", "back"


class Status(enum.Enum):
    """Where one step is."""

    BEFORE = "before"
    BETWEEN = "between"
    AFTER = "after"


@dataclass(slots=True, kw_only=True)
class Run:
    """One plan that was begun: its journal, read, and the plan as it was then."""

    name: str
    path: str
    plan: Plan
    events: list[dict[str, Any]] = field(default_factory=list)
    valid_bytes: int = 0

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a run's directory; raises `SegmendError`."""
        plan = Plan.load(f"{path}/{_PLAN}")
        run = cls(name=path.rpartition("/")[2], path=path, plan=plan)
        if disk.path_type(run.journal) is not None:
            for line in disk.read(run.journal, _LIMIT).splitlines(keepends=True):
                event = _event(line)
                if event is None:
                    break
                run.events.append(event)
                run.valid_bytes += len(line)
        return run

    @property
    def journal(self) -> str:
        """The path of the journal."""
        return f"{self.path}/{_JOURNAL}"

    @property
    def begun(self) -> dict[str, Any] | None:
        """The first event: it knows how the folders were before anything happened."""
        return self.events[0] if self.events else None

    @property
    def direction(self) -> str:
        """Where it went last."""
        return next((e["direction"] for e in reversed(self.events) if e["event"] == "begun"), FORWARD)

    @property
    def finished(self) -> bool:
        """Whether that came to its end."""
        return any(event["event"] == "finished" for event in self._latest())

    @property
    def told(self) -> bool:
        """Whether the user was told so. Who was not may give the same command again and mean the same."""
        return any(event["event"] == "told" for event in self._latest())

    def _latest(self) -> list[dict[str, Any]]:
        """The events since it last began."""
        at = [number for number, event in enumerate(self.events) if event["event"] == "begun"]
        return self.events[at[-1] :] if at else []

    @property
    def state(self) -> str:
        """new, applied or undone; applying or undoing if it was stopped on the way."""
        if not self.events:
            return "new"
        done, doing = ("applied", "applying") if self.direction == FORWARD else ("undone", "undoing")
        return done if self.finished else doing

    def statuses(self) -> list[Status]:
        """Where each step is."""
        found = [Status.BEFORE] * len(self.plan.steps)
        for event in self.events:
            if event["event"] == "intended":
                found[event["step"]] = Status.BETWEEN
            elif event["event"] == "done":
                found[event["step"]] = Status.AFTER if event["direction"] == FORWARD else Status.BEFORE
        return found

    @property
    def vaults(self) -> str:
        """The directory of all old bytes."""
        latest = self._latest()
        return str(latest[0]["vaults"]) if latest else f"{self.path}/{_STEPS}"

    def vault(self, step: int) -> str:
        """The directory of a step's old bytes; steps count from 0, the names from 1."""
        return f"{self.vaults}/{step + 1:04d}"


def _event(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and {"event", "direction"} <= event.keys() else None


class Writer:
    """The journal of a run, open for writing; each event is on the disk when `write` returns."""

    def __init__(self, fx: Effects, run: Run, fd: int, now: Callable[[], float]) -> None:
        self._fx = fx
        self._run = run
        self._fd = fd
        self._now = now

    def write(self, event: str, direction: str, *, synced: bool = True, **more: Any) -> None:
        """Add an event; raises `OSError`."""
        found = {"event": event, "direction": direction, **more, "at": round(self._now(), 3)}
        line = json.dumps(found, separators=(",", ":")).encode("ascii") + b"\n"
        self._fx.write(self._fd, line, self._run.valid_bytes)
        if synced:
            self._fx.sync(self._fd)
        self._run.events.append(found)
        self._run.valid_bytes += len(line)


@contextmanager
def writing(fx: Effects, run: Run, now: Callable[[], float]) -> Iterator[Writer]:
    """The journal open; a second segmend that wants it is refused."""
    new = not os.path.lexists(run.journal)
    fd = fx.create(run.journal) if new else fx.open(run.journal)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SegmendError(f"{run.path}: another segmend is at work on this plan") from None
        sync_dir(fx, run.path)
        if os.fstat(fd).st_size > run.valid_bytes:
            fx.truncate(fd, run.valid_bytes)
        yield Writer(fx, run, fd, now)
    finally:
        fx.close(fd)


def acknowledge(fx: Effects, run: Run, now: Callable[[], float]) -> None:
    """Write down that the user was told; the very last thing that a command does. Raises `OSError`.

    Nothing follows it, not even a sync, so that no command is cut short after it.
    """
    with writing(fx, run, now) as journal:
        journal.write("told", run.direction, synced=False)


def _ignore(_problem: SegmendError) -> None:
    return None


def runs(state_dir: str, on_problem: Callable[[SegmendError], None] = _ignore) -> list[Run]:
    """Every run of a state dir, oldest first; `on_problem` is given why one cannot be read."""
    home = f"{disk.real_path(state_dir)}/{_RUNS}"
    if disk.path_type(home) is None:
        return []
    named = [(int(found[1]), name) for name in disk.listing(home) if (found := _NAME.fullmatch(name))]
    # A directory without a plan is of a run that was stopped before it was anything.
    there = [name for _, name in sorted(named) if disk.path_type(f"{home}/{name}/{_PLAN}") == "file"]
    loaded: list[Run] = []
    for name in there:
        try:
            loaded.append(Run.load(f"{home}/{name}"))
        except SegmendError as error:
            on_problem(error)
    return loaded


def find(state_dir: str, name: str | None) -> Run:
    """A run by its name, its number or its path; the latest that did anything if None; `UsageError`."""
    found = [run for run in runs(state_dir) if run.events]
    if name is None:
        if not found:
            raise UsageError(f"{state_dir}: has no journal; give --state-dir if another one was used")
        return found[-1]
    wanted = name.rstrip("/").removesuffix(f"/{_JOURNAL}")
    for run in found:
        number = run.name.partition("-")[0]
        if wanted in (run.name, number, number.lstrip("0")) or disk.real_path(wanted) == run.path:
            return run
    for path in (f"{disk.real_path(state_dir)}/{_RUNS}/{wanted}", disk.real_path(wanted)):
        if disk.path_type(f"{path}/{_PLAN}") == "file":
            return Run.load(path)
    raise UsageError(f"{state_dir}: has no journal '{name}' (see `segmend journal list`)")


def new_run(fx: Effects, state_dir: str, plan: Plan) -> Run:
    """A directory for a plan that is applied for the first time; raises `OSError`."""
    home = f"{state_dir}/{_RUNS}"
    make_dirs(fx, home)
    numbers = [int(found[1]) for name in disk.listing(home) if (found := _NAME.fullmatch(name))]
    kind = re.sub(r"\W+", "-", plan.operation, flags=re.ASCII)[:40]
    name = f"{max(numbers, default=0) + 1:04d}-{kind}-{plan.sha256[:8]}"
    path = f"{home}/{name}"
    fx.make_dir(path)
    sync_dir(fx, home)
    work = Work(fx=fx, vault=path)
    write_beside(work, f"{path}/{_PLAN}", bytes_of(plan.render(), work), Fingerprint(kind="file", mode=0o600))
    return Run(name=name, path=path, plan=plan)


def make_dirs(fx: Effects, path: str) -> None:
    """Make a directory and what it lies in, and sync their names; raises `OSError`.

    Those that are there are synced too: who made them may have been killed before he could.
    """
    if disk.path_type(path) is None:
        make_dirs(fx, folder(path))
        fx.make_dir(path)
        sync_dir(fx, folder(path))
    elif path != "/":
        _sync_if_possible(fx, folder(path))
        make_dirs(fx, folder(path))


def _sync_if_possible(fx: Effects, path: str) -> None:
    """What we may pass but not read, or lies on a file system without syncs, was never made by us."""
    try:
        sync_dir(fx, path)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL, errno.ENOSYS):
            raise
