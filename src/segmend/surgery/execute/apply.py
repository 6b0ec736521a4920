"""Apply a plan: for the first time, again after an undo, or on from where it was stopped."""

from __future__ import annotations

from functools import partial

from segmend.errors import SegmendError, system_words
from segmend.logdir import disk
from segmend.logdir.file_system import ways_told
from segmend.surgery.backups import backup_place
from segmend.surgery.boundaries import refuse_inside
from segmend.surgery.counted import Tell
from segmend.surgery.execute.journal import outdated
from segmend.surgery.execute.journal_events import FORWARD, Status
from segmend.surgery.execute.plan_run import PlanRun, RunState
from segmend.surgery.execute.preconditions import refuse_changed
from segmend.surgery.execute.run import Outcome, Watch, carry_out, examine, refuse_state
from segmend.surgery.execute.runs import new_run, runs_of
from segmend.surgery.plan import Plan
from segmend.surgery.writing.effects import Effects


def apply(
    plan: Plan, state_dir: str, *, fx: Effects | None = None, watch: Watch | None = None,
    backup_dir: str | None = None,
) -> Outcome:  # fmt: skip
    """Carry out a plan; its journal and the old bytes go to `state_dir`, the latter to `backup_dir` if given.

    Raises `BrokerRunning`; `SegmendError` if a file is not as the plan expects, there is no space, or
    the system refuses something; `Cancelled`. What was done until then is journalled: the same
    call goes on. Without `backup_dir` the plan's own counts, if it has one.
    """
    effects, watching = fx or Effects(), watch or Watch()
    with ways_told():
        state_dir = disk.real_path(state_dir)
        refuse_inside(plan, state_dir, "--state-dir")
        backup_dir = backup_place(plan, state_dir, backup_dir)
        while True:
            run = _to_go_on_with(plan, state_dir)
            make = partial(_made, effects, state_dir, plan) if run is None else None
            try:
                return carry_out(
                    effects, run or _imagined(plan, state_dir), FORWARD, watching,
                    backup_dir=backup_dir, make=make,
                )  # fmt: skip
            except SegmendError as error:
                if not outdated(error, run, run_of(plan, state_dir)):
                    raise


@ways_told()
def rehearse(
    plan: Plan, state_dir: str, backup_dir: str | None = None, tell: Tell = lambda _done, _total: None
) -> list[int]:
    """The numbers of the steps that `apply` would take now, from 0; raises what would keep it from that.

    Nothing is written, made or locked.
    """
    place = disk.real_path(state_dir)
    refuse_inside(plan, place, "--state-dir")
    backups = backup_place(plan, place, backup_dir)
    run = _to_go_on_with(plan, place) or _imagined(plan, place)
    return examine(run, FORWARD, tell, backup_dir=backups)[0]


def run_of(plan: Plan, state_dir: str) -> PlanRun | None:
    """The run of this very plan, None if it was never begun; of two made at one moment the one that was.

    Raises `SegmendError` if it cannot be read: what was done of the plan is not known then.
    """

    return max(runs_of(state_dir, plan), key=lambda run: (bool(run.events), run.number), default=None)


def _to_go_on_with(plan: Plan, state_dir: str) -> PlanRun | None:
    """The run of this plan, unless it was applied and all is as before: from a snapshot, by hand.

    One that was applied and still stands has no step left: who was killed before he read so gives the same
    command again. Raises `SegmendError` if it was applied, the user was told so, and all is otherwise by now.
    """
    run = run_of(plan, state_dir)
    if run is None or run.state is not RunState.APPLIED or not plan.steps:
        return run
    try:
        refuse_state(plan)
        refuse_changed(plan, [Status.BEFORE] * len(plan.steps))
    except SegmendError:
        if run.told and not _stands(plan):
            said = f"this plan was applied already (journal {run.name}); {run.taken_back_by}"
            raise SegmendError(said) from None
        return run
    return None


def _stands(plan: Plan) -> bool:
    """Whether every file is as the plan leaves it."""
    try:
        refuse_changed(plan, [Status.AFTER] * len(plan.steps))
    except SegmendError:
        return False
    return True


def _imagined(plan: Plan, state_dir: str) -> PlanRun:
    """A run of which nothing is on a disk yet."""
    return PlanRun(name="new", path=f"{state_dir}/journals/new", plan=plan)


def _made(fx: Effects, state_dir: str, plan: Plan) -> PlanRun:
    try:
        return new_run(fx, state_dir, plan)
    except OSError as error:
        where = f"{error.filename or state_dir}: {system_words(error)}"
        raise SegmendError(f"{where}; nothing was changed (give another --state-dir)") from None
