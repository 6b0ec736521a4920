"""What the commands that carry out plans share: the question, the stop, what came of it."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from segmend.cli import interrupt
from segmend.cli.output import emit_asked, emit_json, flush, program, style
from segmend.cli.plans import add_state_option
from segmend.errors import Cancelled, SegmendError, UsageError, system_words
from segmend.report import text
from segmend.report.plan import start_words
from segmend.report.progress import Progress, telling
from segmend.report.table import columns, table
from segmend.surgery.counted import Tell
from segmend.surgery.execute import journal
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.run import Outcome, StepState, Watch
from segmend.surgery.execute.steps_told import RunRefused, StepTold
from segmend.surgery.plan import Plan
from segmend.surgery.step import Step
from segmend.surgery.writing.effects import Effects
from segmend.wording import plural

_COLUMNS: Final = columns(">step", "what", "where", "is", "old bytes")
_STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_yes_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_surgery_options(parser: argparse.ArgumentParser) -> None:
    """How a plan is carried out, or taken back."""
    add_yes_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="look at all that could refuse it, do nothing")
    add_state_option(parser)


def confirm(args: argparse.Namespace, question: str) -> None:
    """Ask a person; raises `UsageError` where there is none, `Cancelled` for anything but yes."""
    if args.yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():  # None: it was closed before we were started (`<&-`)
        raise UsageError("nobody is here to ask: add --yes to do it without a question")
    flush()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Cancelled("not done; nothing was changed")


@contextmanager
def watching(args: argparse.Namespace) -> Iterator[Watch]:
    """Shows steps and bytes; Ctrl-C, SIGTERM or SIGHUP stop at the next safe point."""
    progress = Progress(sys.stderr)
    asked = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        progress.say("stopping at the next safe point")

    def tell(number: int, step: Step, state: StepState) -> None:
        if args.json:
            row = {"type": "step", "step": number, "kind": step.KIND, "path": step.paths[0], "state": state}
            # Nobody who stops reading, or whose disk is full, stops surgery halfway; the end tells of it.
            with suppress(OSError, SegmendError):
                emit_json([row])
        elif state in (StepState.DOING, StepState.UNDOING):
            progress.say(f"{number}: {text.clean(step.words())}")

    # Who said nohup means to go on when the connection breaks, and a job in the background is not for Ctrl-C.
    heard = [number for number in _STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    old = {number: signal.signal(number, stop) for number in heard}
    try:
        yield Watch(
            stopped=lambda: asked,
            tell=tell,
            progress=lambda done, total: progress.update(done, total, ""),
            looked=lambda done, total: progress.update(done, total, "looking at the files"),
            now=time.time,
        )
    except SegmendError:
        interrupt.ending()  # It says what was done; one more Ctrl-C must not say that nothing was.
        raise
    finally:
        progress.done()
        for number, handler in old.items():
            signal.signal(number, handler)


def tell_rehearsal(args: argparse.Namespace, plan: Plan, rehearse: Callable[[Tell], Sequence[int]]) -> int:
    """What a dry run comes to, if it comes to an end; gives the exit code."""
    with telling() as tell, steps_beside(args):
        todo = rehearse(tell)
    words = f"nothing was done; as things are, {plural(len(todo), 'step')} would be"
    emit_asked(args, [{"type": "rehearsed", "plan": plan.sha256, "steps": len(todo)}], [words])
    return 0


def carried_out(
    args: argparse.Namespace, act: Callable[[Watch], Outcome], tell: Callable[[Outcome], None]
) -> None:
    """Do it, and tell what it came to; who stops that is not told that nothing was changed."""
    outcome = None
    try:
        with watching(args) as watch, steps_beside(args):
            outcome = act(watch)
        tell(outcome)
        acknowledge(outcome)
        interrupt.over()
    except KeyboardInterrupt:
        if outcome is None:
            raise
        run = outcome.run
        raise Cancelled(f"all was done already: {run.name} is {run.state}; {undo_command(run)}") from None


def acknowledge(outcome: Outcome) -> None:
    """The last act of a command: see `journal.acknowledge`; raises `SegmendError` if it cannot be written."""
    flush()
    try:
        journal.acknowledge(Effects(), outcome.run, time.time)
    except OSError as error:
        raise SegmendError(f"{outcome.run.journal}: {system_words(error)}") from None


@contextmanager
def steps_beside(args: argparse.Namespace) -> Iterator[None]:
    """Show where each step is, and its old bytes, beside a refusal that has them."""
    try:
        yield
    except RunRefused as refused:
        tell_steps(args, refused)
        raise


def tell_steps(args: argparse.Namespace, refused: RunRefused) -> None:
    rows = (map(text.clean, _row(told)) for told in refused.steps)
    lines = table(_COLUMNS, map(list, rows), style(args)) if refused.steps else iter(())
    emit_asked(args, (told.to_json() for told in refused.steps), lines)


def _row(told: StepTold) -> Sequence[str]:
    state = told.state if told.since is None else f"{told.state}; {told.since}"
    what = told.kind.replace("_", " ") or "?"
    return str(told.number), what, " -> ".join(told.paths) or "?", state, ", ".join(told.kept) or "none"


def undo_command(run: PlanRun) -> str:
    """How to take a run back, or apply it again, as it can be typed: by its path, if it is no usual place."""
    return f"{program()} undo {run.name if run.is_usual else text.word(run.path)}"


def left_words(plan: Plan) -> str:
    """The same at the end of a sentence that tells what was applied."""
    left = f"; {plural(len(plan.left), 'finding')} left as named above" if plan.left else ""
    return left if plan.start_is_well else f"{left}; {start_words(plan, 'after')}"


def outcome_object(outcome: Outcome, note: str | None = None) -> dict[str, object]:
    """The last `--json` line: its type is `applied` or `undone`; `note` is one more."""
    run = outcome.run
    return {
        "type": outcome.state, "journal": run.name, "path": run.path, "operation": run.plan.operation,
        "plan": run.plan.sha256, "steps": outcome.steps, "records_lost": run.plan.records_lost,
        "notes": [*run.plan.notes, *filter(None, [note])], "left": list(map(str, run.plan.left)),
    }  # fmt: skip
