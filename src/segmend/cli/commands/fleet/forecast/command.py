"""`segmend fleet forecast`: what becomes of whole clusters, a task a node."""

from __future__ import annotations

import argparse
import time

from segmend.cli.cluster import chosen_nodes, tell_cluster
from segmend.cli.output import emit
from segmend.errors import ExitCode
from segmend.fleet.forecast import forecast_fleet
from segmend.fleet.listing import absolute, clusters, find_places
from segmend.loading import ForecastOptions

from ..driving import driver_of, paths_for_tasks


def run(args: argparse.Namespace) -> ExitCode:
    """Forecast each cluster below the paths in turn."""
    by_cluster, good = clusters(find_places(paths_for_tasks(args))), True
    options = ForecastOptions(deep=args.deep, now_ms=time.time_ns() // 1_000_000)
    chosen = chosen_nodes(args.only, {node for places in by_cluster.values() for node in places})
    zookeeper = absolute(args.zookeeper)
    with driver_of(args) as running:
        for cluster, places in by_cluster.items():
            if len(by_cluster) > 1 and not args.json:
                emit([f"cluster {cluster or 'without an id'}"])
            lines = forecast_fleet(
                places, running, options, release=args.kafka, only=chosen, zookeeper=zookeeper
            )
            good = tell_cluster(lines, args) and good
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS
