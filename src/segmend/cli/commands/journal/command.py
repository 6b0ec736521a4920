"""`segmend journal`: what was applied here, and what became of it."""

from __future__ import annotations

import argparse

from segmend.cli.options import add_output_options
from segmend.cli.output import emit_asked, note, style
from segmend.cli.plans import add_state_option
from segmend.report import text
from segmend.report.table import columns, table
from segmend.surgery.execute.journal import PlanRun, runs
from segmend.surgery.execute.journal_events import Status

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
    every = runs(args.state_dir, lambda problem: note(str(problem)))
    begun = [run for run in every if run.events]  # what was refused before it began did nothing
    lines = table(_COLUMNS, map(_row, begun), style(args)) if begun else [f"{args.state_dir}: no journal"]
    emit_asked(args, map(_object, begun), lines)
    return 0


def _object(run: PlanRun) -> dict[str, object]:
    begun = run.begun or {}
    return {
        "type": "journal", "journal": run.name, "path": run.path, "operation": run.plan.operation,
        "state": run.state, "steps": len(run.plan.steps), "steps_applied": _applied(run),
        "begun": begun.get("at"), "dirs": [each.given for each in run.plan.dirs],
        "vaults": run.vaults, "plan": run.plan.sha256,
    }  # fmt: skip


def _row(run: PlanRun) -> list[str]:
    begun = run.begun or {}
    cells = [
        run.name, run.state, f"{_applied(run)} of {len(run.plan.steps)}",
        text.when(int(begun.get("at", -0.001) * 1000)), ", ".join(each.given for each in run.plan.dirs),
        run.vaults,
    ]  # fmt: skip
    return [text.clean(cell) for cell in cells]


def _applied(run: PlanRun) -> int:
    return sum(status is Status.AFTER for status in run.statuses())
