"""`segmend fleet forecast`: what becomes of whole clusters, a task a node."""

from __future__ import annotations

import argparse
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from segmend.cli.cluster import add_only_option, chosen_nodes, tell_cluster
from segmend.cli.options import add_output_options, add_release_option
from segmend.cli.output import emit
from segmend.errors import ExitCode
from segmend.loading import Options

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from segmend.fleet.driver import Driver

EXAMPLES = """\
examples:
  segmend fleet forecast '/brokers/*'                      each node's start, the quorum, who leads what
  segmend fleet forecast '/brokers/*' --only 1,2           if of the nodes only these come up
  segmend fleet forecast '/brokers/*' --driver local       without Java

exit codes: 0 all come up and nothing is lost, 4 otherwise, 8 something could not be read, 16 usage"""


def configure_forecast(parser: argparse.ArgumentParser) -> None:
    """Its options, but for those of every fleet command."""
    add_only_option(parser)
    parser.add_argument("--deep", action="store_true", help="read every batch: what consumers will meet")
    parser.add_argument("--all", action="store_true", help="tell of every partition, not only of losses")
    add_release_option(parser)
    add_output_options(parser)


def run_forecast(
    args: argparse.Namespace,
    fleet: ModuleType,
    driver: Callable[[argparse.Namespace], AbstractContextManager[Driver]],
) -> ExitCode:
    """Forecast each cluster below the paths in turn; `fleet` is `segmend.fleet.forecast`, an extra's."""
    found, good = fleet.clusters(args.paths), True
    options = Options(deep=args.deep, now_ms=time.time_ns() // 1_000_000)
    chosen = chosen_nodes(args.only, {node for places in found.values() for node in places})
    with driver(args) as running:
        for cluster, places in found.items():
            if len(found) > 1 and not args.json:
                emit([f"cluster {cluster or 'without an id'}"])
            lines = fleet.forecast_fleet(places, running, options, release=args.kafka, only=chosen)
            good = tell_cluster(lines, args) and good
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS
