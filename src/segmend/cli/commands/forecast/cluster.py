"""`segmend forecast --cluster`: the dirs of several brokers, and what becomes of the cluster."""

from __future__ import annotations

import argparse
import time

from segmend.cli.output import emit, emit_json, style
from segmend.cli.targets import open_log_dirs
from segmend.cluster import (
    ClusterForecast,
    ClusterOutcome,
    Leadership,
    NodeOutcome,
    Quorum,
    forecast_cluster,
    members,
)
from segmend.errors import ExitCode, UsageError
from segmend.loading import Options
from segmend.report.cluster import cluster_lines, leadership_lines, node_lines, quorum_lines


def run_cluster(args: argparse.Namespace) -> ExitCode:
    """Play the starts of all nodes, or of those of `--only`."""
    found = members(open_log_dirs(args.paths), args.kafka)
    only = None if args.only is None else _nodes(args.only)
    strange = sorted(set(only or ()) - found.brokers.keys())
    if strange:
        have = ", ".join(map(str, found.brokers)) or "none"
        raise UsageError(f"--only: no dir of node {strange[0]} was given; these are of {have}")
    clean = True if args.clean else False if args.unclean else None
    options = Options(clean=clean, deep=args.deep, now_ms=time.time_ns() // 1_000_000)
    lines = forecast_cluster(found, options, only)
    good = _tell_json(lines) if args.json else _tell(lines, args)
    return ExitCode.NOTHING_WRONG if good else ExitCode.FINDINGS


def _nodes(given: str) -> list[int]:
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise UsageError(f"--only: {given!r} is no list of node ids such as 1,2") from None


def _tell_json(lines: ClusterForecast) -> bool:
    good = False
    for line in lines:
        emit_json([line.to_json()])
        good = isinstance(line, ClusterOutcome) and line.nothing_lost
    return good


def _tell(lines: ClusterForecast, args: argparse.Namespace) -> bool:
    told, look = list(lines), style(args)
    partitions = [line for line in told if isinstance(line, Leadership)]
    emit(leadership_lines(partitions, look, every=args.all))
    emit(node_lines((line for line in told if isinstance(line, NodeOutcome)), look))
    emit(each for line in told if isinstance(line, Quorum) for each in quorum_lines(line, look))
    last = told[-1]
    assert isinstance(last, ClusterOutcome)
    emit(cluster_lines(last, look))
    return last.nothing_lost
