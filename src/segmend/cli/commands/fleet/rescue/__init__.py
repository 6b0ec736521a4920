"""`segmend fleet rescue`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_fleet_options
from segmend.cli.options import add_output_options
from segmend.cli.rescue_options import add_rescue_options

HELP = "merge damaged replicas of many brokers, a task a partition"
NEEDS = ("pyarrow",)
EXAMPLES = """\
examples:
  segmend fleet rescue '/disks/*' --out /big/orders --as parquet --topic 'orders*'
  segmend fleet rescue '/disks/*' --out /big/clean --driver local       without Java

The same as `segmend rescue`, which see, of all log dirs below the paths, a task a partition. OUT must be one
directory for all tasks.

exit codes: 0 all is there, 4 something is missing, diverged or in doubt, 8 operational error, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_rescue_options(parser)
    add_output_options(parser)
    add_fleet_options(parser)
