"""`segmend apply`: carry out a plan, under the broker's lock, journalled."""

from __future__ import annotations

import argparse

from segmend.cli.options import add_output_options
from segmend.cli.output import emit, emit_json, style
from segmend.cli.plans import left_by, place
from segmend.cli.surgery import (
    add_surgery_options,
    carried_out,
    confirm,
    left_words,
    outcome_object,
    tell_rehearsal,
    undo_command,
)
from segmend.errors import ExitCode
from segmend.report.plan import plan_lines
from segmend.surgery.execute.apply import apply, rehearse
from segmend.surgery.execute.run import Outcome
from segmend.surgery.plan import Plan
from segmend.wording import plural

EXAMPLES = """\
The broker must be stopped; its .lock is held meanwhile. Old bytes go to the state directory first, so
that `segmend undo` brings back every one of them, also after a power cut in the middle.

examples:
  segmend apply plan.json
  segmend apply plan.json --dry-run                    is everything as the plan expects, and is there room
  segmend apply plan.json --yes --json
  segmend apply plan.json --backup-dir /mnt/spare/segmend

exit codes: 0 nothing to do (or --dry-run, and nothing refuses it), 1 applied, 4 nothing to do, but the
plan names findings that it leaves (5: applied, and it leaves some), 8 refused or failed (the files are
safe), 16 usage, 32 stopped by Ctrl-C, 64 a broker runs"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="the file that `segmend plan ... -o PLAN` wrote")
    add_surgery_options(parser)
    parser.add_argument(
        "--backup-dir", metavar="DIR", type=place, help="put the old bytes here, on another disk"
    )
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    plan = Plan.load(args.plan)
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


def _tell(args: argparse.Namespace, outcome: Outcome) -> None:
    if args.json:
        emit_json([outcome_object(outcome)])
    else:
        steps = plural(outcome.steps, "step")
        left = left_words(outcome.run.plan)
        before = "" if outcome.steps else ", all of them were done before"
        emit([f"applied: {steps}{before}{left}; to go back: {undo_command(outcome.run)}"])
