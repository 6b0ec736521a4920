"""The plan of the way back from today's files."""

from __future__ import annotations

import argparse

from segmend.cli.options import add_output_options
from segmend.cli.plans import add_output, add_state_option, made, refuse_output
from segmend.report.progress import telling
from segmend.surgery.execute.journal import find
from segmend.surgery.execute.reverse import reverse

EXAMPLES = """\
What still lies as the plan left it goes back, a partition that was moved or renamed with all that came since.
Where a way back would cost what came since, the partition stays as it is; the plan says so.

examples:
  segmend plan reverse -o back.json             of the latest journal
  segmend plan reverse 0003-move-5d1f0c2a -o back.json"""


def configure(parser: argparse.ArgumentParser, _name: str) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("journal", nargs="?", metavar="JOURNAL", help="its name, number or path; the latest")
    add_output(parser)
    add_state_option(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Find the journal, make the plan."""
    refuse_output(args.output)
    earlier = find(args.state_dir, args.journal)
    with telling() as tell:
        plan = reverse(earlier, tell)
    return made(args, plan)
