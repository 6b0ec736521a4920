"""Logs whose indexes are to be made are read before anybody else looks at them.

Checks, recipes and forecasts then find the scan (`logdir.scans`), and each byte of such a
log is read once, with its checksum, by as many threads as there are processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from segmend.errors import SegmendError
from segmend.kernel.types import IndexRule
from segmend.logdir.tree import LogSegment
from segmend.surgery.derive.segment_indexes import rule_of
from segmend.surgery.derive.sources import scanned
from segmend.surgery.ops.repair.checking import THREADS
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.request import Request
from segmend.threads import done_by

MOST: Final = 256
"""Scans of more logs might be forgotten before they are asked for."""


def read_ahead(request: Request[Options]) -> None:
    """Scan logs that lack an index; what cannot be read is left to those who report it."""
    done_by(THREADS, _scan, islice(_without_index(request), MOST))


def _scan(wanted: tuple[LogSegment, IndexRule]) -> None:
    segment, rule = wanted
    try:
        scanned(segment, rule)
    except SegmendError:
        return


def _without_index(request: Request[Options]) -> Iterator[tuple[LogSegment, IndexRule]]:
    scene = Scene(request, ())
    for partition in (partition for log_dir in request.dirs for partition in log_dir.partitions):
        layout = partition.layout
        bases = sorted(layout.logs.keys() - layout.index.keys())
        if bases and (not request.names or partition.name in request.names):
            try:
                rule = rule_of(request.release, scene.interval(partition))
            except SegmendError:
                continue
            yield from ((LogSegment(partition, base), rule) for base in bases)
