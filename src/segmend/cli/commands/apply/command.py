"""`segmend apply`: carry out a plan, under the broker's lock, journalled."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress

from segmend.cli.options import add_output_options
from segmend.cli.output import emit, emit_json, program, style
from segmend.cli.plans import left_by, place
from segmend.cli.surgery import (
    add_surgery_options,
    carried_out,
    confirm,
    left_words,
    outcome_object,
    steps_beside,
    tell_rehearsal,
    undo_command,
)
from segmend.errors import ExitCode, SegmendError, UsageError
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.report.plan import plan_lines
from segmend.surgery.execute.apply import apply, rehearse
from segmend.surgery.execute.plan_run import JOURNAL, RunState
from segmend.surgery.execute.run import Outcome
from segmend.surgery.execute.runs import named, runs
from segmend.surgery.plan import MADE_AGAIN, Plan
from segmend.surgery.writing.work import folder
from segmend.wording import plural

EXAMPLES = """\
The broker must be stopped; its .lock is held meanwhile. Old bytes go to the state directory first, so
that `segmend undo` brings back every one of them, also after a power cut in the middle.

examples:
  segmend apply plan.json
  segmend apply plan.json --dry-run                    is everything as the plan expects, and is there room
  segmend apply plan.json --yes --json
  segmend apply plan.json --backup-dir /mnt/spare/segmend
  segmend apply 0003-trim-5d1f0c2a       go on by the journal's own copy, where the file is lost or damaged

exit codes: 0 nothing to do (or --dry-run, and nothing refuses it), 1 applied, 4 nothing to do, but the
plan names findings that it leaves (5: applied, and it leaves some, or says that a start after it is no
good one), 8 refused or failed (the files are safe), 16 usage, 32 stopped by Ctrl-C, 64 a broker runs"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plan", metavar="PLAN",
        help="the file that `segmend plan ... -o PLAN` wrote, or the name, number or path of a journal",
    )  # fmt: skip
    add_surgery_options(parser)
    parser.add_argument(
        "--backup-dir", metavar="DIR", type=place, help="put the old bytes here, on another disk"
    )
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    plan = _plan(args)
    if not args.json:
        emit(plan_lines(plan, style(args)))
    if not plan.steps:
        emit_json([{"type": "applied", "journal": None, "steps": 0}]) if args.json else emit(
            ["nothing to do"]
        )
        return left_by(plan)
    if args.dry_run:
        return tell_rehearsal(args, plan, lambda tell: rehearse(plan, args.state_dir, args.backup_dir, tell))
    confirm(args, "apply this?")
    carried_out(
        args,
        lambda watch: apply(plan, args.state_dir, watch=watch, backup_dir=args.backup_dir),
        lambda outcome: _tell(args, outcome),
    )
    return ExitCode.CHANGED + left_by(plan)


def _plan(args: argparse.Namespace) -> Plan:
    """In its file; else of the journal that is called so, with whose state dir it goes on."""
    is_file = disk.path_type(args.plan) == "file" and not args.plan.endswith(f"/{JOURNAL}")
    with steps_beside(args):
        begun = None if is_file or not args.plan.strip("/") else named(args.state_dir, args.plan)
    if begun is not None:
        args.state_dir = folder(folder(begun.path))
        return begun.plan
    try:
        return Plan.load(args.plan)
    except SegmendError as error:
        journals = _that_may_have_it(args)
        kind = UsageError if isinstance(error, UsageError) else SegmendError
        raise kind(str(error).removesuffix(MADE_AGAIN) + journals if journals else str(error)) from None


def _that_may_have_it(args: argparse.Namespace) -> str:
    """By which journals what was begun goes on, where the file of the plan cannot be read."""
    with suppress(Unreadable):
        hashes = re.findall(rb'"sha256": ?"([0-9a-f]{64})"', disk.read(args.plan))
        kept = [run for run in runs(args.state_dir) if hashes and run.plan.sha256 == hashes[-1].decode()]
        if kept:
            return f"; the journal has it as it was: {program()} apply {kept[-1].called}"
    begun = [run for run in runs(args.state_dir) if run.state in (RunState.APPLYING, RunState.UNDOING)]
    commands = ", ".join(f"{program()} apply {run.called}" for run in begun)
    return f"; if it is the plan that was begun, its journal has it: {commands}" if commands else ""


def _tell(args: argparse.Namespace, outcome: Outcome) -> None:
    if args.json:
        emit_json([outcome_object(outcome)])
    else:
        steps = plural(outcome.steps, "step")
        left = left_words(outcome.run.plan)
        before = "" if outcome.steps else ", all of them were done before"
        run = outcome.run
        back = run.taken_back_by if run.given_up else f"to go back: {undo_command(run)}"
        emit([f"applied: {steps}{before}{left}; {back}"])
