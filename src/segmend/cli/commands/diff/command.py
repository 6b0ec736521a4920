"""`segmend diff`: the replicas of partitions side by side."""

from __future__ import annotations

import argparse
import os
from functools import partial

from segmend.cli.differences import tell
from segmend.cli.options import add_diff_options, add_output_options, count
from segmend.cli.replicas import replicas_in, targets_of
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.merge.compared import compared

EXAMPLES = """\
examples:
  segmend diff /mnt/b1/data /mnt/b2/data /mnt/b3/data       log dirs of several brokers, every partition
  segmend diff /mnt/b*/data* --topic 'orders*'              these topics only
  segmend diff /mnt/b1/data/orders-3 /mnt/b2/data/orders-3  replicas of one partition
  segmend diff /mnt/b*/data --json | jq 'select(.type == "partition" and .verdict != "equal")'

a replica is:
  best      the one that has most of the newest leader's branch; taken where several have the same
  equal     has the same
  behind    lacks records that others have; a follower fetches them
  ahead     has records that the best one lacks
  diverged  has records of another branch, or other bytes in the same epoch
  damaged   has batches that are not sound, or that could not be read

Compaction and retention, which each broker does at its own time, are no differences: below what was
compacted, checksums are looked at, and bytes are not compared. The metadata log of KRaft, of which each
node has its own end, is compared with --topic __cluster_metadata only. `segmend explain merge` is the rule.

Brokers that by the metadata log are to have replicas, and of which no dir is given, are named (`not_here`).
That the dirs of brokers that were killed are no copies of some seconds before, nothing on them tells: it is
taken for granted, and the end of the report says so (`assumed`).

exit codes: 0 all equal, 4 differences, something that is not known, or a -stray directory that was not looked
at and may have more, 8 something could not be read or compared, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="DIR", help="log dirs of several brokers, or directories of one partition"
    )
    add_diff_options(parser)
    parser.add_argument("--jobs", metavar="N", type=count, default=0, help="threads (default: all cores)")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, tell, and say by the exit code whether all are equal."""
    targets = targets_of(args.paths)
    fleet = FleetDirs(targets.dirs)
    groups = replicas_in(args, fleet, targets.places)
    every = partial(compared, groups, jobs=args.jobs if args.jobs > 0 else len(os.sched_getaffinity(0)))
    whole = not targets.names
    return tell(args, fleet, lambda compacts: every(compacts=compacts), len(groups), whole=whole)
