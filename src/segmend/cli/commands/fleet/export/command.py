"""`segmend fleet export`: `segmend export` of many brokers, in tasks."""

from __future__ import annotations

import argparse
import sys

from segmend.cli.rescue import export_request, tell
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.fleet.listing import find_places
from segmend.logdir.log_dir import LogDir
from segmend.report.progress import Progress
from segmend.rescue import forms
from segmend.rescue.export import export
from segmend.rescue.run import Each
from segmend.rescue.spread import spread

from ..driving import as_tasks_find_them, driver_of
from ..unread import note_unread


def run(args: argparse.Namespace) -> int:
    """Add what is new."""
    as_tasks_find_them(args)
    places = find_places(args.paths)
    code = note_unread(places, "what only it may have is not looked for")
    fleet = FleetDirs((LogDir.attempt(place.path, place.files) for place in places), args.kafka)
    request = export_request(args, args.paths)
    progress = Progress(sys.stderr)
    with driver_of(args) as driver:

        def each(table: forms.Growing) -> Each:
            return spread(driver, places, progress.update, table.elsewhere)

        return code | tell(args, request, progress, lambda _: export(request, fleet, (), each, bundle=None))
