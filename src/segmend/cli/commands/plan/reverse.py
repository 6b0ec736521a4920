"""The plan of the way back from today's files."""

from __future__ import annotations

import argparse

from segmend.cli.journals import add_journal, chosen
from segmend.cli.options import add_output_options
from segmend.cli.output import program
from segmend.cli.plans import add_output, add_state_option, made, refuse_output
from segmend.report import text
from segmend.report.progress import telling
from segmend.surgery.execute.plan_run import PlanRun
from segmend.surgery.execute.reverse import reverse

EXAMPLES = """\
What still lies as the plan left it goes back, a partition that was moved or renamed with all that came since.
Where a way back would cost what came since, the partition stays as it is; the plan says so.

examples:
  segmend plan reverse -o back.json             of the only journal
  segmend plan reverse 0003-move-5d1f0c2a -o back.json"""


def configure(parser: argparse.ArgumentParser, _name: str) -> None:
    parser.epilog = EXAMPLES
    add_journal(parser)
    add_output(parser)
    add_state_option(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Find the journal, make the plan."""
    refuse_output(args.output)
    output = f" -o {text.word(args.output)}" if args.output else ""
    earlier = chosen(
        args, lambda run: f"{program()} plan reverse {run.called}{output}", PlanRun.load_by_files
    )
    with telling() as tell:
        plan = reverse(earlier, tell)
    args.state_dir = earlier.state_dir  # It may be named by its path alone.
    return made(args, plan)
