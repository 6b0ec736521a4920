"""`segmend show`: what is on this disk."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from segmend.cli.commands.show.file import kinds, show_file
from segmend.cli.commands.show.partition import open_partition, show_partition
from segmend.cli.commands.show.select import positive, selection
from segmend.cli.moment import moment
from segmend.cli.options import add_output_options, add_release_option, given, number_range
from segmend.cli.output import emit_asked, note, style
from segmend.cli.targets import broker_of, open_log_dirs, proved
from segmend.errors import UsageError
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir, holds_partition
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.overview import PartitionOverview, dir_overview, partition_overview
from segmend.logdir.partition_dir import PartitionDir
from segmend.report import partitions
from segmend.report.partitions import SORTS, Choice, Disks
from segmend.report.progress import Progress

EXAMPLES = """\
PATH is the log dirs of one broker, a partition directory, or any file in one. What it is, is seen.

examples:
  segmend show /data/kafka-1 /data/kafka-2 --sort size --top 20
  segmend show /data/kafka-1 --topic 'orders*' --sort lag
  segmend show /data/kafka-1/orders-0
  segmend show /data/kafka-1/orders-0 --records --offset 1000..1010
  segmend show /data/kafka-1/orders-0/00000000000000000000.log
  segmend show orders-0/00000000000000000000.log --records --as json --since 2026-01-31T14:00
  segmend show /data/kafka-1/__consumer_offsets-12 --records
  segmend show /tmp/saved/00000000000000000000.index.deleted
  segmend show mystery.bin --kind log --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="log dirs, a partition directory, or files")
    which = parser.add_argument_group("which partitions")
    which.add_argument("--topic", type=given, metavar="GLOB", help="only topics like this, such as 'orders*'")
    which.add_argument("--partition", metavar="N", type=int, help="only this partition number")
    which.add_argument("--sort", choices=("topic", *SORTS), default="topic", help="order of the table")
    which.add_argument("--reverse", action="store_true", help="turn the order round")
    which.add_argument("--top", metavar="N", type=positive, help="only the first N")
    _configure_logs(parser)
    add_release_option(parser)
    add_output_options(parser)


def _configure_logs(parser: argparse.ArgumentParser) -> None:
    logs = parser.add_argument_group("what of logs and other files")
    logs.add_argument("--batches", action="store_true", help="the batches of partitions, not their files")
    logs.add_argument("--records", action="store_true", help="records, not only batches")
    logs.add_argument("--as", dest="as_", choices=("text", "hex", "json"), help="keys and values as (text)")
    logs.add_argument("--full", action="store_true", help="do not shorten keys and values")
    logs.add_argument("--offset", metavar="A..B", type=number_range, help="only these offsets")
    logs.add_argument("--position", metavar="A..B", type=number_range, help="only what begins at these bytes")
    logs.add_argument("--since", metavar="TIME", type=moment, help="only from this time on (UTC, or ms)")
    logs.add_argument("--until", metavar="TIME", type=moment, help="only up to this time")
    logs.add_argument("--kind", metavar="KIND", help="take the file for this: log, index, timeindex, ...")


def run(args: argparse.Namespace) -> int:
    if args.kind is not None and args.kind not in kinds():
        raise UsageError(f"--kind {args.kind} is not known; give one of {', '.join(kinds())}")
    shapes = {path: _shape(path) for path in args.paths}
    log_dirs = [path for path in args.paths if shapes[path] == "log-dir"]
    if log_dirs and len(log_dirs) < len(args.paths):
        raise UsageError("give log dirs of one broker, or partition directories and files, not both at once")
    if args.records or args.batches:
        return show_records(args, shapes)
    if log_dirs:
        return show_dirs(log_dirs, args)
    for path in args.paths:
        (show_partition if shapes[path] == "partition" else show_file)(path, args)
    return 0


def _shape(path: str) -> str:
    """log-dir, partition or file; raises `Unreadable` for what is not there."""
    kind = disk.path_type(path)
    if kind is None:
        raise Unreadable(path, "no such file or directory")
    if kind != "dir":
        return "file"
    name = disk.real_path(path).rpartition("/")[2]
    return "partition" if holds_partition(name, disk.listing(path)) else "log-dir"


def show_records(args: argparse.Namespace, shapes: Mapping[str, str]) -> int:
    """Each log of each partition asked for, those that cannot hold a wanted offset left out."""
    failed: Unreadable | None = None
    for path in _paths(args, shapes):
        try:
            show_file(path, args)
        except Unreadable as error:
            note(str(error))
            failed = error
    return failed.exit_code if failed else 0


def _paths(args: argparse.Namespace, shapes: Mapping[str, str]) -> Iterator[str]:
    log_dirs = proved(open_log_dirs([path for path in args.paths if shapes[path] == "log-dir"]))
    for partition in wanted_partitions(log_dirs, choice(args)):
        yield from _logs(partition, args)
    for path in args.paths:
        if shapes[path] == "partition":
            yield from _logs(open_partition(path), args)
        elif shapes[path] == "file":
            yield path


def _logs(partition: PartitionDir, args: argparse.Namespace) -> Iterator[str]:
    if partition.unreadable is not None:
        raise partition.unreadable
    wanted = selection(args)
    for segment in partition.segments:
        if segment.log is not None and _may_hold(segment, wanted.first_offset, wanted.last_offset):
            yield segment.log.path


def _may_hold(segment: LogSegment, first: int, last: int) -> bool:
    following = segment.next_base_offset
    return segment.base_offset <= last and (following is None or first < following)


def choice(args: argparse.Namespace) -> Choice:
    """Which partitions, and in which order."""
    return Choice(
        topic=args.topic, partition=args.partition, sort=args.sort, reverse=args.reverse, top=args.top
    )


def show_dirs(paths: Sequence[str], args: argparse.Namespace) -> int:
    """The page of one broker's dirs."""
    log_dirs = proved(open_log_dirs(paths))
    broker = broker_of(args, log_dirs)
    wanted = choice(args)
    disks = Disks(
        dirs=[dir_overview(log_dir) for log_dir in log_dirs],
        partitions=_overviews(wanted_partitions(log_dirs, wanted)),
        release=str(broker.release),
        release_reason=broker.release_reason,
    )
    emit_asked(args, partitions.json_rows(disks, wanted), partitions.lines(disks, wanted, style(args)))
    return 0


def wanted_partitions(log_dirs: Sequence[LogDir], wanted: Choice) -> list[PartitionDir]:
    return [p for d in log_dirs for p in d.partitions if wanted.wants(p.topic, p.partition)]


def _overviews(wanted: Sequence[PartitionDir]) -> list[PartitionOverview]:
    progress = Progress(sys.stderr)
    rows = []
    for number, partition in enumerate(wanted):
        progress.say(f"{number} of {len(wanted)} partitions  {partition.name}")
        rows.append(partition_overview(partition))
    progress.done()
    return sorted(rows, key=lambda row: (row.topic, row.partition, row.dir, row.name))
