"""A plan that was made."""

from __future__ import annotations

import argparse

from segmend.cli.options import add_output_options
from segmend.cli.plans import tell_plan
from segmend.surgery.plan import Plan

EXAMPLES = """\
examples:
  segmend plan show plan.json"""


def configure(parser: argparse.ArgumentParser, _name: str) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("plan", metavar="PLAN", help="the file")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    return tell_plan(args, Plan.load(args.plan), args.plan)
