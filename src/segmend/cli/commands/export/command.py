"""`segmend export`: what is new in the logs, added to a table or sent to a live cluster."""

from __future__ import annotations

import argparse
import sys

from segmend.cli.options import add_output_options
from segmend.cli.replicas import targets_of
from segmend.cli.rescue import export_request, tell
from segmend.cli.rescue_options import DECODES, add_export_options, add_live_options
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.report.progress import Progress
from segmend.rescue import forms
from segmend.rescue.export import export
from segmend.rescue.run import Each, here

EXAMPLES = f"""\
DIR is a log dir of any broker that has replicas, or a partition directory that was saved.

examples:
  segmend export /disks/b1/data /disks/b2/data --out /lake/kafka
  segmend export /disks/*/data --out /lake/orders --topic 'orders*' --isolation read_committed
  segmend export /disks/*/data --out /var/lib/moved --as kafka --bootstrap new1:9092 --create-topics

The first run takes all, as `segmend rescue --as delta` does; each later one into the same OUT what is new
since then. How far OUT reaches is in the Delta commits that added the records, so a run that was killed is
given again, and each record is there once. OUT is partitioned by topic and date (of the record's timestamp,
UTC; null for a record that has none).

With read_committed a partition is taken up to its first transaction that is still open, as a consumer would;
otherwise records of it are taken with `aborted` null, and stay so. Offsets that no replica had sound in one
run are named by it, and not looked for again, but for those at the end of the log; `segmend rescue` into
a new OUT takes what other replicas have of them.

A topic that was made anew, and a log that is shorter than what OUT has, or that has another record or a
later leader epoch where OUT ends, are refused: it was truncated and written again. Of messages of magic 0 and
1, and in an OUT of an earlier release until something is added, no epoch tells, but the last record while it
is there. Files of a killed run that no commit has are written over, or removed, by the next one.

Of OUT each run looks whether the commits and checkpoints of _delta_log are as runs before left them, and
whether each file of the table is there and has its size; not what is in these files, which only a read of
the table shows. In an OUT of an earlier release nothing tells of commits that changed until the first run
that adds something (it leaves the note _delta_log.json).

--as kafka sends what is new to a live cluster, as `segmend rescue --as kafka` does (which see): to the same
topic and partition, in order, with key, value, headers and timestamp, as with read_committed. OUT is a small
directory that holds how far each partition is acknowledged; keep it. Who goes on after a kill looks at what
the partition got since then, and sends the rest: each record is there once, unless a request of the killed
one is still on its way during that look (wait a moment first). What a broker that died took twice, as it may
with records of more than a day ago, is found and told. If the partition there lost what it got since
then (by retention), that is a doubt; if it ends before, it was made anew, and is refused.

{DECODES}

exit codes: 0 all that any replica could have is there, 4 something is missing, diverged or in doubt
(it is said what), 8 something could not be read or written, or is another log than that of OUT (the other
partitions are added), 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="DIR", help="log dirs, or partition directories")
    add_export_options(parser, forms.GROWING)
    add_live_options(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Add what is new, and say by the exit code whether all is there."""
    request = export_request(args, args.paths)
    targets = targets_of(args.paths)
    progress = Progress(sys.stderr)

    def each(table: forms.Growing) -> Each:
        return here(progress.update, table)

    return tell(
        args,
        request,
        progress,
        lambda _: export(request, FleetDirs(targets.dirs, args.kafka), sorted(targets.places), each),
    )
