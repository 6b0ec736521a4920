"""`segmend forecast --cluster`: the dirs of several brokers, and what becomes of the cluster."""

from __future__ import annotations

import argparse
import time

from segmend.cli.cluster import chosen_nodes, tell_cluster
from segmend.cli.targets import open_or_note
from segmend.cli.topic_config import told_settings
from segmend.cluster import ClusterForecast, Nodes, members
from segmend.errors import ExitCode, UsageError
from segmend.loading import Options


def run_cluster(args: argparse.Namespace) -> ExitCode:
    """Play the starts of all nodes, or of those of `--only`."""
    if args.config is not None:
        raise UsageError("--config is one node's server.properties; it does not go with --cluster")
    found = members(open_or_note(args.paths), args.kafka)
    only = chosen_nodes(args.only, found.brokers)
    clean = True if args.clean else False if args.unclean else None
    topics = told_settings(args.topic_config)
    options = Options(clean=clean, deep=args.deep, now_ms=time.time_ns() // 1_000_000, topics=topics)
    nodes = Nodes(found.brokers, options, args.as_user)
    good = tell_cluster(ClusterForecast(nodes, only, found.unplaced), args)
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS
