"""`segmend fleet diff-runs`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_out
from segmend.cli.options import add_output_options

HELP = "what changed between two audits"
NEEDS = ("pyarrow", "deltalake")
EXAMPLES = """\
examples:
  segmend fleet diff-runs report                  what the newest audit finds that the one before did not
  segmend fleet diff-runs report 20261121         since that run (the beginning of its id is enough)
  segmend fleet diff-runs report 20261115 20261121 --json

A finding counts as gone only where the later run could list the log dir and looked as deep.

exit codes: 0 no new error or warning, 4 there are, 8 OUT has no run, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    """OUT, and up to two runs."""
    add_out(parser)
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="the beginning of a run's id (default: the last two)"
    )
    add_output_options(parser)
