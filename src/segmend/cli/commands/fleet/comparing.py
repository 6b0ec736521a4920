"""`segmend fleet diff`: `segmend diff` of whole clusters, in tasks."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from segmend.cli.differences import add_diff_options, tell
from segmend.cli.options import add_output_options
from segmend.cli.output import note
from segmend.cli.replicas import replicas_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from segmend.fleet.driver import Driver

EXAMPLES = """\
examples:
  segmend fleet diff '/brokers/*'                          every partition of a cluster, on Spark
  segmend fleet diff '/brokers/*' --topic 'orders*' --json
  segmend fleet diff '/brokers/*' --driver local           without Java

The lines are those of `segmend diff`, which says what they mean.

exit codes: 0 all equal, 4 differences, or something that is not known, 8 something could not be read
or compared, 16 usage"""


def configure_compare(parser: argparse.ArgumentParser) -> None:
    """Its options, but for those of every fleet command."""
    add_diff_options(parser)
    add_output_options(parser)


def run_compare(
    args: argparse.Namespace,
    listing: ModuleType,
    fleet: ModuleType,
    driver: Callable[[argparse.Namespace], AbstractContextManager[Driver]],
) -> int:
    """Compare and tell; the modules are `segmend.fleet.listing` and `.compare`, an extra's."""
    places = listing.find_places(args.paths)
    dirs = [found for place in places if (found := place.opened()) is not None]
    code = 0
    for place in places:
        if place.unreadable:
            note(f"{place.path}: {place.unreadable}; its replicas are not compared")
            code |= 8
    groups = replicas_in(args, dirs)
    with driver(args) as running:
        running.ready(places)
        return code | tell(args, dirs, fleet.compare_fleet(groups, running))
