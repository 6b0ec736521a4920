"""`segmend fleet runs`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_out
from segmend.cli.options import add_output_options

HELP = "the audits that lie in OUT"
NEEDS = ("pyarrow", "deltalake")
EXAMPLES = """\
examples:
  segmend fleet runs report             the audits in OUT, the oldest first
  segmend fleet runs report --json

exit codes: 0 told, 8 OUT has no run"""


def configure(parser: argparse.ArgumentParser) -> None:
    """OUT alone."""
    add_out(parser)
    add_output_options(parser)
