"""Several plans in one."""

from __future__ import annotations

import argparse

from segmend.cli.options import add_output_options
from segmend.cli.plans import add_output, made, refuse_output
from segmend.report.progress import telling
from segmend.surgery.plan import Plan
from segmend.surgery.planning.compose import composed

EXAMPLES = """\
examples:
  segmend plan compose repair.json trim.json -o plan.json"""


def configure(parser: argparse.ArgumentParser, _name: str) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("plans", nargs="+", metavar="PLAN", help="the files")
    add_output(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Put them together."""
    refuse_output(args.output)
    plans = [Plan.load(path) for path in args.plans]
    with telling() as tell:
        plan = composed(plans, tell)
    return made(args, plan)
