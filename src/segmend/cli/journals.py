"""The journal that a command is given, by its name, by a log dir, or as the only one that there is."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from segmend.cli.output import emit_asked
from segmend.cli.surgery import steps_beside
from segmend.report import text
from segmend.surgery.execute.journal_events import Status
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.runs import SeveralJournals, find


def add_journal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "journal",
        nargs="?",
        metavar="JOURNAL",
        help="its name, number or path, or its log dir, if it is the only one",
    )


def chosen(
    args: argparse.Namespace, command: Callable[[PlanRun], str],
    load: Callable[[str], PlanRun] = PlanRun.load,
) -> PlanRun:  # fmt: skip
    """The one that is meant; else tells the `command` of each, and raises `UsageError`."""
    try:
        with steps_beside(args):
            return find(args.state_dir, args.journal, load)
    except SeveralJournals as several:
        objects = ({**journal_object(run), "command": command(run)} for run in several.choice)
        emit_asked(args, objects, (f"{command(run)}  # {_what(run)}" for run in several.choice))
        raise


def _what(run: PlanRun) -> str:
    dirs = ", ".join(each.given for each in run.plan.dirs)
    return text.clean(f"{run.plan.operation} in {dirs}: {run.state}, begun {when_begun(run)}")


def journal_object(run: PlanRun) -> dict[str, object]:
    at = None if run.begun is None else run.begun.get("at")
    return {
        "type": "journal", "journal": run.name, "path": run.path, "operation": run.plan.operation,
        "state": run.state, "steps": len(run.plan.steps), "steps_applied": steps_applied(run), "begun": at,
        "dirs": [each.given for each in run.plan.dirs], "vaults": run.vaults, "plan": run.plan.sha256,
    }  # fmt: skip


def steps_applied(run: PlanRun) -> int:
    return sum(status is Status.AFTER for status in run.statuses())


def when_begun(run: PlanRun) -> str:
    return text.when(-1 if run.begun is None else int(run.begun.get("at", -0.001) * 1000))
