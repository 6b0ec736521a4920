"""What was begun and what is done: JSON lines, each synced before the next thing happens.

    <state dir>/journals/0001-trim-3fa9c1d2/plan.json        the plan, as it was applied
                                            journal.jsonl    its events, forward and backward
                                            begun.json       the last line of it that begins something, again
                                            steps/0001/      old bytes of step 1, and what it set aside

A line that was cut short by a power cut never happened. `--backup-dir` puts `steps` elsewhere.
Each line names the one before by its hash (`after`), so that none in between can go unseen, and has its own
(`sum`); whether the last ones went, the files tell (`preconditions`). How the directories were no file tells
once something was begun: should that line go, it stands in `begun.json`, and is put back.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Final, Self

from segmend.errors import BrokerRunning, Cancelled, SegmendError, UsageError
from segmend.frozen import dataclass, field
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable, ways_told
from segmend.state_dir import default_state_dir
from segmend.surgery.execute.journal_events import (
    FORWARD,
    Course,
    Direction,
    Event,
    Status,
    event_of,
    line_of,
)
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.plan import Plan
from segmend.surgery.writing.atomic import bytes_of, write_atomically
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.work import Workplace, folder

_PLAN, _JOURNAL, _STEPS, _RUNS = "plan.json", "journal.jsonl", "steps", "journals"
_BEGUN: Final = "begun.json"
_NAME: Final = re.compile(r"(\d{4,})-[\w-]+", re.ASCII)
_LIMIT: Final = 1 << 30


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
    new: bool = False
    """Whether this process made its directory, and synced its name and those above."""
    _course: Course = field(init=False)

    def __post_init__(self) -> None:
        self._course = Course(len(self.plan.steps))

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a run's directory; raises `SegmendError`."""
        plan = Plan.load(f"{path}/{_PLAN}")
        run = cls(name=path.rpartition("/")[2], path=path, plan=plan)
        if disk.path_type(run.journal) is not None:
            data = disk.read(run.journal, _LIMIT)
            run.size = len(data)
            run._read(data.splitlines(keepends=True))
        run._restore()
        return run

    def _restore(self) -> None:
        """Take the last beginning for what it is, should the journal have lost its line, or more of them."""
        if disk.path_type(self.last_beginning) is None:
            return
        event = event_of(disk.read(self.last_beginning, _LIMIT))
        if event is None or event["event"] != "begun" or (event.get("turn") or 0) <= self.turn:
            return
        event["after"] = self.last_line
        if self.broken_rule(event) is None:
            self.restored = line_of({name: value for name, value in event.items() if name != "sum"})
            self._follow(event, self.restored)

    def _read(self, lines: Sequence[bytes]) -> None:
        """Only the last line can have been torn by a power cut; damage before it hides what was done."""
        for number, line in enumerate(lines, 1):
            event = event_of(line)
            broken = None if event is None else self._unchained(event) or self.broken_rule(event)
            torn = event is None and all(event_of(later) is None for later in lines[number:])
            if torn:
                return
            if event is None or broken is not None:
                why = "" if broken is None else f" ({broken})"
                raise SegmendError(
                    f"{self.journal}: line {number} is damaged{why}, so what was done is not known; the old "
                    f"bytes are in {self.vaults}, and the plan beside it says what each step changed"
                )
            self.take(event, line)

    def _unchained(self, event: Event) -> str | None:
        """Why an event does not follow the line before it; None if it does."""
        wanted = self.last_line if "after" in event or self.chained else None
        return (
            None if event.get("after") == wanted else "the line before it is not the one it was written after"
        )

    def broken_rule(self, event: Event) -> str | None:
        """Which rule of journals an event would break now, None if none."""
        return self._course.broken_rule(event)

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
        match = _NAME.fullmatch(self.name)
        return 0 if match is None else int(match[1])

    @property
    def is_usual(self) -> bool:
        """Whether a command finds it by its name, without `--state-dir`."""
        return folder(folder(self.path)) == disk.real_path(default_state_dir())

    @property
    def called(self) -> str:
        """What a command takes for it, whole: by its path, if it is in no usual place."""
        return self.name if self.is_usual else shlex.quote(self.path)

    @property
    def journal(self) -> str:
        return f"{self.path}/{_JOURNAL}"

    @property
    def last_beginning(self) -> str:
        """The file that has the last line that begins something, written before the journal has it."""
        return f"{self.path}/{_BEGUN}"

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
    def discarded(self) -> frozenset[int]:
        """The steps whose old bytes were given up, or were about to be."""
        return frozenset(self._course.discarded)

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

    @property
    def vaults(self) -> str:
        """The directory of all old bytes."""
        last = self._course.last
        return self.own_vaults if last is None else str(last["vaults"])

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


class JournalWriter:
    """The journal of a run, open for writing; each event is on the disk when `write` returns."""

    def __init__(self, fx: Effects, run: PlanRun, fd: int, now: Callable[[], float]) -> None:
        self._fx = fx
        self._run = run
        self._fd = fd
        self._now = now

    def write(self, event: str, direction: Direction, *, synced: bool = True, **more: object) -> None:
        """Add an event; raises `OSError`."""
        at, after = round(self._now(), 3), self._run.last_line
        written = {"event": event, "direction": direction, **more, "at": at, "after": after}
        broken = self._run.broken_rule(written)
        assert broken is None, f"{event} in {self._run.journal}: {broken}"
        assert self._run.size == self._run.valid_bytes, "a torn line is cut off before another one is written"
        line = line_of(written)
        if event == "begun":
            write_private(self._fx, self._run.last_beginning, line)
        self._fx.write(self._fd, line, self._run.valid_bytes)
        if synced:
            self._fx.sync(self._fd)
        self._run.take(written, line)
        self._run.size = self._run.valid_bytes


@contextmanager
def writing(
    fx: Effects, run: PlanRun, now: Callable[[], float], *, again: bool = False
) -> Iterator[JournalWriter]:
    """The journal open, and its name synced; a second segmend that wants it is refused.

    Where this process had it open before, and does so `again`, its name is synced already.
    """
    new = not os.path.lexists(run.journal)
    fd = fx.create(run.journal) if new else fx.open(run.journal)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BrokerRunning(f"{run.path}: another segmend is at work on this plan") from None
        if os.fstat(fd).st_size != run.size:
            raise SegmendError(
                f"{run.journal}: another segmend went on with this plan meanwhile (see `segmend journal "
                "list`); this one changed nothing"
            )
        if not again:
            sync_dir(fx, run.path)
        if run.size > run.valid_bytes:
            fx.truncate(fd, run.valid_bytes)
            run.size = run.valid_bytes
        if run.restored:
            fx.write(fd, run.restored, run.valid_bytes)
            run.valid_bytes += len(run.restored)
            run.size, run.restored = run.valid_bytes, b""
        yield JournalWriter(fx, run, fd, now)
    finally:
        fx.close(fd)


def acknowledge(fx: Effects, run: PlanRun, now: Callable[[], float]) -> None:
    """Write down that the user was told; the very last thing that a command does. Raises `OSError`.

    Nothing follows it, not even a sync, so that no command is cut short after it. Where another segmend went
    on with the plan already, that one has something to tell.
    """
    with suppress(SegmendError), writing(fx, run, now, again=True) as journal:
        journal.write("told", run.direction, synced=False)


def outdated(error: SegmendError, known: PlanRun | None, now: PlanRun | None) -> bool:
    """Whether an error may say no more than that another segmend went on with the same plan meanwhile.

    `known` is the run as this process knows it, None if there was none, `now` the one that there is.
    """
    if isinstance(error, BrokerRunning | Cancelled) or now is None or now.last_begun is None:
        return False
    grown = known is None or now.last_line != known.last_line
    return grown and now.last_begun.get("pid") != os.getpid()


def runs(state_dir: str, on_problem: Callable[[SegmendError], None] = lambda _: None) -> list[PlanRun]:
    """Every run of a state dir, oldest first; `on_problem` is given why one cannot be read."""
    home = _home(state_dir)
    loaded: list[PlanRun] = []
    for name in _names(home):
        try:
            with ways_told():
                loaded.append(PlanRun.load(f"{home}/{name}"))
        except SegmendError as error:
            on_problem(error)
    return loaded


def runs_of(state_dir: str, plan: Plan) -> list[PlanRun]:
    """Every run of this very plan; raises `SegmendError` where one of its name is closed to this user."""
    own = [run for run in runs(state_dir) if run.plan.sha256 == plan.sha256]
    home = _home(state_dir)
    for name in (name for name in _names(home) if not own and name.endswith(_ending(plan))):
        try:
            PlanRun.load(f"{home}/{name}")
        except Unreadable as closed:
            raise SegmendError(closed.told(os.R_OK | os.W_OK)) from None
        except SegmendError:  # Rotten: the files tell whether something was done.
            continue
    return own


def _ending(plan: Plan) -> str:
    """Of the name of its runs."""
    return f"-{plan.sha256[:8]}"


def next_turn(state_dir: str) -> int:
    """The `turn` of what begins now: above that of every line there is; the plans are not read for it."""
    home = _home(state_dir)
    turns = [0]
    for path in (f"{home}/{name}/{file}" for name in _names(home) for file in (_JOURNAL, _BEGUN)):
        with suppress(Unreadable):
            lines = disk.read(path, _LIMIT).splitlines(keepends=True)
            events = [event_of(line) or {} for line in lines if b'"begun"' in line]
            turns += [each.get("turn") or 0 for each in events]
    return 1 + max(turns)


def _home(state_dir: str) -> str:
    """The place of all journals; raises `SegmendError` if it is closed to this user."""
    home = f"{disk.real_path(state_dir)}/{_RUNS}"
    with ways_told():
        disk.path_type(home)
    return home


def _numbered(home: str) -> list[str]:
    return [name for name in disk.listing(home) if _NAME.fullmatch(name)]


def _names(home: str) -> list[str]:
    """Oldest first; a directory without a plan is of a run that was stopped before it was anything."""
    if disk.path_type(home) is None:
        return []
    named = [(int(name.partition("-")[0]), name) for name in _numbered(home)]
    return [name for _, name in sorted(named) if disk.path_type(f"{home}/{name}/{_PLAN}") == "file"]


class SeveralJournals(UsageError):
    """Which one is meant does not follow: `choice` has all, behind the others what was at work last."""

    def __init__(self, where: str, choice: list[PlanRun]) -> None:
        super().__init__(f"{where}: has {len(choice)} journals: name the one that is meant")
        self.choice = choice


def find(state_dir: str, name: str | None) -> PlanRun:
    """A run by its name, its number or its path, or by a log dir of its own; the only one if None.

    The state dir is shared by all brokers of a machine: which one was at work last says nothing of whose is
    meant. Raises `UsageError` if there is none, `SegmendError` if it cannot be read.
    """
    home = _home(state_dir)
    if name is None:
        return _only(state_dir, home)
    wanted = name.rstrip("/").removesuffix(f"/{_JOURNAL}")
    if not wanted:
        raise UsageError(f"'{name}': is neither a journal nor a log dir (see `segmend journal list`)")
    for each in _names(home):
        number = each.partition("-")[0]
        if wanted in (each, number, number.lstrip("0")):
            return PlanRun.load(f"{home}/{each}")
    path = disk.real_path(wanted)
    if disk.path_type(f"{path}/{_PLAN}") == "file":
        return PlanRun.load(path)
    of_dir = [run for run in _readable(home) if path in {each.path for each in run.plan.dirs}]
    if of_dir:
        return _one_of(name, of_dir)
    raise UsageError(f"{state_dir}: has no journal '{name}' (see `segmend journal list`)")


def _readable(home: str) -> list[PlanRun]:
    """All that was begun; one that cannot be read may be the one that is meant, and is not passed over."""
    problems: list[SegmendError] = []
    loaded = runs(folder(home), problems.append)
    if problems:
        raise SegmendError(f"a journal cannot be read: {problems[-1]} (others can be named)")
    begun = [run for run in loaded if run.events]
    if loaded and not begun:
        raise UsageError(
            f"{loaded[-1].journal}: has no line, and no other journal here has: no plan was begun, or the "
            f"lines are lost; segmend undo {loaded[-1].called} goes by what the files tell"
        )
    return begun


def _only(state_dir: str, home: str) -> PlanRun:
    begun = _readable(home)
    if not begun:
        raise UsageError(f"{state_dir}: has no journal; give --state-dir if another one was used")
    return _one_of(state_dir, begun)


def _one_of(where: str, begun: list[PlanRun]) -> PlanRun:
    if len(begun) > 1:
        raise SeveralJournals(where, sorted(begun, key=lambda run: (run.turn, run.number)))
    return begun[0]


def new_run(fx: Effects, state_dir: str, plan: Plan) -> PlanRun:
    """A directory for a plan that is applied for the first time; raises `OSError`."""
    home = f"{state_dir}/{_RUNS}"
    make_dirs(fx, home)
    kind = re.sub(r"\W+", "-", plan.operation, flags=re.ASCII)[:40]
    number = 1 + max((int(name.partition("-")[0]) for name in _numbered(home)), default=0)
    name = f"{number:04d}-{kind}{_ending(plan)}"
    path = f"{home}/{name}"
    try:
        fx.make_dir(path)
    except FileExistsError:
        raise BrokerRunning(f"{path}: another segmend is at work on this plan") from None
    if min(each for each in _numbered(home) if each.startswith(f"{number:04d}-")) != name:
        # Another segmend took the number at the same moment; a user may name a run by it alone.
        fx.remove_dir(path)
        return new_run(fx, state_dir, plan)
    sync_dir(fx, home)
    write_private(fx, f"{path}/{_PLAN}", plan.render())
    return PlanRun(name=name, path=path, plan=plan, new=True)


def write_private(fx: Effects, path: str, data: bytes) -> None:
    """A file of a run, whole or not at all; raises `OSError`."""
    work = Workplace(fx=fx, vault=folder(path))
    write_atomically(work, path, bytes_of(data, work), Fingerprint(kind="file", mode=0o600))


def make_dirs(fx: Effects, path: str, *, known: str | None = None) -> None:
    """Make a directory and what it lies in, and sync their names; raises `OSError`.

    Those that are there are synced too: who made them may have been killed before he could. `known` is one
    of which this process knows that it was synced, with all above.
    """
    if path in ("/", known):
        return
    if disk.path_type(path) is None:
        make_dirs(fx, folder(path), known=known)
        with suppress(FileExistsError):  # another segmend was quicker
            fx.make_dir(path)
        sync_dir(fx, folder(path))
    else:
        # What we may pass but not read, or lies on a file system without syncs, was never made by us.
        try:
            sync_dir(fx, folder(path))
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL, errno.ENOSYS):
                raise
        make_dirs(fx, folder(path), known=known)
