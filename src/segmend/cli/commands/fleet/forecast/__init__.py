"""`segmend fleet forecast`."""

from __future__ import annotations

import argparse

from segmend.cli.fleet import add_fleet_options
from segmend.cli.options import add_only_option, add_output_options, add_release_option, add_zookeeper_option

HELP = "the start of every node, the metadata quorum, who can lead what"
NEEDS = ("pyarrow",)
EXAMPLES = """\
examples:
  segmend fleet forecast '/brokers/*'                      each node's start, the quorum, who leads what
  segmend fleet forecast '/brokers/*' --only 1,2           if of the nodes only these come up
  segmend fleet forecast '/brokers/*' --zookeeper /zookeeper/data    who is in sync, by its files
  segmend fleet forecast '/brokers/*' --driver local       without Java

exit codes: 0 all come up, nothing is lost, all that matters here could be read; 4 otherwise (`unknown` in
--json names what could not be read); 8 none of the dirs is there, or the forecast stopped, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_only_option(parser)
    add_zookeeper_option(parser)
    parser.add_argument("--deep", action="store_true", help="read every batch: what consumers will meet")
    parser.add_argument("--all", action="store_true", help="tell of every partition, not only of losses")
    add_release_option(parser)
    add_output_options(parser)
    add_fleet_options(parser)
