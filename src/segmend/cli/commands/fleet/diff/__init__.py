"""`segmend fleet diff`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_fleet_options
from segmend.cli.options import add_diff_options, add_output_options

HELP = "compare the replicas of partitions: who has what, who left, what nobody has"
NEEDS = ("pyarrow",)
EXAMPLES = """\
examples:
  segmend fleet diff '/brokers/*'                          every partition of a cluster, on Spark
  segmend fleet diff '/brokers/*' --topic 'orders*' --json
  segmend fleet diff '/brokers/*' --driver local           without Java

The lines are those of `segmend diff`, which says what they mean.

exit codes: 0 all equal, 4 differences, something that is not known, or a -stray directory that was not looked
at and may have more, 8 something could not be read or compared, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_diff_options(parser)
    add_output_options(parser)
    add_fleet_options(parser)
