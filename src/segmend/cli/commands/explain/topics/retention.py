"""Why a segment is deleted, or stays.

A broker looks 30 seconds after its start and then every log.retention.check.interval.ms (5
minutes), at whole segments, from the oldest on, and stops at the first that may stay
(`UnifiedLog.deleteOldSegments`). What it deletes is renamed .deleted, and gone after
file.delete.delay.ms (1 minute). Records inside a segment are never deleted one by one.

By time: retention.ms
    A segment goes when its largest timestamp is older than retention.ms. That is the last entry
    of its .timeindex, never the records; without an entry there, the modification time of the
    .log. So a young segment in front holds all older ones behind it; a record with a timestamp in
    the future holds everything for so long; an index of zeros counts as 1970 and everything goes; a copy
    made without its times starts to count anew.

By size: retention.bytes
    For each partition, not for the topic. A segment goes if the others still have
    retention.bytes without it, so a partition is up to one segment larger than the limit.

By log start offset
    What DeleteRecords gave up goes too, once whole segments are below it; since 2.1 also where the
    policy has no delete.

In which order
    Since 3.0 by log start offset, then size, then time. Up to 2.8 time, size, log start offset: what
    a later rule uncovers goes one look later.

What never goes
    A segment whose end the high watermark has not reached (a replica behind, an ISR too small). The
    active segment while it is empty; when all others are due, it is rolled and goes as well.
    With cleanup.policy=compact time and size do not count: see `segmend explain compaction`. Nor do
    they where it is empty.
    (Logs with compact are looked at by the cleaner, every log.cleaner.backoff.ms, 15 seconds.)
    With remote storage, what is not yet copied; local.retention.* then take the limits' place.

Where a setting comes from
    The topic's own, else the broker's dynamic one (both in __cluster_metadata, or in ZooKeeper),
    else server.properties (log.retention.ms before .minutes before .hours), else the default: 7 days.

For your directories, segment by segment: segmend explain retention DIR... [--topic T]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from segmend.cli.output import emit, emit_json, style
from segmend.cli.selection import asked, is_wanted
from segmend.explain.retention import reasons
from segmend.loading import Options
from segmend.report.retention import json_lines, lines

NAME = "retention"
SUMMARY = "why each segment is deleted or stays, until when, and which setting says so"
OPTIONS = ("topic", "partition", "all")


def configure(parser: argparse._ArgumentGroup) -> None:
    """The options."""
    parser.add_argument(
        "--all",
        action="store_true",
        default=None,
        help="every partition and every segment, not only what matters",
    )


def run(args: argparse.Namespace, paths: Sequence[str]) -> int:
    """Explain the retention of the partitions in these log dirs of one broker."""
    broker, options = asked(args, paths), Options(now_ms=time.time_ns() // 1_000_000)
    found = reasons(broker, options, lambda partition: is_wanted(args, partition))
    if args.json:
        emit_json(json_lines(found, options.now_ms))
        return 0
    chosen = args.all or args.partition is not None
    emit(lines(list(found), options.now_ms, style(args), every=bool(chosen)))
    return 0
