"""`segmend rescue`: what many damaged replicas have together, written anew."""

from __future__ import annotations

import argparse
import sys

from segmend.cli.options import add_output_options
from segmend.cli.replicas import targets_of
from segmend.cli.rescue import request_of, tell
from segmend.cli.rescue_options import DECODES, add_rescue_options
from segmend.cluster.cluster_dirs import FleetDirs
from segmend.report.progress import Progress
from segmend.rescue.run import here, rescue

EXAMPLES = f"""\
DIR is a log dir of any broker that had replicas, or a partition directory that was saved.

examples:
  segmend rescue /disks/b1/data /disks/b2/data /disks/b3/data --out /big/clean --as log-dir
  segmend rescue /disks/*/data --out /big/orders --as parquet --topic 'orders*'
  segmend rescue /disks/*/data --out /big/orders --as jsonl --isolation read_committed
  segmend rescue saved/orders-0 --out o --as csv --offsets 1000..2000
  segmend rescue /disks/*/data --out /big/orders --as jsonl --salvage
  segmend rescue /disks/*/data --out /big/users --as jsonl --topic users --compact-all
  segmend rescue /disks/*/data --out /big/orders --as parquet --decode key=utf8 --decode avro:schemas/
  segmend rescue /disks/*/data --out /big/sent --as kafka --bootstrap new1:9092 --create-topics

Each batch is taken from a replica that has it sound; `segmend diff` shows what they have. Records of
aborted transactions are there with `aborted` true, or left out with --isolation read_committed; those of
a transaction whose end is not in the log have null, and stay: with read_committed as a doubt (exit code 4),
for a consumer would get none from there on. The report is in OUT/_rescue.txt and OUT/_rescue.jsonl. A
rescue that was stopped, or found the disk full, goes on when the same command is given again: behind the last
partition that is whole, and within one behind its last whole log, or in jsonl and csv the last 64 MiB. Of one
that was at its end the same command tells the report again (`again` in the summary), and looks at nothing.
A partition that cannot be written is told (`refused`), and the others are; the same command tries it again.

With --json its line has `refused`, why, and null for all else; `unread` of another line lists what of its
replicas could not be read, `conflicts` where they have other sound bytes (by what one was taken, and of which
brokers), `unreadable` the batches whose records could not be read: file, position, kind and dir (exit code 4;
--as log-dir keeps them), `assumed` what is taken as it says where nothing shows otherwise (exit code 0).
`read` = `records` + `left_out` + `duplicates` (what another replica gave, or is on a branch that lost) +
`not_asked_for`, and what --compact took, less what --salvage added. The summary has `not_looked_at`,
directories beside the replicas that no broker serves (-stray, -delete, -future), `strays`, those of them that
may have records that no replica has (set aside, or the copy of a move without what it is a copy of; exit code
4), `unread`, replicas that are links to nothing, `shared`, links to the directory of another partition (exit
code 4), `running`, log dirs on which a broker runs: they change while they are read, and `not_here`, brokers
that by the metadata log are to have replicas and of which no dir is given (null without a metadata log); and
`assumed`, that dirs of brokers that were killed are no copies of some seconds before.

--salvage takes what no replica has sound from batches whose checksum fails but whose records parse, and from
sound ones that were left out because one bit may have given them their offset. Such records have `salvaged`
true in a column of its own; their bytes may be wrong, also in the key, or their offset, and nobody knows
how a transaction of theirs ended. They still count as missing (exit code 4), `salvaged` in the report tells
which. Not for log-dir and kafka: who consumes from there would take them for sound.

A rescued log dir is that of the first DIR with a meta.properties (or --broker), and has the metadata log of
its node as that lies among the DIRs. `segmend forecast OUT` tells what a start makes of it. Where the
metadata says in which dir each partition lies (KRaft since 3.7), rescue the dirs of a node one by one, each
into its own OUT. A broker deletes by its retention as ever: set retention.ms to -1 first if records are old.
That of a broker with ZooKeeper stays one, whatever --kafka says: a node of KRaft ends on its meta.properties.

--as kafka sends to a live cluster (0.11 or later), to the same topic and partition, in order, with key,
value, headers and timestamp; offsets are new, and message.timestamp.type of the topic there counts.
Records of aborted transactions are never sent; those of a transaction without a known end are, as are
those above the high watermark (the report counts them). A partition that is not empty there is refused
without --append. OUT keeps how far each partition is acknowledged. Who goes on after a kill looks at what
it got since then, and sends the rest: each record is there once, unless a request of the killed one is
still on its way during that look (wait a moment first), or what it brought was deleted since. A broker that
dies forgets producers whose records are older than producer.id.expiration.ms (a day), and may take a request
twice that was on its way; such records are found and told (exit code 4).

--compact leaves of each key the last record, as the broker's cleaner would (tombstones stay, records of
aborted transactions go, nothing above the high watermark replaces anything), in logs whose topic is compacted
by the metadata log, or, if that does not tell, that a cleaner has been in; --compact-all in all. A log with a
record without key, a transaction without a known end, or more than 4,194,304 records is left whole, which is
said (exit code 4).

{DECODES}

exit codes: 0 all that any replica could have is there, 4 something is missing, diverged or in doubt
(it is said what), 8 something could not be read or written, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="DIR", help="log dirs, or partition directories")
    add_rescue_options(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Merge, write, and say by the exit code whether all is there."""
    request = request_of(args, args.paths)
    targets = targets_of(args.paths)
    progress = Progress(sys.stderr)
    each = here(progress.update)
    return tell(
        args,
        request,
        progress,
        lambda text: rescue(request, FleetDirs(targets.dirs, args.kafka), sorted(targets.places), each, text),
    )
