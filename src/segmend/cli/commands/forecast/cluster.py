"""`segmend forecast --cluster`: the dirs of several brokers, and what becomes of the cluster."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from segmend.cli.cluster import chosen_nodes, tell_cluster
from segmend.cli.targets import open_or_note
from segmend.cli.topic_config import told_settings
from segmend.cluster import ClusterForecast, Nodes, members, with_zookeeper
from segmend.errors import ExitCode, UsageError
from segmend.loading import Options
from segmend.logdir.config import ServerConfig


def run_cluster(args: argparse.Namespace) -> ExitCode:
    """Play the starts of all nodes, or of those of `--only`."""
    cluster = members(open_or_note(args.paths), args.kafka, _configs(args.config))
    brokers, zookeeper = with_zookeeper(cluster.brokers, args.zookeeper)
    only = chosen_nodes(args.only, brokers)
    clean = True if args.clean else False if args.unclean else None
    topics = told_settings(args.topic_config)
    options = Options(clean=clean, deep=args.deep, now_ms=time.time_ns() // 1_000_000, topics=topics)
    nodes = Nodes(brokers, options, args.as_user)
    good = tell_cluster(ClusterForecast(nodes, only, cluster.unplaced, zookeeper), args)
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS


def _configs(given: Sequence[str]) -> dict[int, ServerConfig]:
    """The server.properties by node: that of NODE=FILE, or the node that the file names."""
    by_node: dict[int, ServerConfig] = {}
    for each in given:
        node, told, path = each.partition("=")
        named = bool(told) and node.isdecimal()
        config = ServerConfig.load(path if named else each)
        node_id = int(node) if named else config.node_id
        if node_id is None:
            raise UsageError(f"--config {each}: it names no node.id; give NODE=FILE")
        if node_id in by_node:
            raise UsageError(f"--config: two files for node {node_id}")
        by_node[node_id] = config
    return by_node
