"""`segmend undo`: take back what was applied, to the last byte, name, owner, mode and time."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from segmend.cli.journals import add_journal, chosen
from segmend.cli.options import add_output_options
from segmend.cli.output import emit, emit_json, style
from segmend.cli.plans import left_by
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
from segmend.report import text
from segmend.report.plan import plan_lines, step_lines
from segmend.surgery.execute.journal_events import FORWARD
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.run import Outcome
from segmend.surgery.execute.undo import direction_of, not_told, rehearse, undo
from segmend.wording import plural

EXAMPLES = """\
Refused if a file is not as the plan left it, or a broker was stopped cleanly since: then `segmend plan
reverse` makes a plan of what can still go back. Undoing what was undone applies it again.

examples:
  segmend undo                          the only journal; of several it names each, and does nothing
  segmend undo --dry-run                would it be refused
  segmend undo 0003-trim-5d1f0c2a       this one (see `segmend journal list`)
  segmend undo /data/kafka-a            the only one of this log dir

exit codes: 0 taken back (or --dry-run), 1 applied again (5: and it leaves what `apply` says), 8 refused or
failed (the files are safe), 16 usage, 32 stopped by Ctrl-C, 64 a broker runs"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_journal(parser)
    add_surgery_options(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    earlier = chosen(args, undo_command)
    again, unknown = direction_of(earlier) == FORWARD, not_told(earlier)
    if not args.json:
        emit(_what(earlier, again=again))
        emit(plan_lines(earlier.plan, style(args)) if again else step_lines(earlier.plan))
        emit([f"note: {text.clean(unknown)}"] if unknown else [])
    if args.dry_run:
        return tell_rehearsal(args, earlier.plan, lambda tell: rehearse(earlier, tell))
    confirm(args, "apply it again?" if again else "take it back?")
    carried_out(
        args,
        lambda watch: undo(earlier, watch=watch),
        lambda outcome: _tell(args, outcome, again=again, unknown=unknown),
    )
    return ExitCode.CHANGED + left_by(earlier.plan) if again else 0


def _tell(args: argparse.Namespace, outcome: Outcome, *, again: bool, unknown: str | None) -> None:
    if args.json:
        emit_json([outcome_object(outcome, unknown)])
        return
    run, words = outcome.run, "applied again" if again else "taken back"
    steps = plural(outcome.steps, "step")
    left = left_words(run.plan) if again else ""
    emit([f"{words}: {steps} of {run.name}{left}; the other way: {undo_command(run)}"])


def _what(earlier: PlanRun, *, again: bool) -> Iterator[str]:
    if again:
        yield f"{earlier.name} was taken back already; this applies it again:"
    else:
        dirs = ", ".join(text.clean(each.given) for each in earlier.plan.dirs)
        yield f"{earlier.name} ({earlier.state}) in {dirs}; this takes back, the last step first:"
