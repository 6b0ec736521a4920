"""`segmend journal`: what was applied here, and what became of it."""

from __future__ import annotations

import argparse

from segmend.cli.journals import journal_object, steps_applied, when_begun
from segmend.cli.options import add_output_options
from segmend.cli.output import emit_asked, note, style
from segmend.cli.plans import add_state_option
from segmend.cli.surgery import tell_steps
from segmend.errors import SegmendError
from segmend.report import text
from segmend.report.table import columns, table
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.runs import runs
from segmend.surgery.execute.steps_told import RunRefused

EXAMPLES = """\
examples:
  segmend journal list"""

_COLUMNS = columns("journal", "state", ">steps", "begun", "log dirs", "old bytes", bold=("journal",))


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listed = commands.add_parser("list", help="every journal, the oldest first")
    add_state_option(listed)
    add_output_options(listed)
    listed.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    every = runs(args.state_dir, lambda problem: _tell(args, problem))
    begun = [run for run in every if run.events]  # what was refused before it began did nothing
    lines = table(_COLUMNS, map(_row, begun), style(args)) if begun else [f"{args.state_dir}: no journal"]
    emit_asked(args, map(journal_object, begun), lines)
    return 0


def _tell(args: argparse.Namespace, problem: SegmendError) -> None:
    note(str(problem))
    if isinstance(problem, RunRefused):
        tell_steps(args, problem)


def _row(run: PlanRun) -> list[str]:
    cells = [
        run.name, run.state, f"{steps_applied(run)} of {len(run.plan.steps)}",
        when_begun(run), ", ".join(each.given for each in run.plan.dirs),
        run.vaults,
    ]  # fmt: skip
    return [text.clean(cell) for cell in cells]
