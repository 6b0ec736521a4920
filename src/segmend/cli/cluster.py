"""A forecast of a cluster told at the command line, for people or as JSON lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from segmend.cli.output import emit, emit_json, style
from segmend.cluster import ClusterOutcome, Leadership, Line, NodeOutcome, Quorum
from segmend.errors import UsageError
from segmend.report.cluster import cluster_lines, leadership_lines, node_lines, quorum_lines


def chosen_nodes(given: str | None, have: Iterable[int]) -> frozenset[int] | None:
    """The node ids of `--only`; raises `UsageError` for what is no list of nodes that are there."""
    if given is None:
        return None
    try:
        wanted = frozenset(int(part) for part in given.split(","))
    except ValueError:
        raise UsageError(f"--only: {given!r} is no list of node ids such as 1,2") from None
    strange = sorted(wanted.difference(have))
    if strange:
        told = ", ".join(map(str, sorted(have))) or "none"
        raise UsageError(f"--only: no dir of node {strange[0]} was given; these are of {told}")
    return wanted


def tell_cluster(lines: Iterable[Line], args: argparse.Namespace) -> bool:
    """Tell them; whether nothing is lost or refused."""
    return _tell_json(lines) if args.json else _tell(lines, args)


def _tell_json(lines: Iterable[Line]) -> bool:
    good = False
    for line in lines:
        emit_json([line.to_json()])
        good = isinstance(line, ClusterOutcome) and line.is_well
    return good


def _tell(lines: Iterable[Line], args: argparse.Namespace) -> bool:
    told, look = list(lines), style(args)
    partitions = [line for line in told if isinstance(line, Leadership)]
    nodes = [line for line in told if isinstance(line, NodeOutcome)]
    dirs = {node.node_id: node.dirs for node in nodes}
    emit(leadership_lines(partitions, look, dirs=dirs, every=args.all))
    emit(node_lines(nodes, look))
    emit(each for line in told if isinstance(line, Quorum) for each in quorum_lines(line, look, dirs=dirs))
    last = told[-1]
    assert isinstance(last, ClusterOutcome), "a forecast of a cluster ends with its outcome"
    emit(cluster_lines(last, look))
    return last.is_well
