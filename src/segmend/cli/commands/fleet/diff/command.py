"""`segmend fleet diff`: `segmend diff` of whole clusters, in tasks."""

from __future__ import annotations

import argparse
from functools import partial

from segmend.cli.differences import tell
from segmend.cli.replicas import replicas_in
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.fleet.compare import compare_fleet
from segmend.fleet.listing import find_places

from ..driving import driver_of, paths_for_tasks
from ..unread import note_unread


def run(args: argparse.Namespace) -> int:
    places = find_places(paths_for_tasks(args))
    fleet = FleetDirs(filter(None, (place.opened() for place in places)))
    code = note_unread(places, "its replicas are not compared")
    groups = replicas_in(args, fleet)
    with driver_of(args) as running:
        running.ready(places)
        return code | tell(args, fleet, partial(compare_fleet, groups, running), len(groups))
