"""A plan carried out, or taken back: one loop for both, from wherever an earlier one was stopped.

The order in a step: old bytes to the vault, synced; "intended" in the journal, synced; the change,
synced, looked at; "done" in the journal, synced with the next line. Small files that are replaced take each
of these together, one sync for all where they share what is synced. Every moment at which this can be cut
short is a line of the crash tests.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import accumulate
from typing import Final

from segmend.errors import OUT_OF_MEMORY, Cancelled, SegmendError, system_words
from segmend.frozen import field, frozen
from segmend.logdir import disk
from segmend.logdir.access import way_in
from segmend.surgery.boundaries import refuse_inside, refuse_no_log_dir, refuse_other_dirs, refuse_outside
from segmend.surgery.counted import Counted, Tell
from segmend.surgery.execute import lock
from segmend.surgery.execute.journal import JournalWriter, writing
from segmend.surgery.execute.journal_events import BACK, FORWARD, Direction, Event, Status
from segmend.surgery.execute.log_ends import log_ends, refuse_appended
from segmend.surgery.execute.own_files import make_dirs, write_private
from segmend.surgery.execute.own_room import refuse_without_room
from segmend.surgery.execute.plan_run import PLAN, PlanRun, RunState, packed
from segmend.surgery.execute.preconditions import (
    LOST,
    not_before,
    refuse_changed,
    refuse_changed_aside,
    refuse_damaged_backups,
    refuse_full,
    refuse_lost_backups,
    refuse_other_owner,
    refuse_read_only,
    refuse_stopped_since,
    refuse_twins_of_undo,
    refuse_untold,
    untold_steps,
    way_back,
    what_helps,
)
from segmend.surgery.execute.rights import refuse_unfit, refuse_without_rights
from segmend.surgery.execute.runs import next_turn
from segmend.surgery.execute.runs import vaults as vaults_of
from segmend.surgery.execute.steps_told import RunRefused
from segmend.surgery.execute.throttle import Throttle
from segmend.surgery.execute.trees import keep, refuse_other_rights
from segmend.surgery.fingerprint import hashing_told
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.twins import twins
from segmend.surgery.witnesses import refuse_changed_witnesses
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.transfer import written
from segmend.surgery.writing.work import Workplace, crosses, folder

_TOGETHER, _TOGETHER_BYTES = 256, 64 << 20
"""So many small files, and bytes, are replaced together."""
_ROOM: Final = {
    errno.ENOSPC: "; make room there (XFS keeps some for itself)",
    errno.EDQUOT: "; make room there, or have the quota raised",
}


class StepState(StrEnum):
    DOING = "doing"
    DONE = "done"
    UNDOING = "undoing"
    UNDONE = "undone"


@frozen
class Watch:
    """Who looks on: `stopped` is asked often, `tell` is given (step number from 1, the step, how far it is).

    `progress` is told (done, total) bytes that steps write, `looked` those of files that are looked at before
    the first step, all of them more than once; `now` gives seconds since the epoch.
    """

    stopped: Callable[[], bool] = field(default=lambda: False)
    tell: Callable[[int, Step, StepState], None] = field(default=lambda *_: None)
    progress: Tell = field(default=lambda *_: None)
    looked: Tell = field(default=lambda *_: None)
    now: Callable[[], float] = field(default=lambda: 0.0)


@frozen
class Outcome:
    """What was done: `state` of the run, number of `steps` that were carried out this time."""

    run: PlanRun
    steps: int

    @property
    def state(self) -> RunState:
        """applied or undone."""
        return self.run.state


def refuse_state(plan: Plan, *, begun: PlanRun | None = None, run: PlanRun | None = None) -> None:
    """Raise `SegmendError` if the log dirs are others, or a broker or another plan was there, since then.

    Of a plan that has `begun` its own files are looked at step by step, and the others here. `run` is to be
    its own.
    """
    own = {path for step in plan.steps for path in step.paths} if begun else set()
    differences = [why for each in plan.dirs if (why := each.difference(own)) is not None] or list(
        twins(plan)
    )
    if not differences:
        return
    said = f"refused: {'; '.join(differences)}"
    if begun is None:
        raise SegmendError(f"{said}; nothing was changed ({what_helps(plan, run)})")
    back = f"take back what was done of it (segmend undo {begun.called}), then make the plan again"
    raise RunRefused(f"{said}; {back} (nothing was changed)", begun.told_steps())


def carry_out(
    fx: Effects, run: PlanRun, direction: Direction, watch: Watch, *, backup_dir: str | None = None,
    make: Callable[[], PlanRun] | None = None,
) -> Outcome:  # fmt: skip
    """Bring a run to its end in a direction. Raises `BrokerRunning`, `SegmendError`, `Cancelled`.

    As long as no step was begun the log dirs must be as they were when the plan was made. A run of which
    nothing is on a disk yet leaves no trace where it is refused; else `make` gives the one that is there.
    """
    refuse_other_dirs(run.plan)
    dirs = [each.path for each in run.plan.dirs]
    with lock.alone(fx, dirs):
        # Under this lock: what another segmend did, perhaps of the same plan, is seen before a line of ours.
        with _said(run):
            todo, vaults = examine(run, direction, watch.looked, backup_dir=backup_dir)
        if make is not None:
            run = make()
            vaults = _vaults(run, backup_dir)
            # Where a file system locks no directory another one may have been quicker.
            with _looking(run, watch.looked):
                refuse_changed(run.plan, run.statuses(), begun=run)
        with _said(run), writing(fx, run, watch.now) as journal:
            _begin(fx, run, journal, direction, vaults)
            with _folder_times(fx, run), lock.locked(fx, dirs, _last_begun(run)["locks"]) as locks:
                assert locks.held | locks.full >= set(dirs), (
                    "no step is taken in a log dir whose lock is not held"
                )
                with _looking(run, watch.looked):
                    refuse_changed(
                        run.plan, run.statuses(), run=run if direction == BACK else None, begun=run
                    )
                _take_untold(fx, run, direction)
                _take_steps(fx, run, journal, direction, watch, todo, locks)
            journal.write("finished", direction)
    return Outcome(run=run, steps=len(todo))


@contextmanager
def _looking(run: PlanRun, tell: Tell) -> Iterator[None]:
    """Have `tell` be told how many bytes are behind a look at all files: it takes some two seconds a GiB."""
    needs = (n for number, step in enumerate(run.plan.steps) for n in step.needs(run.vault(number)))
    total = sum(need.bytes for need in needs if need.origin is None)
    with hashing_told(Counted(total, tell).add):
        yield
    tell(total, total)


def examine(
    run: PlanRun, direction: Direction, tell: Tell, *, backup_dir: str | None = None
) -> tuple[list[int], str]:
    """The steps to take, in their order, and where the old bytes go; raises what would keep one from it.

    Nothing is written, made or locked. Each look at all files is told (done, total) bytes.
    """
    untouched = all(status is Status.BEFORE for status in run.statuses())
    vaults = _vaults(run, backup_dir if untouched else None)
    refuse_inside(run.plan, vaults, "the place of the backups")
    refuse_outside(run.plan, lambda: vaults_of(run.state_dir))
    if run.begun is None:
        refuse_no_log_dir(run.plan)
    lock.refuse_running([each.path for each in run.plan.dirs])
    refuse_other_owner(run.plan)
    refuse_read_only(run.plan)
    if direction == FORWARD:
        with _looking(run, tell):
            refuse_untold(run)
        refuse_state(run.plan, begun=None if untouched else run, run=run)
        if untouched:
            refuse_changed_witnesses(run.plan)
    else:
        refuse_stopped_since(run)
        refuse_twins_of_undo(run)
    # In the order in which they are taken.
    goal = Status.AFTER if direction == FORWARD else Status.BEFORE
    numbers = [number for number, status in enumerate(run.statuses()) if status is not goal]
    todo = numbers if direction == FORWARD else numbers[::-1]
    refuse_other_rights(run, direction)
    with _looking(run, tell):
        refuse_changed(run.plan, run.statuses(), run=run if direction == BACK else None, begun=run)
    refuse_lost_backups(run, todo)
    if direction == BACK or run.state is not RunState.APPLIED:
        refuse_appended(run)
    if direction == BACK:
        refuse_changed_aside(run, todo)
    refuse_full(run, todo, vaults, direction)
    refuse_unfit([run.state_dir, vaults], run.plan)
    refuse_without_rights(run, todo, vaults)
    refuse_without_room(run, todo, vaults, direction)
    if direction == BACK:
        with _looking(run, tell):
            refuse_damaged_backups(run, todo)
    return todo, vaults


def _vaults(run: PlanRun, backup_dir: str | None) -> str:
    """Where the old bytes go: where they went, unless none has and another place is given."""
    if backup_dir is not None:
        return f"{backup_dir}/{run.name}-steps"
    return run.vaults


def _begin(fx: Effects, run: PlanRun, journal: JournalWriter, direction: Direction, vaults: str) -> None:
    """Write down how the folders are before anything is touched, and where the old bytes will be."""
    make_dirs(fx, vaults, known=run.path if run.new else None)
    if disk.path_type(f"{vaults}/{PLAN}") is None:
        write_private(fx, f"{vaults}/{PLAN}", run.plan.render())
    keep(fx, run)
    paths = {p for s in run.plan.steps for p in s.paths}
    folders = {each.path for each in run.plan.dirs} | {folder(p) for p in paths} | paths
    times = {path: disk.file_stat(path).mtime_ns for path in sorted(folders) if disk.path_type(path) == "dir"}
    # A directory that was moved and changed there is elsewhere now; back home it has its time again.
    times = {**(run.begun["folders"] if run.begun is not None else {}), **times}
    made = lock.without_lock([each.path for each in run.plan.dirs])
    # A resumed run has the times of its first beginning: what it did in between is no one's time.
    if run.begun is not None and not run.finished:
        last = _last_begun(run)
        times, made = {**times, **last["folders"]}, last["locks"]
    turn = next_turn(run.state_dir)
    begun = any(status is not Status.BEFORE for status in run.statuses())
    ends = _last_begun(run).get("log_ends") if begun else log_ends(run.plan.steps)
    journal.write(
        "begun", direction, turn=turn, vaults=vaults, folders=times, locks=made, log_ends=ends,
        plan=run.plan.sha256, pid=os.getpid(), packed=packed(run.plan),
    )  # fmt: skip


def _last_begun(run: PlanRun) -> Event:
    assert run.last_begun is not None
    return run.last_begun


@contextmanager
def _folder_times(fx: Effects, run: PlanRun) -> Iterator[None]:
    """Directories keep their times: in the end, or if nothing could be done."""
    well = False
    try:
        yield
        well = True
    finally:
        for path, mtime_ns in _last_begun(run)["folders"].items():
            if disk.path_type(path) == "dir":
                # What failed first is what the user is told; the other directories have their times again.
                with suppress(*(() if well else (OSError,))):
                    _set_time(fx, path, mtime_ns)


def _set_time(fx: Effects, path: str, mtime_ns: int) -> None:
    fd = fx.open_dir(path)
    try:
        # Of one that nothing came into or left it may not be ours to set.
        if disk.file_stat(path).mtime_ns != mtime_ns:
            fx.set_mtime(fd, mtime_ns)
        fx.sync(fd)
    finally:
        fx.close(fd)


def _take_steps(
    fx: Effects, run: PlanRun, journal: JournalWriter, direction: Direction, watch: Watch,
    todo: Sequence[int], locks: lock.Locks,
) -> None:  # fmt: skip
    amounts = {number: _amount(run, number) for number in todo}
    rounds = list(_rounds(run.plan.steps, amounts))
    sizes = [sum(amounts[number] for number in numbers) for numbers in rounds]
    counter = _Counter(watch, sizes, Throttle(run.plan, watch.stopped))
    vaults = {number: run.vault(number) for number in todo}
    synced = _make_vaults(fx, vaults.values())
    assert [*todo] == sorted(todo, reverse=direction is BACK), "steps are taken in order, and back in reverse"
    doing, done = (
        (StepState.DOING, StepState.DONE) if direction is FORWARD else (StepState.UNDOING, StepState.UNDONE)
    )
    taken = 0
    for numbers in rounds:
        check = _checker(watch, run, taken, len(todo))
        later: set[str] | None = set() if len(numbers) > 1 else None
        work = {
            number: Workplace(
                fx=fx, vault=vaults[number], token=run.token(number), release=run.plan.release,
                check=check, tell=counter.add, later=later,
            )
            for number in numbers
        }  # fmt: skip
        for number in numbers:
            check()
            watch.tell(number + 1, run.plan.steps[number], doing)
            if direction == FORWARD:
                _protect(run, number, work[number])
        for number, vault in ((number, vaults[number]) for number in numbers):
            assert vault in synced, "no step is begun before its vault is there for good"
            step = run.plan.steps[number]
            journal.write(
                "intended", direction, step=number, kind=step.KIND, paths=step.paths, vault=vault,
                synced=number == numbers[-1],
            )  # fmt: skip
        for number in numbers:
            _change(run, number, direction, work[number])
        for path in sorted(later or ()):
            sync_dir(fx, path)
        for number in numbers:
            # Synced together with the next line: until then the step is one that may be done again.
            journal.write("done", direction, step=number, synced=number == todo[-1])
            watch.tell(number + 1, run.plan.steps[number], done)
        taken += len(numbers)
        counter.round_done()
        locks.take()


def _rounds(steps: Sequence[Step], amounts: Mapping[int, int]) -> Iterator[list[int]]:
    """The steps in their order; together those that replace small files, each another one."""
    together: list[int] = []
    paths: set[str] = set()
    left = _TOGETHER_BYTES
    for number, amount in amounts.items():
        step, left = steps[number], left - amount
        joins = together and steps[together[-1]].AT_ONCE and step.AT_ONCE and paths.isdisjoint(step.paths)
        if together and not (joins and left >= 0 and len(together) < _TOGETHER):
            yield together
            together, paths, left = [], set(), _TOGETHER_BYTES - amount
        together.append(number)
        paths.update(step.paths)
    if together:
        yield together


def _protect(run: PlanRun, number: int, work: Workplace) -> None:
    with _at(run.plan.steps[number]):
        _refuse_step(run, number)
        run.plan.steps[number].protect(work)


def _change(run: PlanRun, number: int, direction: Direction, work: Workplace) -> None:
    step = run.plan.steps[number]
    with _at(step):
        step.do(work) if direction == FORWARD else step.undo(work)


def _take_untold(fx: Effects, run: PlanRun, direction: Direction) -> None:
    """Take the steps that the journal has where they are to be, and the files do not: it has lost lines.

    No line tells of this. A step that is there finds nothing to do but what it has only on its way.
    """
    for number in untold_steps(run, direction):
        vault = run.vault(number)
        _make_vaults(fx, [vault])
        work = Workplace(fx=fx, vault=vault, token=run.token(number), release=run.plan.release)
        _change(run, number, direction, work)


def _make_vaults(fx: Effects, vaults: Collection[str]) -> frozenset[str]:
    """The directories of old bytes of all steps that follow; given are those whose names are synced."""
    for vault in vaults:
        if disk.path_type(vault) is None:
            fx.make_dir(vault)
    for home in sorted({folder(vault) for vault in vaults}):
        sync_dir(fx, home)
    return frozenset(vaults)


def _refuse_step(run: PlanRun, number: int) -> None:
    """Look once more: of two steps on one file, the second could not be looked at before."""
    step = run.plan.steps[number]
    why = not_before(step) if run.status(number) is Status.BEFORE else None
    if why is None:
        return
    if step.not_after() is None:
        why, how = f"is as step {number + 1} leaves it, {LOST}", f"its old bytes are kept{way_back(run)}"
        raise SegmendError(f"{step.paths[0]}: {why}; {how}")
    raise SegmendError(f"{step.paths[0]}: {why}; stopped before step {number + 1}; {_ways(run)}")


def _amount(run: PlanRun, number: int) -> int:
    """About how many bytes a step writes; not the blocks of a move, of which small files are a part."""
    step = run.plan.steps[number]
    needs = list(step.needs(run.vault(number)))
    moved = next((path for path in step.paths if disk.path_type(path)), None)
    if moved is None or all(need.origin is None for need in needs):
        return sum(need.bytes for need in needs)
    return sum(written(moved) for n in needs if n.origin and crosses(n.origin, n.where))


class _Counter:
    """Bytes written against those that rounds were thought to write; one that is done counts as thought."""

    def __init__(self, watch: Watch, amounts: Sequence[int], throttle: Throttle) -> None:
        self._watch, self._throttle = watch, throttle
        self._ends = list(accumulate(amounts))
        self._rounds = self._done = 0

    def add(self, count: int) -> None:
        self._tell(min(self._done + count, self._ends[self._rounds]))
        self._throttle.wrote(count)

    def round_done(self) -> None:
        self._tell(self._ends[self._rounds])
        self._rounds += 1

    def _tell(self, done: int) -> None:
        self._done = done
        self._watch.progress(done, self._ends[-1])


def _checker(watch: Watch, run: PlanRun, taken: int, total: int) -> Callable[[], None]:
    def check() -> None:
        if watch.stopped():
            raise Cancelled(f"stopped after {taken} of {total} steps; {_ways(run)}")

    return check


def _ways(run: PlanRun) -> str:
    if not run.events:
        return "nothing was changed: the same command goes on"
    return (
        f"nothing is lost: the same command goes on, `segmend undo {run.called}` brings back what was "
        f"(the old bytes are in {run.path})"
    )


@contextmanager
def _at(step: Step) -> Iterator[None]:
    """Name the file of a step in what the system says."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = step.paths[0]
        raise


@contextmanager
def _said(run: PlanRun) -> Iterator[None]:
    """Turn what the system refuses into one line that says how to go on."""
    try:
        yield
    except OSError as error:
        name = os.fsdecode(error.filename) if error.filename is not None else run.path
        room = _ROOM.get(error.errno or 0, "")
        way = way_in(name, os.R_OK | os.W_OK) if error.errno == errno.EACCES else None
        more = room if way is None else f" ({way})"
        raise SegmendError(f"{name}: {system_words(error)}{more}; {_ways(run)}") from None
    except MemoryError:
        raise SegmendError(f"{OUT_OF_MEMORY}; {_ways(run)}") from None
