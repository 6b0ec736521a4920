"""`segmend rescue`: what many damaged replicas have together, written anew."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from segmend.cli.moment import moment
from segmend.cli.number_range import number_range
from segmend.cli.options import add_output_options, add_release_option
from segmend.cli.output import emit, emit_json, style
from segmend.cli.targets import open_targets
from segmend.errors import Cancelled, ExitCode, UsageError
from segmend.report.progress import Progress
from segmend.report.rescue import lines_of, summary_line
from segmend.report.style import Style
from segmend.rescue.forms import names
from segmend.rescue.outlet import Line
from segmend.rescue.request import Request
from segmend.rescue.run import is_whole, rescue

EXAMPLES = """\
DIR is a log dir of any broker that had replicas, or a partition directory that was saved.

examples:
  segmend rescue /disks/b1/data /disks/b2/data /disks/b3/data --out /big/clean --as log-dir
  segmend rescue /disks/*/data --out /big/orders --as parquet --topic 'orders*'
  segmend rescue /disks/*/data --out /big/orders --as jsonl --isolation read_committed
  segmend rescue saved/orders-0 --out o --as csv --offsets 1000..2000

Each batch is taken from a replica that has it sound; `segmend diff` shows what they have. Records of
aborted transactions are there with `aborted` true, or left out with --isolation read_committed; those of
a transaction whose end is not in the log have null. The report is in OUT/_rescue.txt and OUT/_rescue.jsonl. A
rescue that was stopped, or found the disk full, goes on when the same command is given again.

A rescued log dir is that of the first DIR with a meta.properties (or --broker), and has the metadata log of
its node as that lies among the DIRs. `segmend forecast OUT` tells what a start makes of it. Where the
metadata says in which dir each partition lies (KRaft since 3.7), rescue the dirs of a node one by one, each
into its own OUT. A broker deletes by its retention as ever: set retention.ms to -1 first if records are old.

exit codes: 0 all that any replica could have is there, 4 something is missing, diverged or in doubt
(it is said what), 8 operational error, 16 usage"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("paths", nargs="+", metavar="DIR", help="log dirs, or partition directories")
    parser.add_argument("--out", required=True, metavar="OUT", help="a new directory for what is rescued")
    parser.add_argument(
        "--as", dest="form", choices=names(), default="log-dir", help="in which form (default: log-dir)"
    )
    which = parser.add_argument_group("which records")
    which.add_argument("--topic", metavar="GLOB", help="partitions of these topics only")
    which.add_argument("--offsets", metavar="A..B", type=number_range, help="only these offsets")
    which.add_argument("--since", metavar="TIME", type=moment, help="tables: from this time on (UTC, or ms)")
    which.add_argument("--until", metavar="TIME", type=moment, help="tables: up to this time")
    which.add_argument(
        "--isolation",
        choices=("read_uncommitted", "read_committed"),
        default="read_uncommitted",
        help="tables: with records of aborted transactions, marked (default), or without",
    )
    parser.add_argument(
        "--broker",
        metavar="N",
        type=int,
        help="log-dir: as that of this node (default: the first)",
    )
    add_release_option(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Merge, write, and say by the exit code whether all is there."""
    began = time.monotonic()
    request = _request(args)
    targets = open_targets(args.paths)
    progress = Progress(sys.stderr)
    whole = True
    try:
        for line in rescue(request, targets.dirs, sorted(targets.names), progress.update, _report(request)):
            whole &= is_whole(line)
            progress.done()
            if args.json:
                emit_json([_with_seconds(line, began)])
            else:
                emit(_text(line, request, style(args)))
    except KeyboardInterrupt:
        raise Cancelled("cancelled; give the same command again and it goes on where it was") from None
    finally:
        progress.done()
    return ExitCode.NOTHING_WRONG if whole else ExitCode.FINDINGS


def _request(args: argparse.Namespace) -> Request:
    if args.form == "log-dir":
        for name in ("since", "until"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} is for tables; a log dir has whole batches: choose --offsets")
        if args.isolation == "read_committed":
            raise UsageError("--isolation is for tables; a log dir keeps transactions with their markers")
    if args.since is not None and args.until is not None and args.since > args.until:
        raise UsageError("--since is later than --until")
    return Request(
        dirs=tuple(args.paths), out=args.out, form=args.form, topic=args.topic,
        committed_only=args.isolation == "read_committed", offsets=args.offsets,
        since=args.since, until=args.until, release=args.kafka, broker=args.broker,
    )  # fmt: skip


def _report(request: Request) -> Callable[[Sequence[Line]], Iterator[str]]:
    """Makes the report in OUT, which has no colours."""
    return lambda lines: (each for line in lines for each in _text(line, request, Style(False, "segmend")))


def _with_seconds(line: Line, began: float) -> Line:
    return {**line, "seconds": round(time.monotonic() - began, 3)} if line["type"] == "summary" else line


def _text(line: Line, request: Request, look: Style) -> Iterator[str]:
    if line["type"] == "summary":
        yield summary_line(line, request.out)
    else:
        yield from lines_of(line, look)
