"""`segmend forecast --cluster`: the dirs of several brokers, and what becomes of the cluster."""

from __future__ import annotations

import argparse
import time

from segmend.cli.cluster import chosen_nodes, tell_cluster
from segmend.cli.targets import open_log_dirs
from segmend.cluster import ClusterForecast, Nodes, members
from segmend.errors import ExitCode
from segmend.loading import Options


def run_cluster(args: argparse.Namespace) -> ExitCode:
    """Play the starts of all nodes, or of those of `--only`."""
    found = members(open_log_dirs(args.paths), args.kafka)
    only = chosen_nodes(args.only, found.brokers)
    clean = True if args.clean else False if args.unclean else None
    options = Options(clean=clean, deep=args.deep, now_ms=time.time_ns() // 1_000_000)
    good = tell_cluster(ClusterForecast(Nodes(found.brokers, options), only, found.unplaced), args)
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS
