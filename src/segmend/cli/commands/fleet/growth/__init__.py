"""`segmend fleet growth`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_out
from segmend.cli.options import add_output_options

HELP = "what grew, and when disks are full"
NEEDS = ("pyarrow", "deltalake")
EXAMPLES = """\
examples:
  segmend fleet growth report                      the newest audit against the oldest of the last 30 days
  segmend fleet growth report --since 20261115     against that run (the beginning of its id)
  segmend fleet growth report --json

The rate of a disk is what its free space lost, whoever took it; of a topic, all its replicas together.

exit codes: 0 told, 8 OUT has no run, 16 usage (there is no earlier run)"""


def configure(parser: argparse.ArgumentParser) -> None:
    """OUT, and the run to compare with."""
    add_out(parser)
    parser.add_argument("--since", metavar="RUN", help="the beginning of an earlier run's id")
    add_output_options(parser)
