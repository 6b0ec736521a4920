"""Take a plan back: every byte, name, owner, mode and time as it was. An undo can be undone."""

from __future__ import annotations

import os

from segmend.errors import SegmendError
from segmend.logdir.file_system import ways_told
from segmend.logdir.log_dir import LOCK
from segmend.surgery.counted import Tell
from segmend.surgery.execute.journal import outdated
from segmend.surgery.execute.journal_events import BACK, FORWARD, Direction
from segmend.surgery.execute.plan_run import PlanRun, RunState
from segmend.surgery.execute.preconditions import is_done, way_back
from segmend.surgery.execute.quarantines import refuse_discarded
from segmend.surgery.execute.run import Outcome, Watch, carry_out, examine
from segmend.surgery.execute.runs import runs
from segmend.surgery.step import Neighbours
from segmend.surgery.writing.effects import Effects
from segmend.wording import plural


def direction_of(run: PlanRun) -> Direction:
    """Where an undo of this run goes: back, or forward again if it was taken back and that was told.

    Who was interrupted before he was told says `undo` again to have it done, not to have it undone.
    """
    return FORWARD if run.state is RunState.UNDONE and run.told else BACK


def _refuse_built_upon(run: PlanRun) -> None:
    """Raise `SegmendError` if a later plan that is not taken back changed what this one had left."""
    later = [other for other in runs(run.state_dir) if other.number > run.number]
    mine = [step for step, status in zip(run.plan.steps, run.statuses(), strict=True) if is_done(status)]
    for other in reversed(later):
        theirs = [s for s, status in zip(other.plan.steps, other.statuses(), strict=True) if is_done(status)]
        neighbours = Neighbours([*mine, *theirs])
        for number, step in enumerate(mine):
            if any(neighbour >= len(mine) for neighbour in neighbours.of(number)):
                first = other.taken_back_by if other.given_up else f"first: segmend undo {other.called}"
                raise SegmendError(
                    f"{step.paths[0]}: was changed again by {other.name}; {first}; nothing was "
                    f"changed{way_back(run)}"
                )


@ways_told()
def undo(run: PlanRun, *, fx: Effects | None = None, watch: Watch | None = None) -> Outcome:
    """Take a run back, wholly or as far as it got; one that was taken back is applied again.

    Raises as `apply`; refused if a file is not as the run left it, which says a broker was there.
    """
    direction = direction_of(run)
    while True:
        try:
            _refuse(run, direction)
            return carry_out(fx or Effects(), run, direction, watch or Watch())
        except SegmendError as error:
            now = PlanRun.load(run.path)
            if not outdated(error, run, now):
                raise
            run = now


def not_told(run: PlanRun) -> str | None:
    """What an undo cannot know of, where the journal has no line, or some cannot be read; None if it has all.

    It was stopped before the first one, or has lost them. The files of the steps tell which, but not how the
    directories were.
    """
    if run.begun is not None:
        numbers = ", ".join(map(str, run.skipped))
        how = "cannot be read; what they said those behind them tell"
        return f"{run.journal}: {plural(len(run.skipped), 'line')} ({numbers}) {how}" if numbers else None
    dirs = [each.path for each in run.plan.dirs]
    locks = [f"{path}/{LOCK}" for path in dirs if os.path.lexists(f"{path}/{LOCK}")]
    left = f", and made {', '.join(locks)}" if locks else ""
    return (
        f"{run.journal} has no line: by the files no step was begun; if it had lines that were lost, this "
        f"plan may have changed the time of {', '.join(dirs)}{left}, which stays"
    )


@ways_told()
def rehearse(run: PlanRun, tell: Tell = lambda _done, _total: None) -> list[int]:
    """The steps that `undo` would take now, in their order; raises what would keep it from that."""
    direction = direction_of(run)
    _refuse(run, direction)
    return examine(run, direction, tell)[0]


def _refuse(run: PlanRun, direction: Direction) -> None:
    refuse_discarded(run)
    if direction == BACK:
        _refuse_built_upon(run)
