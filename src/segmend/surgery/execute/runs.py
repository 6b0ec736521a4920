"""The runs of a state dir: all that there are, the one that is meant, and a new one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress

from segmend.errors import BrokerRunning, SegmendError, UsageError
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable, ways_told
from segmend.state_dir import state_option
from segmend.surgery.execute.journal_events import event_of
from segmend.surgery.execute.own_files import make_dirs, write_private
from segmend.surgery.execute.plan_run import BEGUN, JOURNAL, LIMIT, NAME, PLAN, PlanRun
from segmend.surgery.plan import Plan
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.work import folder

_RUNS = "journals"


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


def vaults(state_dir: str) -> list[str]:
    """Where the old bytes of every run are, as far as its lines can be read."""
    home, folders = _home(state_dir), list[str]()
    for name in _names(home):
        with suppress(SegmendError), ways_told():
            folders.append(PlanRun.load_by_files(f"{home}/{name}").vaults)
    return folders


def runs_of(state_dir: str, plan: Plan) -> list[PlanRun]:
    """Every run of this very plan; raises `SegmendError` where one of its name cannot be read.

    One whose own plan is damaged goes on with this.
    """
    own = [run for run in runs(state_dir) if run.plan.sha256 == plan.sha256]
    home = _home(state_dir)
    for name in (name for name in _names(home) if not own and name.endswith(_ending(plan))):
        try:
            PlanRun.load(f"{home}/{name}")
        except Unreadable as closed:
            raise SegmendError(closed.told(os.R_OK | os.W_OK)) from None
        except SegmendError:
            own.append(PlanRun.load(f"{home}/{name}", plan))
    return own


def _ending(plan: Plan) -> str:
    """Of the name of its runs."""
    return f"-{plan.sha256[:8]}"


def next_turn(state_dir: str) -> int:
    """The `turn` of what begins now: above that of every line there is; the plans are not read for it."""
    home = _home(state_dir)
    turns = [0]
    for path in (f"{home}/{name}/{file}" for name in _names(home) for file in (JOURNAL, BEGUN)):
        with suppress(Unreadable):
            lines = disk.read(path, LIMIT).splitlines(keepends=True)
            events = filter(None, (event_of(line) for line in lines if b'"begun"' in line))
            turns += [each.get("turn") or 0 for each in events]
    return 1 + max(turns)


def _home(state_dir: str) -> str:
    """The place of all journals; raises `SegmendError` if it is closed to this user."""
    home = f"{disk.real_path(state_dir)}/{_RUNS}"
    with ways_told():
        disk.path_type(home)
    return home


def _numbered(home: str) -> list[str]:
    return [name for name in disk.listing(home) if NAME.fullmatch(name)]


def _names(home: str) -> list[str]:
    """Oldest first; a directory without a file is of a run that was stopped before it was anything."""
    if disk.path_type(home) is None:
        return []
    named = [(int(name.partition("-")[0]), name) for name in _numbered(home)]
    return [name for _, name in sorted(named) if _is_run(f"{home}/{name}")]


def _is_run(path: str) -> bool:
    return any(disk.path_type(f"{path}/{file}") == "file" for file in (PLAN, JOURNAL, BEGUN))


class SeveralJournals(UsageError):
    """Which one is meant does not follow: `choice` has all, behind the others what was at work last."""

    def __init__(self, where: str, choice: list[PlanRun]) -> None:
        super().__init__(f"{where}: has {len(choice)} journals: name the one that is meant")
        self.choice = choice


def find(state_dir: str, name: str | None, load: Callable[[str], PlanRun] = PlanRun.load) -> PlanRun:
    """A run by its name, its number or its path, or by a log dir of its own; the only one if None.

    One that is named is loaded by `load`.

    The state dir is shared by all brokers of a machine: which one was at work last says nothing of whose is
    meant. Raises `UsageError` if there is none, `SegmendError` if it cannot be read.
    """
    home = _home(state_dir)
    if name is None:
        return _only(state_dir, home)
    run = named(state_dir, name, load)
    if run is not None:
        return run
    path = disk.real_path(name)
    of_dir = [run for run in _readable(home) if path in {each.path for each in run.plan.dirs}]
    if of_dir:
        return _one_of(name, of_dir)
    raise UsageError(f"{state_dir}: has no journal '{name}' (see `{_listing(state_dir)}`)")


def _listing(state_dir: str) -> str:
    return f"segmend journal list{state_option(state_dir)}"


def named(state_dir: str, name: str, load: Callable[[str], PlanRun] = PlanRun.load) -> PlanRun | None:
    """A run by its name, its number or its path; None if it is none of these."""
    wanted = name.rstrip("/").removesuffix(f"/{JOURNAL}")
    if not wanted:
        raise UsageError(f"'{name}': is neither a journal nor a log dir (see `{_listing(state_dir)}`)")
    home = _home(state_dir)
    for each in _names(home):
        number = each.partition("-")[0]
        if wanted in (each, number, number.lstrip("0")):
            return load(f"{home}/{each}")
    path = disk.real_path(wanted)
    return load(path) if _is_run(path) else None


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
    write_private(fx, f"{path}/{PLAN}", plan.render())
    return PlanRun(name=name, path=path, plan=plan, new=True)
