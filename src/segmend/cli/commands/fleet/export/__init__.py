"""`segmend fleet export`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_fleet_options
from segmend.cli.options import add_output_options
from segmend.cli.rescue_options import add_export_options

HELP = "add the records that are new to a Delta table, a task a partition, one commit"
NEEDS = ("pyarrow", "deltalake")
EXAMPLES = """\
examples:
  segmend fleet export '/disks/*' --out /lake/kafka
  segmend fleet export '/disks/*' --out /lake/orders --topic 'orders*' --master spark://host:7077

The same as `segmend export`, which see, of all log dirs below the paths, a task a partition: each run adds
what is new in one Delta commit, with how far it reaches. A run that was killed has added nothing; give it
again. Either command goes on where the other ended. OUT must be one directory for all tasks.

exit codes: 0 all is there, 4 something is missing, diverged or in doubt, 8 operational error, or another log
than that of OUT, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_export_options(parser)
    add_output_options(parser)
    add_fleet_options(parser)
